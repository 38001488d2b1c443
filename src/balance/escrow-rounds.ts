/**
 * Reads due escrows from the chain, books them, and files a withdrawal where one is spent or worth its fee. Without a
 * fresh reading nothing is filed, so an unreachable chain ends no lease.
 */
import type { Bus } from "../bus/bus.ts";
import type { Chain, Settled as SettledIntent, Step } from "../chain/chain.ts";
import { runs } from "../chain/records.ts";
import type { Journal } from "../journal/journal.ts";
import type { Tables } from "../journal/tables.ts";
import { type Decimal, parseDecimal } from "../market/decimal.ts";
import { leasePayment, settleAt, spentAt } from "../market/escrow-arithmetic.ts";
import { deploymentOf, formatDeploymentId, formatLeaseId, type LeaseId, parseLeaseId } from "../market/ids.ts";
import { growingPauseMs } from "../runtime/back-off.ts";
import { largest } from "../runtime/bigint.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
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
  decideOnEscrow,
  type EscrowQuestion,
  type Filing,
  fileWithdrawals,
  type OwedLease,
  timeAt,
  type WithdrawalVerdict,
} from "./withdrawals.ts";

/** Booked in one unit: a tenth of a second in which nothing else happens. */
const escrowsAtOnce = 250;
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

interface Settled extends OwnEscrow {
  readonly verdict: WithdrawalVerdict;
  readonly filing: Filing;
}

export class EscrowRounds {
  readonly #deps: RoundsDeps;
  readonly #dues: ReturnType<typeof createEscrowDues>;
  readonly #runOuts: ReturnType<typeof createRunOuts>;
  readonly #withdrawals: ReturnType<typeof createWithdrawals>;
  readonly #wakeup: ReturnType<typeof createWakeSignal>;
  /** The mirror's height at the last read, on the monotonic clock. */
  #lastRead = { height: -1n, atMs: 0 };
  #error: string | undefined;
  /** Deployments whose escrow could not be read while others could. */
  readonly #unread = new Set<string>();

  constructor(deps: RoundsDeps) {
    const { options, bus, clock } = deps;
    this.#deps = deps;
    this.#dues = createEscrowDues(options.intervalMs);
    this.#runOuts = createRunOuts(bus);
    this.#withdrawals = createWithdrawals({ ...deps, fee: options.fee });
    this.#wakeup = createWakeSignal(clock);
  }

  get state(): EscrowsWatched {
    const some = this.#unread.size > 0 ? `${this.#unread.size} escrow(s) cannot be read` : undefined;
    return { ...this.#runOuts.state, withdrawals: this.#withdrawals.state, error: this.#error ?? some };
  }

  #readSoon(deployment: string): void {
    this.#dues.hasten(deployment, this.#deps.clock.now());
    this.#wakeup.notify();
  }

  onStep({ changed, block, gap }: Step): void {
    const { clock, chain } = this.#deps;
    for (const { kind, key } of changed) if (kind === "lease") this.#readSoon(formatDeploymentId(parseLeaseId(key)));
    // Another provider's lease may draw on the same account.
    for (const { event } of block?.events ?? []) {
      if (event.kind !== "LeaseCreated" && event.kind !== "LeaseClosed") continue;
      const deployment = formatDeploymentId(event.id);
      if (this.#dues.has(deployment)) this.#readSoon(deployment);
    }
    if (gap) for (const deployment of this.#dues.keys()) this.#readSoon(deployment);
    if (this.#dues.isReachedBy(chain.mirror.height) || this.#dues.nextMs() <= clock.now()) this.#wakeup.notify();
  }

  onSettled(settled: SettledIntent): void {
    const lease = this.#withdrawals.settled(settled);
    const deployment = lease && formatDeploymentId(lease);
    if (deployment && this.#dues.has(deployment)) this.#readSoon(deployment);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { options, chain, clock, log } = this.#deps;
    this.#withdrawals.resume();
    for (let failures = 0; !signal.aborted; ) {
      try {
        if (chain.mirror.ready) await this.#round(signal);
        failures = 0;
        this.#error = undefined;
        const dueMs = Math.min(this.#dues.nextMs() - clock.now(), options.intervalMs);
        await this.#wakeup.wait(Math.max(this.#untilNewsMs(), dueMs), signal);
      } catch (thrown) {
        if (thrown instanceof InvariantError) throw thrown;
        if (signal.aborted) return;
        this.#error = `escrows cannot be read: ${reasonOf(thrown)}`;
        if (failures === 0) log.warn("escrows cannot be read, retrying", { error: thrown });
        failures += 1;
        // No block ends this pause: a node that fails is not helped by more requests.
        await sleep(clock, growingPauseMs(escrowRetryFirstMs, escrowRetryMostMs, failures), signal).catch(
          () => undefined,
        );
      }
    }
  }

  /** Without a new block the chain would show the same again. */
  #untilNewsMs(): number {
    const { options, chain, clock } = this.#deps;
    const { height, atMs } = this.#lastRead;
    return chain.mirror.height > height ? 0 : Math.max(0, atMs + options.intervalMs - clock.monotonicMs());
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { chain, clock } = this.#deps;
    await this.#withdrawals.cancelEnded();
    const running = Map.groupBy(
      [...chain.mirror.leases()].filter(runs).map(({ id }) => id),
      formatDeploymentId,
    );
    for (const key of this.#dues.keys()) if (!running.has(key)) this.#forget(key);
    for (const key of running.keys()) if (!this.#dues.has(key)) this.#dues.hasten(key, clock.now());
    const due = this.#dues.dueBy(clock.now(), chain.mirror.height);
    if (due.length === 0 || this.#untilNewsMs() > 0) return;
    for (const key of due) this.#dues.begin(key, clock.now());
    try {
      const escrows = await this.#read(due, running, signal);
      for (const each of await this.#settle(escrows)) this.#plan(each);
    } catch (thrown) {
      for (const key of due) this.#dues.hasten(key, clock.now());
      throw thrown;
    }
  }

  async #read(due: readonly string[], running: ReadonlyMap<string, readonly LeaseId[]>, signal: AbortSignal) {
    const { chain, clock, log } = this.#deps;
    const { height } = chain.mirror;
    const deployments = due.flatMap((key) => running.get(key)?.[0] ?? []).map(deploymentOf);
    // A reading has to include what has landed.
    const atOrAbove = largest(height, this.#withdrawals.landedAt);
    const { escrows, unread } = await readEscrows(chain.queries, deployments, { atOrAbove, signal });
    this.#lastRead = { height, atMs: clock.monotonicMs() };
    const failed = new Map(Array.from(unread, ([id, error]) => [formatDeploymentId(id), error]));
    for (const [deployment, error] of failed)
      if (!this.#unread.has(deployment)) log.warn("escrow cannot be read", { deployment, error });
    for (const key of due) this.#unread.delete(key);
    for (const key of failed.keys()) this.#unread.add(key);
    return escrows.map((escrow) => ownEscrow(escrow, running.get(formatDeploymentId(escrow.deployment)) ?? []));
  }

  #forget(key: string): void {
    this.#dues.forget(key);
    this.#unread.delete(key);
    this.#runOuts.forget(key);
  }

  /** Books what was read, and files withdrawals by what is booked, some escrows at a time. */
  async #settle(escrows: readonly OwnEscrow[]): Promise<Settled[]> {
    const { options, chain, journal, tokenPrice, log } = this.#deps;
    const { outbox, status } = chain;
    const terms = { ...options, tokenPrice: tokenPrice(), blockTimeMs: status.blockTimeMs };
    const verdictOn = (own: OwnEscrow, tables: Tables) =>
      decideOnEscrow(questionOf(own, tables), { ...terms, fee: this.#withdrawals.feeFor(own.escrow.payments.length) });
    const settled: Settled[] = [];
    for (let from = 0; from < escrows.length; from += escrowsAtOnce) {
      const some = escrows.slice(from, from + escrowsAtOnce);
      const figures = some.flatMap((own) => own.figures);
      const booked = await journal.durable("book escrows", (tables) => {
        bookPayments(tables, figures);
        const decided = some.map((own) => ({ ...own, verdict: verdictOn(own, tables) }));
        return fileWithdrawals(tables, decided, outbox, journal.nowMs());
      });
      settled.push(...booked);
    }
    for (const { escrow, filing } of settled) {
      if (filing.kind !== "filed") continue;
      const { id, lease, why } = filing;
      this.#withdrawals.filed(id, { lease, leases: escrow.payments.length });
      log.info("withdrawal filed", { lease: formatLeaseId(lease), intent: id, why });
    }
    outbox.wake();
    return settled;
  }

  #plan({ key, escrow, spentAt, leases, verdict, filing }: Settled): void {
    const { options, chain, clock } = this.#deps;
    const nowMs = clock.now();
    const { blockTimeMs } = chain.status;
    const isSpent = spentAt !== undefined && spentAt <= escrow.height;
    const runsOutMs = spentAt === undefined ? Number.POSITIVE_INFINITY : timeAt(spentAt, escrow, { blockTimeMs });
    this.#runOuts.set(
      { deployment: key, leases: leases.map(formatLeaseId), spentAt, runsOutMs, isSpent },
      escrow.timeMs,
    );
    // By the clock of the chain, which may be behind ours.
    const aheadMs = nowMs - escrow.timeMs;
    const reasonMs = verdict.kind === "wait" ? verdict.untilMs + aheadMs : Number.POSITIVE_INFINITY;
    const retryMs = filing.kind === "filed" ? Number.POSITIVE_INFINITY : nowMs + (filing.retryMs ?? options.intervalMs);
    // Not before there is another block to read.
    const atMs = Math.min(nowMs + options.intervalMs, Math.max(nowMs + blockTimeMs, Math.min(reasonMs, retryMs)));
    this.#dues.plan(key, { atMs, spentAt: isSpent ? undefined : spentAt });
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
