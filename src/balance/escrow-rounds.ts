/**
 * Watches the escrows that pay our leases. A round reads all that are due from the chain, books what it shows, and files
 * a withdrawal where an escrow is spent or what is in it is worth the fee. Nothing is done without such a reading, so a
 * chain that cannot be reached costs time and no lease.
 */
import type { Bus } from "../bus/bus.ts";
import type { Chain, Settled, SettledResult, Step } from "../chain/chain.ts";
import { runs } from "../chain/records.ts";
import type { Journal } from "../journal/journal.ts";
import type { Tables } from "../journal/tables.ts";
import { type Decimal, parseDecimal } from "../market/decimal.ts";
import { deploymentOf, formatDeploymentId, formatLeaseId, type LeaseId, parseLeaseId } from "../market/ids.ts";
import { growingPauseMs } from "../runtime/back-off.ts";
import { largest } from "../runtime/bigint.ts";
import type { Clock } from "../runtime/clock.ts";
import { reasonOf } from "../runtime/errors.ts";
import { InvariantError } from "../runtime/invariant.ts";
import { limits } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import { createPause } from "../runtime/pause.ts";
import type { BalanceOptions } from "./balance-options.ts";
import type { BalanceDocument } from "./balance-status.ts";
import { bookPayments } from "./bookkeeping.ts";
import type { Escrow } from "./escrow.ts";
import { createEscrowDues } from "./escrow-dues.ts";
import { readEscrows } from "./escrow-reader.ts";
import { type Decided, type Filing, fileWithdrawals, isWithdrawal } from "./filing.ts";
import { type OwnEscrow, ownEscrow } from "./own-escrow.ts";
import { createRunOuts } from "./run-outs.ts";
import { createWithdrawalFees } from "./withdrawal-fees.ts";
import { decideOnEscrow, type OwedLease, type Terms, timeAt, type Verdict } from "./withdrawing.ts";

interface RoundsDeps {
  readonly options: BalanceOptions;
  readonly chain: Chain;
  readonly journal: Journal;
  readonly bus: Bus;
  readonly tokenPrice: () => Decimal | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** One escrow as a round sees it. */
interface Look extends OwnEscrow {
  readonly key: string;
  readonly escrow: Escrow;
  readonly leases: readonly LeaseId[];
}

export type EscrowRounds = ReturnType<typeof createEscrowRounds>;

export function createEscrowRounds({ options, chain, journal, bus, tokenPrice, clock, log }: RoundsDeps) {
  const { mirror, queries, outbox } = chain;
  const dues = createEscrowDues();
  const runOuts = createRunOuts(bus);
  const fees = createWithdrawalFees(options.fee);
  const pause = createPause(clock);
  /** Withdrawals under way, with the lease that each is about. */
  const waiting = new Map<number, LeaseId>();
  const counts = { rounds: 0, done: 0, failed: 0 };
  /** What is due although a round has just begun to read it. */
  const news = new Set<string>();
  let floor = 0n;
  let failures = 0;
  let trouble: string | undefined;

  function lookSoon(deployment: string): void {
    news.add(deployment);
    dues.hasten(deployment, clock.now());
    pause.ring();
  }

  function onStep(step: Step): void {
    for (const { kind, key } of step.changed) if (kind === "lease") lookSoon(formatDeploymentId(parseLeaseId(key)));
    // A lease of somebody else draws on the same money.
    for (const { event } of step.block?.events ?? []) {
      if (event.kind !== "LeaseCreated" && event.kind !== "LeaseClosed") continue;
      const deployment = formatDeploymentId(event.id);
      if (dues.has(deployment)) lookSoon(deployment);
    }
    if (step.gap) for (const deployment of [...dues.keys()]) lookSoon(deployment);
    if (dues.isReachedBy(mirror.height)) pause.ring();
  }

  function onSettled({ id, state, result }: Settled): void {
    const intent = journal.read.intents.get(id);
    if (!intent || !isWithdrawal(intent)) return;
    waiting.delete(id);
    if (state === "done" || state === "failed") {
      counts[state] += 1;
      fees.note(result);
      announce(intent.subject, state, result);
    }
    if (result.height !== undefined) floor = largest(floor, BigInt(result.height));
    const deployment = formatDeploymentId(parseLeaseId(intent.subject));
    if (dues.has(deployment)) lookSoon(deployment);
  }

  function announce(
    lease: string,
    state: "done" | "failed",
    { received, fee, height, log: reason }: SettledResult,
  ): void {
    const told = { received, fee, height, ...(state === "failed" && { reason }) };
    const known = Object.fromEntries(Object.entries(told).flatMap(([name, value]) => (value ? [[name, value]] : [])));
    bus.publish("akash.provider.balance.withdrawal", { lease, state, ...known });
    log.info("withdrawal settled", { lease, state, ...known });
  }

  /** Works until the signal is aborted. */
  async function run(signal: AbortSignal): Promise<void> {
    for (const intent of journal.read.intents.unsettled(limits.outboxIntents)) {
      if (isWithdrawal(intent)) waiting.set(intent.id, parseLeaseId(intent.subject));
    }
    while (!signal.aborted) {
      const pauseMs = await turn(signal);
      await pause.wait(pauseMs, signal);
    }
  }

  /** How long to wait for the next one if nothing happens. */
  async function turn(signal: AbortSignal): Promise<number> {
    try {
      if (mirror.ready) await round(signal);
      failures = 0;
      trouble = undefined;
      return Math.max(0, Math.min(dues.nextMs() - clock.now(), options.intervalMs));
    } catch (thrown) {
      if (thrown instanceof InvariantError) throw thrown;
      if (signal.aborted) return 0;
      trouble = `escrows cannot be read: ${reasonOf(thrown)}`;
      if (failures === 0) log.error("escrows cannot be read, retrying", { error: thrown });
      failures += 1;
      return growingPauseMs(limits.escrowRetryFirstMs, limits.escrowRetryMostMs, failures);
    }
  }

  async function round(signal: AbortSignal): Promise<void> {
    await cancelEnded();
    const running = runningLeases();
    for (const key of [...dues.keys()]) if (!running.has(key)) forget(key);
    for (const key of running.keys()) dues.hasten(key, dues.has(key) ? Number.POSITIVE_INFINITY : clock.now());
    const due = dues.dueBy(clock.now(), mirror.height);
    if (due.length === 0) return;
    news.clear();
    const asked = due.flatMap((key) => running.get(key)?.[0] ?? []).map(deploymentOf);
    const escrows = await readEscrows(queries, asked, { atOrAbove: largest(mirror.height, floor), signal });
    const looks = escrows.map((escrow): Look => {
      const key = formatDeploymentId(escrow.deployment);
      const leases = running.get(key) ?? [];
      return { key, escrow, leases, ...ownEscrow(escrow, leases) };
    });
    const verdicts = await book(looks);
    const filings = await file(looks, verdicts);
    // What is not there any more is seen to end; if it is not, it is looked for again.
    for (const key of due) dues.set(key, { atMs: clock.now() + options.intervalMs, spentAt: undefined });
    for (const look of looks) plan(look, verdicts.get(look.key), filings.get(look.key));
    for (const key of news) if (dues.has(key)) dues.hasten(key, clock.now());
    counts.rounds += 1;
  }

  function runningLeases(): Map<string, LeaseId[]> {
    const leases = [...mirror.leases()].filter(runs).map(({ id }) => id);
    return Map.groupBy(leases, formatDeploymentId);
  }

  function forget(key: string): void {
    dues.forget(key);
    runOuts.forget(key);
  }

  /** The chain pays out what it closes, and refuses to pay it a second time. */
  async function cancelEnded(): Promise<void> {
    for (const [id, lease] of [...waiting]) {
      if (runs(mirror.lease(lease)) || journal.read.intents.get(id)?.state !== "filed") continue;
      await outbox.cancel(id, "the lease is over, and the chain has paid it out");
    }
  }

  /** Books what was read, some escrows at a time, and decides by what is booked. */
  async function book(looks: readonly Look[]): Promise<Map<string, Verdict>> {
    const verdicts = new Map<string, Verdict>();
    for (let from = 0; from < looks.length; from += limits.escrowsAtOnce) {
      const some = looks.slice(from, from + limits.escrowsAtOnce);
      const decided = await journal.durable("book escrows", (tables) => {
        bookPayments(
          tables,
          some.flatMap(({ figures }) => figures),
        );
        return some.map((look) => decideOnEscrow(questionOf(look, tables), terms()));
      });
      for (const [{ key }, verdict] of zip(some, decided)) verdicts.set(key, verdict);
    }
    return verdicts;
  }

  function terms(): Terms {
    const { periodMs, threshold } = options;
    return { periodMs, threshold, fee: fees.fee, tokenPrice: tokenPrice(), blockTimeMs: chain.status.blockTimeMs };
  }

  async function file(looks: readonly Look[], verdicts: ReadonlyMap<string, Verdict>): Promise<Map<string, Filing>> {
    const decided = looks
      .flatMap(({ key, leases }): Decided[] => {
        const verdict = verdicts.get(key);
        return verdict && verdict.kind !== "wait" ? [{ deployment: key, leases, verdict }] : [];
      })
      .sort((left, right) => left.verdict.fellDueMs - right.verdict.fellDueMs);
    if (decided.length === 0) return new Map();
    const filings = await journal.durable("file withdrawals", (tables) =>
      fileWithdrawals(tables, decided, outbox, clock.now()),
    );
    for (const [{ verdict }, filing] of zip(decided, filings)) {
      if (filing.kind !== "filed") continue;
      const isSettled = journal.read.intents.get(filing.id)?.settledAtMs !== undefined;
      if (!isSettled) waiting.set(filing.id, parseLeaseId(verdict.lease));
      log.info("withdrawal filed", { lease: verdict.lease, intent: filing.id, why: verdict.why });
    }
    outbox.wake();
    return new Map(zip(decided, filings).map(([{ deployment }, filing]) => [deployment, filing]));
  }

  /** When to look again. */
  function plan(
    { key, escrow, spentAt, leases }: Look,
    verdict: Verdict | undefined,
    filing: Filing | undefined,
  ): void {
    const { height } = escrow;
    const nowMs = clock.now();
    const { blockTimeMs } = chain.status;
    const isSpent = spentAt !== undefined && spentAt <= height;
    const runsOutMs = spentAt === undefined ? Number.POSITIVE_INFINITY : timeAt(spentAt, escrow, { blockTimeMs });
    runOuts.set({ deployment: key, leases: leases.map(formatLeaseId), spentAt, runsOutMs, isSpent }, escrow.timeMs);
    const wantedMs = [
      verdict?.kind === "wait" ? verdict.untilMs : Number.POSITIVE_INFINITY,
      filing?.kind === "paused" ? filing.untilMs : Number.POSITIVE_INFINITY,
      filing?.kind === "full" ? nowMs + limits.escrowRetryMostMs : Number.POSITIVE_INFINITY,
      isSpent ? Number.POSITIVE_INFINITY : runsOutMs,
    ];
    // The clock may be ahead of the chain: not before there is another block to read.
    const atMs = Math.min(nowMs + options.intervalMs, Math.max(nowMs + blockTimeMs, ...[Math.min(...wantedMs)]));
    dues.set(key, { atMs, spentAt: isSpent ? undefined : spentAt });
  }

  return {
    onStep,
    onSettled,
    run,
    get state(): Pick<BalanceDocument, "spent" | "next" | "withdrawals" | "trouble"> {
      const { done, failed } = counts;
      return { ...runOuts.state, withdrawals: { waiting: waiting.size, done, failed }, trouble };
    },
    counts: counts as Readonly<typeof counts>,
  };
}

function questionOf({ escrow, spentAt, figures }: Look, { payments }: Pick<Tables, "payments">) {
  const leases = figures.flatMap(({ lease }): OwedLease[] => {
    const leaseId = formatLeaseId(lease);
    const row = payments.get(leaseId);
    if (!row || row.ended) return [];
    const { denom, rate, accrued, withdrawn, withdrawnAtMs, sinceMs } = row;
    const amount = parseDecimal(rate);
    return [{ lease: leaseId, rate: { denom, amount }, owed: accrued - withdrawn, lastMs: withdrawnAtMs ?? sinceMs }];
  });
  return { height: escrow.height, timeMs: escrow.timeMs, spentAt, leases };
}

function zip<A, B>(left: readonly A[], right: readonly B[]): [A, B][] {
  return left.flatMap((each, index): [A, B][] => (index < right.length ? [[each, right[index] as B]] : []));
}
