/** Whether to withdraw from an escrow now: because it is spent, or because it is worth the fee. Pure: all is gathered first. */
import { priorities } from "../chain/outbox/intent.ts";
import type { Intent } from "../journal/intents.ts";
import { amountOf, type Coin, type DecCoin, formatCoin } from "../market/coin.ts";
import { type Decimal, divide } from "../market/decimal.ts";
import { isDollar, uakt } from "../market/denom.ts";
import { growingPauseMs } from "../runtime/back-off.ts";
import { hour, minute } from "../runtime/durations.ts";

/** Earnings worth so many times the fee come home at once: no more than a hundredth of them is spent on that. */
export const withdrawalWorth = 100n;
/** After a withdrawal that came to nothing, the next one waits this long, and twice as long each time. */
const withdrawalPauseFirstMs = 10 * minute;
const withdrawalPauseMostMs = 24 * hour;
/** Of one that is sure to end a lease: whoever made others come to nothing gets no more than this for nothing. */
export const settlingPauseMostMs = hour;

/** What is decided with. */
export interface Terms {
  readonly periodMs: number;
  readonly threshold: readonly Coin[];
  /** What a withdrawal from this escrow costs; undefined where somebody else pays. */
  readonly fee: Coin | undefined;
  readonly tokenPrice: Decimal | undefined;
  readonly blockTimeMs: number;
}

export interface EscrowQuestion {
  /** Of which all of it is true, and the time of that block. */
  readonly height: bigint;
  readonly timeMs: number;
  readonly spentAt: bigint | undefined;
  /** The account lacks what it should have paid already: no settlement ends it while others pay in its place. */
  readonly owes: boolean;
  readonly leases: readonly OwedLease[];
}

/** One of ours that runs. */
export interface OwedLease {
  readonly lease: string;
  readonly rate: DecCoin;
  /** Earned and not withdrawn. */
  readonly owed: bigint;
  /** When something last came in, or when it was first seen. */
  readonly lastMs: number;
}

export type Verdict =
  | {
      /** A settling withdrawal ends the leases of a spent escrow; any other brings money home. */
      readonly kind: "settle" | "withdraw";
      readonly lease: string;
      readonly why: string;
      /** Since when there was reason to. */
      readonly fellDueMs: number;
      /** How long the next one waits at most after others that came to nothing. */
      readonly mostPauseMs: number;
    }
  | { readonly kind: "wait"; readonly untilMs: number };

/** One withdrawal at most: the chain takes no two from one account in a block. */
export function decideOnEscrow(question: EscrowQuestion, terms: Terms): Verdict {
  const { height, timeMs, spentAt, owes, leases } = question;
  const fellDueMs = spentAt === undefined ? Number.POSITIVE_INFINITY : timeAt(spentAt, question, terms);
  const [richest] = leases.toSorted((left, right) => (left.owed < right.owed ? 1 : -1));
  if (spentAt !== undefined && height >= spentAt && richest) {
    const why = `the escrow is spent since height ${spentAt}: settling it ends the lease`;
    // Unless it owes, only a tenant who pays at the last moment, again and again, lets a settlement come to nothing.
    const mostPauseMs = owes ? withdrawalPauseMostMs : settlingPauseMostMs;
    return { kind: "settle", lease: richest.lease, why, fellDueMs, mostPauseMs };
  }
  const [first] = leases.flatMap((each) => reasonsFor(each, timeMs, terms)).sort((a, b) => a.dueMs - b.dueMs);
  if (!first) return { kind: "wait", untilMs: Number.POSITIVE_INFINITY };
  if (first.dueMs > timeMs) return { kind: "wait", untilMs: first.dueMs };
  const { lease, why, dueMs } = first;
  return { kind: "withdraw", lease, why, fellDueMs: dueMs, mostPauseMs: withdrawalPauseMostMs };
}

/** The last time that can be written. */
const lastMs = 8.64e15;

/** About when the block of this height is made. */
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

/** Of a denomination that the settings do not name: a tenth of a token, since those of the market have six decimals. */
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
  const worth = reason(
    reachedMs(costs.times(withdrawalWorth)),
    `${brings} is worth ${withdrawalWorth} times the fee of ${formatCoin(fee)}`,
  );
  if (periodMs === 0) return [worth];
  const dueMs = Math.max(lastMs + periodMs, reachedMs(costs.times(1n) + 1n));
  return [
    worth,
    reason(dueMs, `the withdrawal period has passed, and ${brings} is worth the fee of ${formatCoin(fee)}`),
  ];
}

/** Negative where it was reached in the past. */
function blocksUntil({ owed, rate }: OwedLease, amount: bigint): number {
  const missing = (amount - owed) * 10n ** 18n;
  if (rate.amount.atto === 0n) return missing > 0n ? Number.POSITIVE_INFINITY : 0;
  return Number(divide(missing, rate.amount.atto, "up"));
}

/** How much of a denomination is worth so many times the fee; undefined where nobody knows what either is worth. */
function worthOf(fee: Coin, denom: string, tokenPrice: Decimal | undefined) {
  if (fee.amount === 0n) return undefined;
  const [each, feeEach] = denom === fee.denom ? [1n, 1n] : [dollars(denom, tokenPrice), dollars(fee.denom, tokenPrice)];
  if (!each || !feeEach) return undefined;
  return { times: (count: bigint) => divide(count * fee.amount * feeEach, each, "up") };
}

/** What one micro-unit is worth, in 10⁻¹⁸ths of a micro-dollar. */
function dollars(denom: string, tokenPrice: Decimal | undefined): bigint | undefined {
  if (isDollar(denom)) return 10n ** 18n;
  return denom === uakt ? tokenPrice?.atto : undefined;
}

/**
 * Until when no withdrawal from an escrow is tried, by what became of those before, the newest first: each that failed,
 * or that was to end a lease which runs on all the same, has cost a fee for nothing. Undefined where one may be tried.
 */
export function pausedUntilMs(withdrawals: readonly Intent[], mostMs: number, nowMs: number): number | undefined {
  const landed = withdrawals.filter(({ state }) => state === "done" || state === "failed");
  const successes = landed.findIndex(({ state, priority }) => state === "done" && priority !== priorities.close);
  const vain = successes === -1 ? landed : landed.slice(0, successes);
  const [last] = vain;
  // One of the future: the clock was set back.
  if (last?.settledAtMs === undefined || last.settledAtMs > nowMs) return undefined;
  const untilMs = last.settledAtMs + growingPauseMs(withdrawalPauseFirstMs, mostMs, vain.length);
  return untilMs > nowMs ? untilMs : undefined;
}
