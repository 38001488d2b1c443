/** Our withdrawals: those in flight and what became of them, what they cost, when one is filed, and filing it. */
import { MsgWithdrawLease } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { Bus } from "../bus/bus.ts";
import type { Chain, Settled, SettledResult } from "../chain/chain.ts";
import { writeId } from "../chain/codec/wire-messages.ts";
import { accountOf, isWithdrawal, priorities } from "../chain/outbox/intent.ts";
import { runs } from "../chain/records.ts";
import { packMessage } from "../chain/tx/messages.ts";
import type { Intent } from "../journal/intents.ts";
import type { Journal } from "../journal/journal.ts";
import type { Tables } from "../journal/tables.ts";
import { amountOf, type Coin, type DecCoin, formatCoin, isDollar, parseCoins, uakt } from "../market/coin.ts";
import { type Decimal, divide } from "../market/decimal.ts";
import { formatLeaseId, type LeaseId, parseLeaseId } from "../market/ids.ts";
import { growingPauseMs } from "../runtime/back-off.ts";
import { largest } from "../runtime/bigint.ts";
import { hour, minute } from "../runtime/durations.ts";
import { outboxIntents, withdrawalGas } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";

interface WithdrawalsDeps {
  /** The estimated fee; undefined with a fee grant. */
  readonly fee: Coin | undefined;
  readonly chain: Pick<Chain, "mirror" | "outbox">;
  readonly journal: Pick<Journal, "read">;
  readonly bus: Pick<Bus, "publish">;
  readonly log: Log;
}

interface InFlight {
  readonly lease: LeaseId;
  /** How many leases the same escrow pays, ours or not. */
  readonly leases: number;
}

export function createWithdrawals({ fee, chain, journal, bus, log }: WithdrawalsDeps) {
  const { mirror, outbox } = chain;
  const { intents } = journal.read;
  const fees = createWithdrawalFees(fee);
  const waiting = new Map<number, InFlight>();
  const counts = { done: 0, failed: 0 };
  let landedAt = 0n;

  function announce(lease: string, state: "done" | "failed", result: SettledResult): void {
    const { received, fee, height, log: reason } = result;
    const known = {
      ...(received && { received }),
      ...(fee && { fee }),
      ...(height && { height }),
      ...(state === "failed" && reason && { reason }),
    };
    bus.publish("akash.provider.balance.withdrawal", { lease, state, ...known });
    log.info("withdrawal settled", { lease, state, ...known });
  }

  return {
    /** Those filed before the start. */
    resume(): void {
      for (const intent of intents.unsettled(intents.owed())) {
        if (isWithdrawal(intent)) waiting.set(intent.id, { lease: parseLeaseId(intent.subject), leases: 1 });
      }
    },
    filed(id: number, one: InFlight): void {
      if (intents.get(id)?.settledAtMs === undefined) waiting.set(id, one);
    },
    /** The lease of a settled withdrawal. */
    settled({ id, state, result }: Settled): LeaseId | undefined {
      const intent = intents.get(id);
      if (!intent || !isWithdrawal(intent)) return undefined;
      const { leases = 1 } = waiting.get(id) ?? {};
      waiting.delete(id);
      if (state === "done" || state === "failed") {
        counts[state] += 1;
        // Ending leases costs more gas.
        if (intent.priority !== priorities.close) fees.note(result, leases);
        announce(intent.subject, state, result);
      }
      if (result.height !== undefined) landedAt = largest(landedAt, BigInt(result.height));
      return parseLeaseId(intent.subject);
    },
    /** The chain pays out what it closes, and rejects a second withdrawal. */
    async cancelEnded(): Promise<void> {
      for (const [id, { lease }] of [...waiting]) {
        if (runs(mirror.lease(lease)) || intents.get(id)?.state !== "filed") continue;
        await outbox.cancel(id, "the lease is over, and the chain has paid it out");
      }
    },
    feeFor: fees.feeFor,
    /** The height of the last landed withdrawal. */
    get landedAt() {
      return landedAt;
    },
    get state() {
      return { waiting: waiting.size, ...counts };
    },
  };
}

/** Gas of each further lease that the same escrow pays: the chain settles all of them. */
const withdrawalGasEach = 30_000n;
/** Settled withdrawals whose fee counts for the next estimate. */
const withdrawalFeesKept = 16;

/** Estimates the fee: as configured for an escrow that pays one lease, or more where one of the last cost more. */
function createWithdrawalFees(configured: Coin | undefined) {
  /** As if their escrows had paid one lease. */
  const paid: bigint[] = [];
  return {
    note({ fee = "" }: SettledResult, leases: number): void {
      if (!configured || fee === "") return;
      paid.push(divide(amountOf(parseCoins(fee), configured.denom) * gasFor(1), gasFor(leases), "up"));
      if (paid.length > withdrawalFeesKept) paid.shift();
    },
    feeFor(leases: number): Coin | undefined {
      if (!configured) return undefined;
      const amount = divide(largest(configured.amount, ...paid) * gasFor(leases), gasFor(1), "up");
      return { ...configured, amount };
    },
  };
}

function gasFor(leases: number): bigint {
  return withdrawalGas + withdrawalGasEach * BigInt(Math.max(0, leases - 1));
}

interface Decided {
  readonly key: string;
  readonly escrow: { readonly height: bigint };
  readonly leases: readonly LeaseId[];
  readonly verdict: WithdrawalVerdict;
}

export type Filing =
  | { readonly kind: "filed"; readonly id: number; readonly lease: LeaseId; readonly why: string }
  /** "busy": another one of the escrow is in flight, or has landed since the reading. "paused": the last ones failed. */
  | { readonly kind: "none" | "busy" | "paused" | "full"; readonly retryMs?: number };

/** In a unit of the journal, in the order in which they fell due, and never two of one escrow. */
export function fileWithdrawals<T extends Decided>(
  { intents }: Pick<Tables, "intents">,
  decided: readonly T[],
  outbox: Pick<Chain["outbox"], "intentOf">,
  nowMs: number,
): (T & { readonly filing: Filing })[] {
  const busy = new Set(intents.unsettled(intents.owed()).map(accountOf));

  function file({ key, escrow: { height }, leases, verdict }: T): Filing {
    if (verdict.kind === "wait") return { kind: "none" };
    const { lease: subject, why } = verdict;
    const before = leases.flatMap((id) => intents.about(formatLeaseId(id)).filter(isWithdrawal));
    if (busy.has(key) || before.some((intent) => landedAt(intent) > height)) return { kind: "busy" };
    const newestFirst = before.sort((a, b) => b.id - a.id);
    const untilMs = pausedUntilMs(newestFirst, verdict.mostPauseMs, nowMs);
    if (untilMs !== undefined) return { kind: "paused", retryMs: untilMs - nowMs };
    const lease = parseLeaseId(subject);
    const message = packMessage("withdrawLease", MsgWithdrawLease.fromPartial({ id: writeId(lease) }));
    const intent = outbox.intentOf({
      subject,
      why,
      message,
      priority: verdict.kind === "settle" ? "close" : "withdraw",
    });
    if (intents.owed(intent.priority) >= outboxIntents) return { kind: "full", retryMs: minute };
    return { kind: "filed", id: intents.file(intent), lease, why };
  }

  return decided.toSorted(byUrgency).map((each) => ({ ...each, filing: file(each) }));
}

const urgency = ["settle", "withdraw", "wait"];

function byUrgency({ verdict: left }: Decided, { verdict: right }: Decided): number {
  if (left.kind !== right.kind) return urgency.indexOf(left.kind) - urgency.indexOf(right.kind);
  return left.kind === "wait" || right.kind === "wait" ? 0 : left.fellDueMs - right.fellDueMs;
}

function landedAt({ result }: Pick<Intent, "result">): bigint {
  return BigInt((result as SettledResult | undefined)?.height ?? 0);
}

/** Earnings worth this many fees are withdrawn at once: at most a hundredth of them is spent on fees. */
export const withdrawalWorth = 100n;
/** Pause after a failed withdrawal; it doubles with each. */
const withdrawalPauseFirstMs = 10 * minute;
const withdrawalPauseMostMs = 24 * hour;
/** Of one that is sure to end a lease. */
export const settlingPauseMostMs = hour;

export interface Terms {
  readonly periodMs: number;
  readonly threshold: readonly Coin[];
  /** Of a withdrawal from this escrow; undefined with a fee grant. */
  readonly fee: Coin | undefined;
  readonly tokenPrice: Decimal | undefined;
  readonly blockTimeMs: number;
}

export interface EscrowQuestion {
  /** And the time of that block. */
  readonly height: bigint;
  readonly timeMs: number;
  readonly spentAt: bigint | undefined;
  /** Overdrawn: no settlement ends its leases while other funds pay. */
  readonly owes: boolean;
  readonly leases: readonly OwedLease[];
}

export interface OwedLease {
  readonly lease: string;
  readonly rate: DecCoin;
  /** Earned and not withdrawn. */
  readonly owed: bigint;
  /** When something last came in, or when it was first seen. */
  readonly lastMs: number;
}

export type WithdrawalVerdict =
  | {
      /** "settle" ends the leases of a spent escrow. */
      readonly kind: "settle" | "withdraw";
      readonly lease: string;
      readonly why: string;
      readonly fellDueMs: number;
      /** Longest pause after failed ones. */
      readonly mostPauseMs: number;
    }
  | { readonly kind: "wait"; readonly untilMs: number };

/** One withdrawal at most: the chain takes no two from one account in a block. */
export function decideOnEscrow(question: EscrowQuestion, terms: Terms): WithdrawalVerdict {
  const { height, timeMs, spentAt, owes, leases } = question;
  const fellDueMs = spentAt === undefined ? Number.POSITIVE_INFINITY : timeAt(spentAt, question, terms);
  const [richest] = leases.toSorted((left, right) => (left.owed < right.owed ? 1 : -1));
  if (spentAt !== undefined && height >= spentAt && richest) {
    const why = `the escrow is spent since height ${spentAt}: settling it ends the lease`;
    // Unless it owes, only a tenant who repeatedly pays at the last moment makes a settlement fail.
    const mostPauseMs = owes ? withdrawalPauseMostMs : settlingPauseMostMs;
    return { kind: "settle", lease: richest.lease, why, fellDueMs, mostPauseMs };
  }
  const [first] = leases.flatMap((each) => reasonsFor(each, timeMs, terms)).sort((a, b) => a.dueMs - b.dueMs);
  if (!first) return { kind: "wait", untilMs: Number.POSITIVE_INFINITY };
  if (first.dueMs > timeMs) return { kind: "wait", untilMs: first.dueMs };
  const { lease, why, dueMs } = first;
  return { kind: "withdraw", lease, why, fellDueMs: dueMs, mostPauseMs: withdrawalPauseMostMs };
}

/** The largest Date. */
const lastMs = 8.64e15;

export function timeAt(
  wanted: bigint,
  { height, timeMs }: Pick<EscrowQuestion, "height" | "timeMs">,
  { blockTimeMs }: Pick<Terms, "blockTimeMs">,
): number {
  return Math.min(lastMs, timeMs + Number(wanted - height) * blockTimeMs);
}

interface Reason {
  readonly lease: string;
  readonly dueMs: number;
  readonly why: string;
}

/** Of denominations that the settings do not name: a tenth of a token with six decimals. */
const defaultThreshold = 100_000n;

function reasonsFor(lease: OwedLease, timeMs: number, terms: Terms): Reason[] {
  const { fee, periodMs } = terms;
  const { owed, rate, lastMs } = lease;
  const brings = formatCoin({ denom: rate.denom, amount: owed });
  const reason = (dueMs: number, why: string): Reason => ({ lease: lease.lease, dueMs, why });
  const reachedMs = (amount: bigint) => timeMs + blocksUntil(lease, amount) * terms.blockTimeMs;
  const costs = fee && worthOf(fee, rate.denom, terms.tokenPrice);
  if (!fee || costs === undefined) {
    const least = amountOf(terms.threshold, rate.denom) || defaultThreshold;
    const dueMs = Math.max(lastMs + periodMs, reachedMs(least));
    return [reason(dueMs, `${brings} reaches the threshold of ${formatCoin({ denom: rate.denom, amount: least })}`)];
  }
  const ofFee = `the fee of ${formatCoin(fee)}`;
  const worth = reason(reachedMs(costs(withdrawalWorth)), `${brings} is worth ${withdrawalWorth} times ${ofFee}`);
  if (periodMs === 0) return [worth];
  const dueMs = Math.max(lastMs + periodMs, reachedMs(costs(1n) + 1n));
  return [worth, reason(dueMs, `the withdrawal period has passed, and ${brings} is worth ${ofFee}`)];
}

/** Negative where it was reached in the past. */
function blocksUntil({ owed, rate }: OwedLease, amount: bigint): number {
  const missing = (amount - owed) * 10n ** 18n;
  if (rate.amount.atto === 0n) return missing > 0n ? Number.POSITIVE_INFINITY : 0;
  return Number(divide(missing, rate.amount.atto, "up"));
}

/** How much of a denomination is worth so many fees; undefined without a price. */
function worthOf(fee: Coin, denom: string, tokenPrice: Decimal | undefined) {
  if (fee.amount === 0n) return undefined;
  const [each, feeEach] = denom === fee.denom ? [1n, 1n] : [dollars(denom, tokenPrice), dollars(fee.denom, tokenPrice)];
  if (!each || !feeEach) return undefined;
  return (count: bigint) => divide(count * fee.amount * feeEach, each, "up");
}

/** What one micro-unit is worth, in 10⁻¹⁸ths of a micro-dollar. */
function dollars(denom: string, tokenPrice: Decimal | undefined): bigint | undefined {
  if (isDollar(denom)) return 10n ** 18n;
  return denom === uakt ? tokenPrice?.atto : undefined;
}

/** When the next withdrawal from an escrow may be tried after failed ones, newest first; undefined if now. */
export function pausedUntilMs(withdrawals: readonly Intent[], mostMs: number, nowMs: number): number | undefined {
  const landed = withdrawals.filter(({ state }) => state === "done" || state === "failed");
  const successes = landed.findIndex(({ state, priority }) => state === "done" && priority !== priorities.close);
  const failures = successes === -1 ? landed : landed.slice(0, successes);
  const [last] = failures;
  // In the future: the clock was set back.
  if (last?.settledAtMs === undefined || last.settledAtMs > nowMs) return undefined;
  const untilMs = last.settledAtMs + growingPauseMs(withdrawalPauseFirstMs, mostMs, failures.length);
  return untilMs > nowMs ? untilMs : undefined;
}
