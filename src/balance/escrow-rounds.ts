/**
 * Reads due escrows from the chain, books them, and files a withdrawal where one is spent or worth its fee. Without a fresh
 * reading nothing is filed, so an unreachable chain ends no lease.
 */
import type { Bus } from "../bus/bus.ts";
import type { Chain, Settled, Step } from "../chain/chain.ts";
import { runs } from "../chain/records.ts";
import type { Journal } from "../journal/journal.ts";
import type { Tables } from "../journal/tables.ts";
import { type Decimal, parseDecimal } from "../market/decimal.ts";
import { leasePayment, settleAt, spentAt } from "../market/escrow-arithmetic.ts";
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
import { minute, second } from "../runtime/durations.ts";
import { reasonOf } from "../runtime/errors.ts";
import { InvariantError } from "../runtime/invariant.ts";
import type { Log } from "../runtime/log.ts";
import { createWakeSignal } from "../runtime/wake-signal.ts";
import type { BalanceOptions, EscrowsWatched } from "./balance-status.ts";
import { bookPayments, type Figures, figuresOf } from "./bookkeeping.ts";
import { createEscrowDues, createRunOuts } from "./escrow-dues.ts";
import { type Escrow, readEscrows } from "./escrow-reader.ts";
import {
  createWithdrawals,
  type Decided,
  decideOnEscrow,
  type EscrowQuestion,
  type Filing,
  fileWithdrawals,
  type OwedLease,
  timeAt,
  type WithdrawalVerdict,
} from "./withdrawals.ts";

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

interface Judged extends OwnEscrow {
  readonly verdict: WithdrawalVerdict;
}

export class EscrowRounds {
  readonly #deps: RoundsDeps;
  readonly #dues: ReturnType<typeof createEscrowDues>;
  readonly #runOuts: ReturnType<typeof createRunOuts>;
  readonly #withdrawals: ReturnType<typeof createWithdrawals>;
  readonly #pause: ReturnType<typeof createWakeSignal>;
  /** After a failure no block ends it: whoever cannot answer is not helped by being asked more often. */
  readonly #rest: ReturnType<typeof createWakeSignal>;
  /** What is due although a round has just begun to read it. */
  readonly #news = new Set<string>();
  /** When something was last read, and what the mirror had reached then. */
  #lastRead = { height: -1n, atMs: 0 };
  #failures = 0;
  #trouble: string | undefined;
  /** Deployments whose escrow could not be read while others could. */
  readonly #unread = new Set<string>();

  constructor(deps: RoundsDeps) {
    const { options, bus, clock } = deps;
    this.#deps = deps;
    this.#dues = createEscrowDues(options.intervalMs);
    this.#runOuts = createRunOuts(bus);
    this.#withdrawals = createWithdrawals({ ...deps, fee: options.fee });
    this.#pause = createWakeSignal(clock);
    this.#rest = createWakeSignal(clock);
  }

  get state(): EscrowsWatched {
    const some = this.#unread.size > 0 ? `${this.#unread.size} escrow(s) cannot be read` : undefined;
    return { ...this.#runOuts.state, withdrawals: this.#withdrawals.state, trouble: this.#trouble ?? some };
  }

  #lookSoon(deployment: string): void {
    const { clock } = this.#deps;
    this.#news.add(deployment);
    this.#dues.hasten(deployment, clock.now());
    this.#pause.notify();
  }

  onStep(step: Step): void {
    const { clock } = this.#deps;
    const { mirror } = this.#deps.chain;
    for (const { kind, key } of step.changed)
      if (kind === "lease") this.#lookSoon(formatDeploymentId(parseLeaseId(key)));
    // A lease of somebody else draws on the same money.
    for (const { event } of step.block?.events ?? []) {
      if (event.kind !== "LeaseCreated" && event.kind !== "LeaseClosed") continue;
      const deployment = formatDeploymentId(event.id);
      if (this.#dues.has(deployment)) this.#lookSoon(deployment);
    }
    if (step.gap) for (const deployment of [...this.#dues.keys()]) this.#lookSoon(deployment);
    if (this.#dues.isReachedBy(mirror.height) || this.#dues.nextMs() <= clock.now()) this.#pause.notify();
  }

  onSettled(settled: Settled): void {
    const lease = this.#withdrawals.settled(settled);
    const deployment = lease && formatDeploymentId(lease);
    if (deployment && this.#dues.has(deployment)) this.#lookSoon(deployment);
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#withdrawals.resume();
    while (!signal.aborted) {
      const pauseMs = await this.#turn(signal);
      await (this.#failures > 0 ? this.#rest : this.#pause).wait(pauseMs, signal);
    }
  }

  async #turn(signal: AbortSignal): Promise<number> {
    const { options, clock, log } = this.#deps;
    const { mirror } = this.#deps.chain;
    try {
      if (mirror.ready) await this.#round(signal);
      this.#failures = 0;
      this.#trouble = undefined;
      return Math.max(this.#untilNewsMs(), Math.min(this.#dues.nextMs() - clock.now(), options.intervalMs));
    } catch (thrown) {
      if (thrown instanceof InvariantError) throw thrown;
      if (signal.aborted) return 0;
      this.#trouble = `escrows cannot be read: ${reasonOf(thrown)}`;
      if (this.#failures === 0) log.warn("escrows cannot be read, retrying", { error: thrown });
      this.#failures += 1;
      return growingPauseMs(escrowRetryFirstMs, escrowRetryMostMs, this.#failures);
    }
  }

  /** A chain that stands still shows the same again: how long nothing need be read unless a block comes. */
  #untilNewsMs(): number {
    const { options, clock } = this.#deps;
    const { mirror } = this.#deps.chain;
    const { height, atMs } = this.#lastRead;
    return mirror.height > height ? 0 : Math.max(0, atMs + options.intervalMs - clock.monotonicMs());
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { options, clock, log } = this.#deps;
    const { mirror, queries } = this.#deps.chain;
    await this.#withdrawals.cancelEnded();
    const running = this.#runningLeases();
    for (const key of [...this.#dues.keys()]) if (!running.has(key)) this.#forget(key);
    for (const key of running.keys()) if (!this.#dues.has(key)) this.#lookSoon(key);
    const due = this.#dues.dueBy(clock.now(), mirror.height);
    if (due.length === 0 || (this.#news.size === 0 && this.#untilNewsMs() > 0)) return;
    this.#news.clear();
    const { height } = mirror;
    const asked = due.flatMap((key) => running.get(key)?.[0] ?? []).map(deploymentOf);
    const unreadNow = new Set<string>();
    const onUnread = (id: DeploymentId, error: unknown): void => {
      const deployment = formatDeploymentId(id);
      unreadNow.add(deployment);
      if (!this.#unread.has(deployment)) log.warn("escrow cannot be read", { deployment, error });
    };
    // What is read must know of what has landed.
    const atOrAbove = largest(height, this.#withdrawals.landedAt);
    const escrows = await readEscrows(queries, asked, { atOrAbove, signal, onUnread });
    for (const key of due) this.#unread.delete(key);
    for (const key of unreadNow) this.#unread.add(key);
    this.#lastRead = { height, atMs: clock.monotonicMs() };
    const owns = escrows.map((escrow) => ownEscrow(escrow, running.get(formatDeploymentId(escrow.deployment)) ?? []));
    const judged = await this.#book(owns);
    const filings = await this.#file(judged);
    // What is not there any more is seen to end; if it is not, it is looked for again.
    for (const key of due) this.#dues.set(key, { atMs: clock.now() + options.intervalMs, spentAt: undefined });
    for (const each of judged) this.#plan(each, filings.get(each.key));
    for (const key of this.#news) if (this.#dues.has(key)) this.#dues.hasten(key, clock.now());
  }

  #runningLeases(): Map<string, LeaseId[]> {
    const { mirror } = this.#deps.chain;
    const leases = [...mirror.leases()].filter(runs).map(({ id }) => id);
    return Map.groupBy(leases, formatDeploymentId);
  }

  #forget(key: string): void {
    this.#dues.forget(key);
    this.#news.delete(key);
    this.#unread.delete(key);
    this.#runOuts.forget(key);
  }

  /** Books what was read, some escrows at a time, and decides by what is booked. */
  async #book(owns: readonly OwnEscrow[]): Promise<Judged[]> {
    const { options, chain, journal, tokenPrice } = this.#deps;
    const judged: Judged[] = [];
    const { periodMs, threshold } = options;
    const { blockTimeMs } = chain.status;
    const terms = { periodMs, threshold, tokenPrice: tokenPrice(), blockTimeMs };
    const verdictOn = (own: OwnEscrow, tables: Tables) =>
      decideOnEscrow(questionOf(own, tables), { ...terms, fee: this.#withdrawals.feeFor(own.escrow.payments.length) });
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

  async #file(judged: readonly Judged[]): Promise<ReadonlyMap<string, Filing>> {
    const { journal, log } = this.#deps;
    const { outbox } = this.#deps.chain;
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
      this.#withdrawals.filed(id, { lease, leases: paidBy.get(deployment) ?? 1 });
      log.info("withdrawal filed", { lease: formatLeaseId(lease), intent: id, why });
    }
    outbox.wake();
    return filings;
  }

  #plan({ key, escrow, spentAt, leases, verdict }: Judged, filing: Filing | undefined): void {
    const { options, chain, clock } = this.#deps;
    const nowMs = clock.now();
    const { blockTimeMs } = chain.status;
    const isSpent = spentAt !== undefined && spentAt <= escrow.height;
    const runsOutMs = spentAt === undefined ? Number.POSITIVE_INFINITY : timeAt(spentAt, escrow, { blockTimeMs });
    this.#runOuts.set(
      { deployment: key, leases: leases.map(formatLeaseId), spentAt, runsOutMs, isSpent },
      escrow.timeMs,
    );
    // By the clock of the chain, which may be behind ours. That an escrow runs out, the height itself will tell.
    const aheadMs = nowMs - escrow.timeMs;
    const wantedMs = [
      ...(verdict.kind === "wait" ? [verdict.untilMs + aheadMs] : []),
      ...(filing?.kind === "paused" ? [nowMs + filing.pauseMs] : []),
      ...(filing?.kind === "full" ? [nowMs + escrowRetryMostMs] : []),
    ];
    // Not before there is another block to read.
    const atMs = Math.min(nowMs + options.intervalMs, Math.max(nowMs + blockTimeMs, Math.min(...wantedMs)));
    this.#dues.set(key, { atMs, spentAt: isSpent ? undefined : spentAt });
  }
}

/** What an escrow means for our leases in it. */
interface OwnEscrow {
  readonly key: string;
  readonly escrow: Escrow;
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
