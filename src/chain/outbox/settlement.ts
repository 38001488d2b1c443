/** Writes down what became of intents, and tells those who wait for it. */
import type { Intent, SettledState } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Tables } from "../../journal/tables.ts";
import { limits } from "../../runtime/limits.ts";
import type { Included, Refusal } from "./broadcaster.ts";
import type { Flight } from "./flight.ts";
import { causeOf, fateOf, shortLog } from "./verdict.ts";

/** How an intent ended. A failed one says what the chain said; a simulation gives words but no code. */
export interface Settled {
  readonly id: number;
  readonly state: SettledState;
  readonly result: SettledResult;
}

export interface SettledResult {
  readonly txHash?: string;
  readonly height?: string;
  readonly code?: number;
  readonly codespace?: string;
  readonly log?: string;
}

export interface SettlementCounts {
  done: number;
  failed: number;
  expired: number;
  /** Intents that got another transaction because theirs was dead or failed through no fault of their own. */
  refiled: number;
  /** Transactions that failed in a block and whose messages went on apart. */
  splits: number;
}

export interface Settlement {
  /** A block holds the transaction. */
  included(flight: Flight, included: Included): Promise<void>;
  /** No block holds the transaction and none ever will. */
  dead(flight: Flight): Promise<void>;
  /** The message cannot be done, which is known without a transaction. */
  impossible(intent: Intent, log: string): Promise<void>;
  expired(intents: readonly Intent[]): Promise<void>;
  readonly counts: Readonly<SettlementCounts>;
}

type Verdict =
  | { readonly kind: "settle"; readonly state: SettledState; readonly result: SettledResult }
  | { readonly kind: "refile"; readonly failure?: { readonly gasFloor?: bigint } };

export function createSettlement(journal: Journal, tell: (settled: Settled) => void): Settlement {
  const counts: SettlementCounts = { done: 0, failed: 0, expired: 0, refiled: 0, splits: 0 };

  /** One unit for all intents of a transaction, so that they never disagree about it. */
  async function close(
    flight: Flight,
    judge: (intent: Intent, index: number, all: Intent[]) => Verdict,
  ): Promise<void> {
    const ended = await journal.durable("settle transaction", (tables) => {
      tables.transactions.remove(flight.hash);
      const intents = tables.intents.byTxHash(flight.hash).filter(({ state }) => state === "sent");
      return intents.map((intent, index) => apply(tables, intent, judge(intent, index, intents)));
    });
    report(ended);
  }

  function report(ended: readonly (Settled | undefined)[]): void {
    for (const settled of ended) {
      if (!settled) {
        counts.refiled += 1;
        continue;
      }
      counts[settled.state] += 1;
      tell(settled);
    }
  }

  return {
    counts,
    async included(flight, included) {
      await close(flight, (intent, index, all) => verdictOf(flight, included, intent, index, all.length));
      if (included.code !== 0 && flight.subjects.length > 1) counts.splits += 1;
    },
    async dead(flight) {
      const { refusal } = flight;
      // Money, price or a stamp that came too late are not the messages' fault; anything else may be.
      const suspect = refusal && ["unexplained", "gas"].includes(causeOf(refusal.log).kind);
      await close(flight, (intent) => {
        if (!suspect) return { kind: "refile" };
        return isExhausted(intent) ? failed(refusal) : { kind: "refile", failure: {} };
      });
    },
    async impossible(intent, log) {
      const settle: Verdict = { kind: "settle", state: "failed", result: { log: shortLog(log) } };
      report([await journal.durable("settle intent", (tables) => apply(tables, intent, settle))]);
    },
    async expired(intents) {
      const settle: Verdict = { kind: "settle", state: "expired", result: {} };
      report(
        await journal.durable("expire intents", (tables) => intents.map((intent) => apply(tables, intent, settle))),
      );
    },
  };
}

/** Gives what was settled; undefined when it was filed again. */
function apply({ intents }: Tables, { id }: Intent, verdict: Verdict): Settled | undefined {
  if (verdict.kind === "settle") {
    intents.settle(id, verdict.state, verdict.result);
    return { id, state: verdict.state, result: verdict.result };
  }
  intents.refile(id, verdict.failure);
  return undefined;
}

function verdictOf({ hash }: Flight, included: Included, intent: Intent, index: number, count: number): Verdict {
  const place = { txHash: hash, height: included.height.toString() };
  const fate = fateOf(included);
  if (fate.kind === "done") return { kind: "settle", state: "done", result: place };
  if (fate.kind === "blamed" && fate.index < count) {
    return fate.index === index ? failed(included, place) : { kind: "refile" };
  }
  if (fate.kind === "out of gas") {
    if (isExhausted(intent)) return failed(included, place);
    return { kind: "refile", failure: { gasFloor: gasShare(included.gasUsed, count) } };
  }
  // Nothing names the guilty one. Alone it is guilty; in company they go on in smaller groups.
  return count === 1 ? failed(included, place) : { kind: "refile", failure: {} };
}

function failed({ code, codespace, log }: Refusal, place: SettledResult = {}): Verdict {
  return { kind: "settle", state: "failed", result: { ...place, code, codespace, log: shortLog(log) } };
}

function isExhausted({ failures = 0 }: Intent): boolean {
  return failures + 1 >= limits.outboxFailures;
}

/** What ran out says only that more is needed: half as much again, shared among the messages. */
function gasShare(gasUsed: bigint, count: number): bigint {
  return (gasUsed * 3n) / (2n * BigInt(count)) + 1n;
}
