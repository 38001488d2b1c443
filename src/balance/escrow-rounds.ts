/**
 * Watches the escrows that pay our leases. A round reads all that are due from the chain, books what it shows, and files
 * a withdrawal where an escrow is spent or what is in it is worth the fee. Nothing is done without such a reading, so a
 * chain that cannot be reached costs time and no lease.
 */
import type { Bus } from "../bus/bus.ts";
import type { Chain, Settled, Step } from "../chain/chain.ts";
import { runs } from "../chain/records.ts";
import type { Journal } from "../journal/journal.ts";
import type { Tables } from "../journal/tables.ts";
import { type Decimal, parseDecimal } from "../market/decimal.ts";
import { settleAt, spentAt } from "../market/escrow-arithmetic.ts";
import { leasePayment } from "../market/escrow-keys.ts";
import {
  type DeploymentId,
  deploymentOf,
  formatDeploymentId,
  formatLeaseId,
  type LeaseId,
  parseLeaseId,
} from "../market/ids.ts";
import { growingPauseMs } from "../runtime/back-off.ts";
import { largest } from "../runtime/bigint.ts";
import type { Clock } from "../runtime/clock.ts";
import { hour, minute, second } from "../runtime/durations.ts";
import { reasonOf } from "../runtime/errors.ts";
import { InvariantError } from "../runtime/invariant.ts";
import { rpcMirrorSingles } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import { createPause } from "../runtime/pause.ts";
import type { BalanceOptions } from "./balance-options.ts";
import type { EscrowsWatched } from "./balance-status.ts";
import { bookPayments, type Figures, figuresOf } from "./bookkeeping.ts";
import { type Escrow, readEscrows } from "./escrow-reader.ts";
import { type Decided, type Filing, fileWithdrawals } from "./filing.ts";
import { createWithdrawals } from "./withdrawals.ts";
import { decideOnEscrow, type EscrowQuestion, type OwedLease, timeAt, type Verdict } from "./withdrawing.ts";

/** Escrows that are booked in one go: a tenth of a second in which nothing else happens. */
const escrowsAtOnce = 250;
/** First pause after escrows could not be read; it doubles up to the other. */
const escrowRetryFirstMs = second;
const escrowRetryMostMs = minute;

interface RoundsDeps {
  readonly options: BalanceOptions;
  readonly chain: Chain;
  readonly journal: Journal;
  readonly bus: Bus;
  readonly tokenPrice: () => Decimal | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** An escrow with what is to be done about it. */
interface Judged extends OwnEscrow {
  readonly verdict: Verdict;
}

export function createEscrowRounds({ options, chain, journal, bus, tokenPrice, clock, log }: RoundsDeps) {
  const { mirror, queries, outbox } = chain;
  const dues = createEscrowDues(options.intervalMs);
  const runOuts = createRunOuts(bus);
  const withdrawals = createWithdrawals({ fee: options.fee, chain, journal, bus, log });
  const pause = createPause(clock);
  /** After a failure no block ends it: whoever cannot answer is not helped by being asked more often. */
  const rest = createPause(clock);
  /** What is due although a round has just begun to read it. */
  const news = new Set<string>();
  /** When something was last read, and what the mirror had reached then. */
  let lastRead = { height: -1n, atMs: 0 };
  let failures = 0;
  let trouble: string | undefined;
  /** Deployments whose escrow could not be read while others could. */
  const unread = new Set<string>();

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
    if (dues.isReachedBy(mirror.height) || dues.nextMs() <= clock.now()) pause.ring();
  }

  function onSettled(settled: Settled): void {
    const lease = withdrawals.settled(settled);
    const deployment = lease && formatDeploymentId(lease);
    if (deployment && dues.has(deployment)) lookSoon(deployment);
  }

  /** Works until the signal is aborted. */
  async function run(signal: AbortSignal): Promise<void> {
    withdrawals.resume();
    while (!signal.aborted) {
      const pauseMs = await turn(signal);
      await (failures > 0 ? rest : pause).wait(pauseMs, signal);
    }
  }

  /** How long to wait for the next one if nothing happens. */
  async function turn(signal: AbortSignal): Promise<number> {
    try {
      if (mirror.ready) await round(signal);
      failures = 0;
      trouble = undefined;
      return Math.max(untilNewsMs(), Math.min(dues.nextMs() - clock.now(), options.intervalMs));
    } catch (thrown) {
      if (thrown instanceof InvariantError) throw thrown;
      if (signal.aborted) return 0;
      trouble = `escrows cannot be read: ${reasonOf(thrown)}`;
      if (failures === 0) log.warn("escrows cannot be read, retrying", { error: thrown });
      failures += 1;
      return growingPauseMs(escrowRetryFirstMs, escrowRetryMostMs, failures);
    }
  }

  /** A chain that stands still shows the same again: how long nothing need be read unless a block comes. */
  function untilNewsMs(): number {
    const { height, atMs } = lastRead;
    return mirror.height > height ? 0 : Math.max(0, atMs + options.intervalMs - clock.monotonicMs());
  }

  async function round(signal: AbortSignal): Promise<void> {
    await withdrawals.cancelEnded();
    const running = runningLeases();
    for (const key of [...dues.keys()]) if (!running.has(key)) forget(key);
    for (const key of running.keys()) if (!dues.has(key)) lookSoon(key);
    const due = dues.dueBy(clock.now(), mirror.height);
    if (due.length === 0 || (news.size === 0 && untilNewsMs() > 0)) return;
    news.clear();
    const { height } = mirror;
    const asked = due.flatMap((key) => running.get(key)?.[0] ?? []).map(deploymentOf);
    const unreadNow = new Set<string>();
    function onUnread(id: DeploymentId, error: unknown): void {
      const deployment = formatDeploymentId(id);
      unreadNow.add(deployment);
      if (!unread.has(deployment)) log.warn("escrow cannot be read", { deployment, error });
    }
    // What is read must know of what has landed.
    const atOrAbove = largest(height, withdrawals.landedAt);
    const escrows = await readEscrows(queries, asked, { atOrAbove, signal, onUnread });
    for (const key of due) unread.delete(key);
    for (const key of unreadNow) unread.add(key);
    lastRead = { height, atMs: clock.monotonicMs() };
    const owns = escrows.map((escrow) => ownEscrow(escrow, running.get(formatDeploymentId(escrow.deployment)) ?? []));
    const judged = await book(owns);
    const filings = await file(judged);
    // What is not there any more is seen to end; if it is not, it is looked for again.
    for (const key of due) dues.set(key, { atMs: clock.now() + options.intervalMs, spentAt: undefined });
    for (const each of judged) plan(each, filings.get(each.key));
    for (const key of news) if (dues.has(key)) dues.hasten(key, clock.now());
  }

  function runningLeases(): Map<string, LeaseId[]> {
    const leases = [...mirror.leases()].filter(runs).map(({ id }) => id);
    return Map.groupBy(leases, formatDeploymentId);
  }

  function forget(key: string): void {
    dues.forget(key);
    news.delete(key);
    unread.delete(key);
    runOuts.forget(key);
  }

  /** Books what was read, some escrows at a time, and decides by what is booked. */
  async function book(owns: readonly OwnEscrow[]): Promise<Judged[]> {
    const judged: Judged[] = [];
    const { periodMs, threshold } = options;
    const { blockTimeMs } = chain.status;
    const terms = { periodMs, threshold, tokenPrice: tokenPrice(), blockTimeMs };
    const verdictOn = (own: OwnEscrow, tables: Tables) =>
      decideOnEscrow(questionOf(own, tables), { ...terms, fee: withdrawals.feeFor(own.escrow.payments.length) });
    for (let from = 0; from < owns.length; from += escrowsAtOnce) {
      const some = owns.slice(from, from + escrowsAtOnce);
      const figures = some.flatMap((own) => own.figures);
      const decided = await journal.durable("book escrows", (tables) => {
        bookPayments(tables, figures);
        return some.map((own) => ({ ...own, verdict: verdictOn(own, tables) }));
      });
      judged.push(...decided);
    }
    return judged;
  }

  async function file(judged: readonly Judged[]): Promise<ReadonlyMap<string, Filing>> {
    const decided = judged.flatMap(({ key, escrow: { height }, leases, verdict }): Decided[] =>
      verdict.kind === "wait" ? [] : [{ deployment: key, height, leases, verdict }],
    );
    const paidBy = new Map(judged.map(({ key, escrow }) => [key, escrow.payments.length]));
    if (decided.length === 0) return new Map();
    const filings = await journal.durable("file withdrawals", (tables) =>
      fileWithdrawals(tables, decided, outbox, journal.nowMs()),
    );
    for (const [deployment, filing] of filings) {
      if (filing.kind !== "filed") continue;
      const { id, lease, why } = filing;
      withdrawals.filed(id, { lease, leases: paidBy.get(deployment) ?? 1 });
      log.info("withdrawal filed", { lease: formatLeaseId(lease), intent: id, why });
    }
    outbox.wake();
    return filings;
  }

  /** When to look again. */
  function plan({ key, escrow, spentAt, leases, verdict }: Judged, filing: Filing | undefined): void {
    const nowMs = clock.now();
    const { blockTimeMs } = chain.status;
    const isSpent = spentAt !== undefined && spentAt <= escrow.height;
    const runsOutMs = spentAt === undefined ? Number.POSITIVE_INFINITY : timeAt(spentAt, escrow, { blockTimeMs });
    runOuts.set({ deployment: key, leases: leases.map(formatLeaseId), spentAt, runsOutMs, isSpent }, escrow.timeMs);
    // By the clock of the chain, which may be behind ours. That an escrow runs out, the height itself will tell.
    const aheadMs = nowMs - escrow.timeMs;
    const wantedMs = [
      ...(verdict.kind === "wait" ? [verdict.untilMs + aheadMs] : []),
      ...(filing?.kind === "paused" ? [nowMs + filing.pauseMs] : []),
      ...(filing?.kind === "full" ? [nowMs + escrowRetryMostMs] : []),
    ];
    // Not before there is another block to read.
    const atMs = Math.min(nowMs + options.intervalMs, Math.max(nowMs + blockTimeMs, Math.min(...wantedMs)));
    dues.set(key, { atMs, spentAt: isSpent ? undefined : spentAt });
  }

  return {
    onStep,
    onSettled,
    run,
    get state(): EscrowsWatched {
      const some = unread.size > 0 ? `${unread.size} escrow(s) cannot be read` : undefined;
      return { ...runOuts.state, withdrawals: withdrawals.state, trouble: trouble ?? some };
    },
  };
}

/** When each escrow is to be looked at next: at a time, or as soon as the chain has reached a height. */
interface Due {
  readonly atMs: number;
  /** The height at which it runs out, while that is still to come. */
  readonly spentAt: bigint | undefined;
}

/** At the latest after this interval. */
export function createEscrowDues(intervalMs: number) {
  const dues = new Map<string, Due>();
  return {
    has: (deployment: string) => dues.has(deployment),
    keys: () => dues.keys(),
    set: (deployment: string, due: Due) => void dues.set(deployment, due),
    /** Never later than it was due before. */
    hasten(deployment: string, atMs: number): void {
      const due = dues.get(deployment);
      if (!due || due.atMs > atMs) dues.set(deployment, { spentAt: due?.spentAt, atMs });
    },
    forget: (deployment: string) => void dues.delete(deployment),
    /**
     * Those that are due now, in the order in which they fell due. With them come those that soon will be, or each would
     * in time be read by itself; where none is due, none is given. Where so many are that the chain's lists are read, all
     * come: the lists show them anyway, and are not read again for the others.
     */
    dueBy(nowMs: number, height: bigint): string[] {
      const isDue = ({ atMs, spentAt }: Due) =>
        // Later than the interval allows: the clock was set back.
        atMs <= nowMs || atMs > nowMs + intervalMs || (spentAt !== undefined && spentAt <= height);
      const all = [...dues].sort(([, left], [, right]) => left.atMs - right.atMs);
      if (!all.some(([, each]) => isDue(each))) return [];
      const soonMs = nowMs + intervalMs / 10;
      const due = all.filter(([, each]) => isDue(each) || each.atMs <= soonMs);
      return (due.length > rpcMirrorSingles ? all : due).map(([deployment]) => deployment);
    },
    /** Infinity where nothing is. */
    nextMs: () => [...dues.values()].reduce((least, { atMs }) => Math.min(least, atMs), Number.POSITIVE_INFINITY),
    isReachedBy: (height: bigint) =>
      [...dues.values()].some(({ spentAt }) => spentAt !== undefined && spentAt <= height),
  };
}

/** What an escrow means for our leases in it. */
interface OwnEscrow {
  /** Of the deployment. */
  readonly key: string;
  readonly escrow: Escrow;
  /** All of ours there that run. */
  readonly leases: readonly LeaseId[];
  /** The first height at which it does not pay all that draws on it, ours or not. */
  readonly spentAt: bigint | undefined;
  /** Of those of our leases that are paid out of it. */
  readonly figures: readonly Figures[];
}

function ownEscrow(escrow: Escrow, leases: readonly LeaseId[]): OwnEscrow {
  const { account, payments, height, timeMs } = escrow;
  const drawn = { ...account, rates: payments.map(({ rate }) => rate) };
  const spent = spentAt(drawn);
  const { paid } = settleAt(drawn, height);
  const byKey = new Map(leases.map((lease) => [leasePayment(lease), lease]));
  const figures = payments.flatMap((payment, index) => {
    const lease = byKey.get(payment.key);
    const due = paid[index] ?? 0n;
    return lease ? figuresOf(lease, payment, { due, height, timeMs, spentAt: spent, ended: undefined }) : [];
  });
  return { key: formatDeploymentId(escrow.deployment), escrow, leases, spentAt: spent, figures };
}

/** What is decided by: what was read, and what is booked of it. */
function questionOf({ escrow, spentAt, figures }: OwnEscrow, { payments }: Pick<Tables, "payments">): EscrowQuestion {
  const leases = figures.flatMap(({ lease }): OwedLease[] => {
    const leaseId = formatLeaseId(lease);
    const row = payments.get(leaseId);
    if (!row || row.ended) return [];
    const { denom, rate, accrued, withdrawn, withdrawnAtMs, sinceMs } = row;
    const amount = parseDecimal(rate);
    return [{ lease: leaseId, rate: { denom, amount }, owed: accrued - withdrawn, lastMs: withdrawnAtMs ?? sinceMs }];
  });
  const owes = escrow.account.funds.some(({ amount }) => amount.atto < 0n);
  return { height: escrow.height, timeMs: escrow.timeMs, spentAt, owes, leases };
}

// When each escrow runs out, for whoever asks; told on the bus when that is near, and when it has come.

/** An escrow that runs out within this time is announced. */
const escrowAnnouncedMs = 24 * hour;

interface EscrowRunOut {
  readonly deployment: string;
  /** Ours that it pays. */
  readonly leases: readonly string[];
  readonly spentAt: bigint | undefined;
  /** About when that is. */
  readonly runsOutMs: number;
  readonly isSpent: boolean;
}

function createRunOuts(bus: Pick<Bus, "publish">) {
  const escrows = new Map<string, EscrowRunOut>();
  const announced = new Map<string, "soon" | "spent">();

  function announce({ deployment, leases, spentAt, runsOutMs, isSpent }: EscrowRunOut, timeMs: number): void {
    const soon = runsOutMs - timeMs <= escrowAnnouncedMs ? "soon" : undefined;
    const state = isSpent ? "spent" : soon;
    const before = announced.get(deployment);
    if (state === before) return;
    if (state === undefined) announced.delete(deployment);
    else announced.set(deployment, state);
    if (state === undefined || spentAt === undefined) return;
    bus.publish("akash.provider.balance.escrow", { deployment, leases: [...leases], state, height: `${spentAt}` });
  }

  return {
    /** As it is by a block of this time. */
    set(escrow: EscrowRunOut, timeMs: number): void {
      escrows.set(escrow.deployment, escrow);
      announce(escrow, timeMs);
    },
    forget(deployment: string): void {
      escrows.delete(deployment);
      announced.delete(deployment);
    },
    get state(): Pick<EscrowsWatched, "spent" | "next"> {
      let spent = 0;
      let next: EscrowRunOut | undefined;
      for (const escrow of escrows.values()) {
        if (escrow.isSpent) spent += escrow.leases.length;
        else if (escrow.spentAt !== undefined && escrow.runsOutMs < (next?.runsOutMs ?? Number.POSITIVE_INFINITY))
          next = escrow;
      }
      const [lease] = next?.leases ?? [];
      if (!next || next.spentAt === undefined || lease === undefined) return { spent, next: undefined };
      return { spent, next: { lease, height: next.spentAt, atMs: next.runsOutMs } };
    },
  };
}
