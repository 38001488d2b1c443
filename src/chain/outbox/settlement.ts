/** Records the results of intents and notifies the waiters. */
import type { Billed, Intent, Refiling, SettledState } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Tables } from "../../journal/tables.ts";
import { type Coin, formatCoins, parseCoin, sumCoins } from "../../market/coin.ts";
import { nsToMs } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Settled, SettledResult } from "../chain.ts";
import type { AbciEvent } from "../comet/events.ts";
import { causeOf, fateOf, type Included, type TxRejection } from "../tx/broadcaster.ts";
import type { GasMemory } from "./gas-memory.ts";
import type { OutboxDeps } from "./intent.ts";
import type { RejectedIntents } from "./obstacles.ts";
import type { PendingTx } from "./pending-txs.ts";

/** Times a message may fail without being named: enough to halve fifty down to one, and two more. */
const outboxFailures = 8;
/** Characters that are kept of the chain's log of a failed message. */
const outboxLogChars = 1_000;

type Verdict =
  | { readonly kind: "settle"; readonly state: SettledState; readonly result: SettledResult }
  | ({ readonly kind: "refile" } & Refiling);

/** Settled, filed again, or settled before: the first verdict stands. */
type Ended = Settled | "refiled" | undefined;

export type Settlement = ReturnType<typeof createSettlement>;

interface SettlementDeps extends Pick<OutboxDeps, "journal" | "signer" | "log"> {
  readonly rejected: RejectedIntents;
  readonly gasMemory: GasMemory;
}

export function createSettlement({ journal, signer, log, rejected, gasMemory }: SettlementDeps) {
  const { address: account } = signer;
  const { wait, onSettled, notify } = createWaiters(journal);
  /** Of intents; those that got another transaction; transactions that failed and were taken apart, or that no block holds. */
  const counts = { done: 0, failed: 0, expired: 0, cancelled: 0, refiled: 0, splits: 0, dead: 0 };

  /** One unit for all intents of a transaction. Resolves with them, or with undefined if it was closed before. */
  async function close(
    pendingTx: PendingTx,
    judge: (place: Place) => Verdict,
    paid?: PaidFee,
  ): Promise<readonly Intent[] | undefined> {
    const closed = await journal.durable("settle transaction", (tables) => {
      if (!tables.transactions.remove(pendingTx.hash)) return undefined;
      // Also those that were settled meanwhile: their messages have kept their places.
      const carried = tables.intents.byTxHash(pendingTx.hash);
      if (paid) bookFee(tables, carried, paid);
      const ended = carried.map((intent, index) => {
        if (intent.state !== "sent") return undefined;
        return apply(tables, intent, judge({ intent, index, count: carried.length }));
      });
      return { carried, ended };
    });
    report(closed?.ended ?? []);
    return closed?.carried;
  }

  function report(ended: readonly Ended[]): void {
    for (const each of ended) {
      if (!each) continue;
      counts[each === "refiled" ? each : each.state] += 1;
      if (each === "refiled") continue;
      if (each.state === "failed") log.info("intent failed", { ...each });
      rejected.forget(each.id);
      notify(each);
    }
  }

  return {
    counts: counts as Readonly<typeof counts>,
    wait,
    onSettled,
    async included(pendingTx: PendingTx, included: Included, blockNs: bigint): Promise<void> {
      const bill = billOf(included, account);
      const paid = { fee: bill.fee, account, height: included.height, atMs: nsToMs(blockNs) };
      const judge = (place: Place) => verdictOf(place, pendingTx, included, bill, account);
      const carried = await close(pendingTx, judge, bill.feePayer === account ? paid : undefined);
      if (!carried) return;
      if (included.code === 0) return gasMemory.landed(carried, included.gasUsed);
      gasMemory.failed(carried);
      if (carried.length > 1) counts.splits += 1;
    },
    /** No block holds the transaction and none ever will. */
    async dead(pendingTx: PendingTx): Promise<void> {
      const { rejection } = pendingTx;
      // Money, price or a timeout timestamp that came too late are not the messages' fault; anything else may be.
      const suspect = rejection && ["unexplained", "gas"].includes(causeOf(rejection.log).kind);
      const closed = await close(pendingTx, ({ intent }) => {
        if (!suspect) return { kind: "refile" };
        return isExhausted(intent) ? failed(rejection, feesOf(intent)) : { kind: "refile", failure: {} };
      });
      if (closed) counts.dead += 1;
    },
    /** The message cannot be done, which is known without a transaction. */
    async impossible(intent: Intent, reason: string): Promise<void> {
      const result = { ...feesOf(intent), log: shortLog(reason) };
      const settle: Verdict = { kind: "settle", state: "failed", result };
      report([await journal.durable("settle intent", (tables) => apply(tables, intent, settle))]);
    },
    async expired(intents: readonly Intent[]): Promise<void> {
      const settle = (intent: Intent): Verdict => ({ kind: "settle", state: "expired", result: feesOf(intent) });
      const unit = (tables: Tables) => intents.map((intent) => apply(tables, intent, settle(intent)));
      report(await journal.durable("expire intents", unit));
    },
    /** False when it is under way or settled: then it is too late. */
    async cancel(id: number, why: string): Promise<boolean> {
      const ended = await journal.durable("cancel intent", ({ intents }): Ended => {
        const intent = intents.get(id);
        const result: SettledResult = { ...(intent && feesOf(intent)), log: shortLog(why) };
        return intents.cancel(id, result) ? { id, state: "cancelled", result } : undefined;
      });
      report([ended]);
      return ended !== undefined;
    },
  };
}

function createWaiters({ read }: Pick<Journal, "read">) {
  const waiters = new Map<number, PromiseWithResolvers<Settled>>();
  const listeners = new Set<(settled: Settled) => void>();
  return {
    async wait(id: number): Promise<Settled> {
      const intent = read.intents.get(id);
      if (!intent) throw new ProviderError("AKP_INTENT_UNKNOWN", { id });
      const { state } = intent;
      if (state !== "filed" && state !== "sent") return { id, state, result: (intent.result ?? {}) as SettledResult };
      const waiter = waiters.get(id) ?? Promise.withResolvers<Settled>();
      waiters.set(id, waiter);
      return waiter.promise;
    },
    onSettled(listener: (settled: Settled) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    notify(settled: Settled): void {
      waiters.get(settled.id)?.resolve(settled);
      waiters.delete(settled.id);
      for (const listener of [...listeners]) listener(settled);
    },
  };
}

function apply({ intents }: Tables, { id }: Intent, verdict: Verdict): Ended {
  if (verdict.kind === "refile") return intents.refile(id, verdict) ? "refiled" : undefined;
  const { state, result } = verdict;
  return intents.settle(id, state, result) ? { id, state, result } : undefined;
}

function verdictOf(place: Place, { hash }: PendingTx, included: Included, bill: Bill, account: string): Verdict {
  const { intent, index, count } = place;
  const billed = billedSoFar(place, bill);
  const result: SettledResult = {
    txHash: hash,
    height: included.height.toString(),
    ...feesOf({ billed }),
    ...(bill.feePayer !== account && { feePayer: bill.feePayer }),
  };
  const fail = failed(included, result);
  const retry = (failure?: { gasFloor?: bigint }): Verdict => ({ kind: "refile", billed, ...(failure && { failure }) });
  const fate = fateOf(included);
  if (fate.kind === "done") return { kind: "settle", state: "done", result: { ...result, ...movedBy(bill, index) } };
  if (fate.kind === "blamed" && fate.index < count) return fate.index === index ? fail : retry();
  if (fate.kind === "later") {
    if (fate.index !== undefined && fate.index !== index) return retry();
    return isExhausted(intent) ? fail : retry({});
  }
  if (fate.kind === "out of gas") {
    return isExhausted(intent) ? fail : retry({ gasFloor: gasShare(included.gasUsed, count) });
  }
  // Nothing names the guilty one. Alone it is failing; several go on in smaller groups.
  return count === 1 ? fail : retry({});
}

export function movedBy({ moves: { received, spent } }: Bill, index: number): SettledResult {
  const coinsOf = (events: readonly AbciEvent[] = []) =>
    formatCoins(sumCoins(events.flatMap((event) => coinsIn(event, "amount"))));
  return { received: coinsOf(received.get(index)), spent: coinsOf(spent.get(index)) };
}

function feesOf({ billed }: Pick<Intent, "billed">): SettledResult {
  return billed ? { fee: billed.fee, gasUsed: billed.gasUsed.toString() } : {};
}

function failed({ code, codespace, log }: TxRejection, result: SettledResult): Verdict {
  return { kind: "settle", state: "failed", result: { ...result, code, codespace, log: shortLog(log) } };
}

function isExhausted({ failures = 0 }: Intent): boolean {
  return failures + 1 >= outboxFailures;
}

/** What ran out says only that more is needed: half as much again, shared among the messages. */
function gasShare(gasUsed: bigint, count: number): bigint {
  return (gasUsed * 3n) / (2n * BigInt(count)) + 1n;
}

/** The chain's logs can be long; the beginning says it all. */
function shortLog(log: string): string {
  return log.slice(0, outboxLogChars);
}

// What a transaction cost and moved, message by message, and the lines of the ledger about it.

/** What a transaction cost and moved per message. Fee and gas are shared equally, odd units first, so shares add up. */
type Bill = ReturnType<typeof billOf>;

interface Place {
  readonly intent: Intent;
  readonly index: number;
  readonly count: number;
}

export function billOf({ gasUsed, events }: Included, account: string) {
  const paid = events.find((event) => event.type === "tx" && attribute(event, "fee") !== undefined);
  return {
    fee: paid ? coinsIn(paid, "fee") : [],
    feePayer: (paid && attribute(paid, "fee_payer")) ?? account,
    gasUsed,
    /** What each message brought to our account and took from it, by its index. The fee is not in it. */
    moves: movesOf(events, account),
  };
}

/** What the message at this place has cost by now, with all that it cost in earlier transactions. */
function billedSoFar({ intent, index, count }: Place, { fee, gasUsed }: Bill): Billed {
  const { billed } = intent;
  const share = fee.map(({ denom, amount }) => ({ denom, amount: shareOf(amount, index, count) }));
  return {
    fee: formatCoins(sumCoins([...readCoins(billed?.fee ?? ""), ...share])),
    gasUsed: (billed?.gasUsed ?? 0n) + shareOf(gasUsed, index, count),
  };
}

export function shareOf(total: bigint, index: number, count: number): bigint {
  const [each, odd] = [total / BigInt(count), total % BigInt(count)];
  return BigInt(index) < odd ? each + 1n : each;
}

interface PaidFee {
  readonly fee: readonly Coin[];
  readonly account: string;
  readonly height: bigint;
  readonly atMs: number;
}

/** A line for the share of every message, also of those that failed. Where nothing is known of them, one for all. */
function bookFee(
  { ledger }: Pick<Tables, "ledger">,
  carried: readonly Intent[],
  { fee, account, height, atMs }: PaidFee,
): void {
  const subjects = carried.length > 0 ? carried.map(({ subject }) => subject) : [account];
  for (const { denom, amount: total } of fee) {
    for (const [index, subject] of subjects.entries()) {
      const amount = shareOf(total, index, subjects.length);
      if (amount > 0n) ledger.add({ kind: "fee", subject, denom, amount, height, atMs });
    }
  }
}

/** What the checks before the messages moved, the fee, bears no number of a message. */
function movesOf(events: readonly AbciEvent[], account: string) {
  const moved = (type: string, owner: string) => {
    const ours = events.filter((event) => event.type === type && attribute(event, owner) === account);
    return Map.groupBy(ours, (event) => Number(attribute(event, "msg_index") ?? -1));
  };
  return { received: moved("coin_received", "receiver"), spent: moved("coin_spent", "spender") };
}

export function attribute({ attributes }: AbciEvent, name: string): string | undefined {
  return attributes?.find(({ key }) => key === name)?.value;
}

function coinsIn(event: AbciEvent, name: string): Coin[] {
  return readCoins(attribute(event, name) ?? "");
}

/** As the chain writes them; what is no coin moved none. */
const coinText = /^\d{1,77}[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/;

function readCoins(text: string): Coin[] {
  return sumCoins(
    text
      .split(",")
      .filter((part) => coinText.test(part))
      .map(parseCoin),
  );
}
