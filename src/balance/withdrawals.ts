/** Our withdrawals: those that are under way, and what became of those that landed. */

import { MsgWithdrawLease } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { Bus } from "../bus/bus.ts";
import type { Chain, Settled, SettledResult } from "../chain/chain.ts";
import { writeId } from "../chain/codec/wire-messages.ts";
import { accountOf, isWithdrawal, priorities } from "../chain/outbox/intent.ts";
import { runs } from "../chain/records.ts";
import { type PackedMessage, packMessage } from "../chain/tx/messages.ts";
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
  /** About what one costs; undefined where somebody else pays. */
  readonly fee: Coin | undefined;
  readonly chain: Pick<Chain, "mirror" | "outbox">;
  readonly journal: Pick<Journal, "read">;
  readonly bus: Pick<Bus, "publish">;
  readonly log: Log;
}

interface Waiting {
  readonly lease: LeaseId;
  /** How many the same escrow pays, ours or not. */
  readonly leases: number;
}

export function createWithdrawals({ fee, chain, journal, bus, log }: WithdrawalsDeps) {
  const { mirror, outbox } = chain;
  const { intents } = journal.read;
  const fees = createWithdrawalFees(fee);
  const waiting = new Map<number, Waiting>();
  const counts = { done: 0, failed: 0 };
  let landedAt = 0n;

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

  return {
    /** Those that were filed before the start. */
    resume(): void {
      for (const intent of intents.unsettled(intents.owed())) {
        if (isWithdrawal(intent)) waiting.set(intent.id, { lease: parseLeaseId(intent.subject), leases: 1 });
      }
    },
    filed(id: number, one: Waiting): void {
      if (intents.get(id)?.settledAtMs === undefined) waiting.set(id, one);
    },
    /** The lease that it was about; undefined where it is no withdrawal that was settled. */
    settled({ id, state, result }: Settled): LeaseId | undefined {
      const intent = intents.get(id);
      if (!intent || !isWithdrawal(intent)) return undefined;
      const { leases = 1 } = waiting.get(id) ?? {};
      waiting.delete(id);
      if (state === "done" || state === "failed") {
        counts[state] += 1;
        // One that ends leases has the chain do more, and costs what it costs.
        if (intent.priority !== priorities.close) fees.note(result, leases);
        announce(intent.subject, state, result);
      }
      if (result.height !== undefined) landedAt = largest(landedAt, BigInt(result.height));
      return parseLeaseId(intent.subject);
    },
    /** The chain pays out what it closes, and refuses to pay it a second time. */
    async cancelEnded(): Promise<void> {
      for (const [id, { lease }] of [...waiting]) {
        if (runs(mirror.lease(lease)) || intents.get(id)?.state !== "filed") continue;
        await outbox.cancel(id, "the lease is over, and the chain has paid it out");
      }
    },
    feeFor: fees.feeFor,
    /** The height of the last that landed. */
    get landedAt() {
      return landedAt;
    },
    get state() {
      return { waiting: waiting.size, ...counts };
    },
  };
}

// What a withdrawal is taken to cost: what was reckoned before any had landed, or more where one of the last cost more.
// It settles its whole escrow, so it costs the more gas the more leases that pays, ours or not.

/** And of each further lease that the same escrow pays: all of them are written anew. */
const withdrawalGasEach = 30_000n;
/** Settled withdrawals whose cost says what the next one may cost. */
const withdrawalFeesKept = 16;

/** What is reckoned is for an escrow that pays one lease. */
function createWithdrawalFees(reckoned: Coin | undefined) {
  /** As if their escrows had paid one lease. */
  const paid: bigint[] = [];
  return {
    /** Of an escrow that paid so many. */
    note({ fee = "" }: SettledResult, leases: number): void {
      if (!reckoned || fee === "") return;
      paid.push(divide(amountOf(parseCoins(fee), reckoned.denom) * gasFor(1), gasFor(leases), "up"));
      if (paid.length > withdrawalFeesKept) paid.shift();
    },
    /** Undefined where somebody else pays. */
    feeFor(leases: number): Coin | undefined {
      if (!reckoned) return undefined;
      const amount = divide(largest(reckoned.amount, ...paid) * gasFor(leases), gasFor(1), "up");
      return { ...reckoned, amount };
    },
  };
}

function gasFor(leases: number): bigint {
  return withdrawalGas + withdrawalGasEach * BigInt(Math.max(0, leases - 1));
}

// Files the withdrawals that a round decided on, in the order in which they fell due, and never two of one escrow.

/** Withdrawals that one round files, about ten transactions full of them; the others wait for the next one. */
export const withdrawalsOfRound = 500;

export interface Decided {
  readonly deployment: string;
  readonly height: bigint;
  readonly leases: readonly LeaseId[];
  readonly verdict: Exclude<WithdrawalVerdict, { kind: "wait" }>;
}

export type Filing =
  | { readonly kind: "filed"; readonly id: number; readonly lease: LeaseId; readonly why: string }
  /** Something that settles the same escrow is under way, or has landed since the reading: it may be empty now. */
  | { readonly kind: "busy" }
  /** The last ones came to nothing. */
  | { readonly kind: "paused"; readonly pauseMs: number }
  /** Enough for one round, or more than the outbox takes. */
  | { readonly kind: "full" };

/** In a unit of the journal: looks once more, for what was filed since the reading. By deployment, what came of it. */
export function fileWithdrawals(
  { intents }: Pick<Tables, "intents">,
  decided: readonly Decided[],
  outbox: Pick<Chain["outbox"], "intentOf">,
  nowMs: number,
): Map<string, Filing> {
  const busy = new Set(intents.unsettled(intents.owed()).map(accountOf));
  let filed = 0;

  function file({ deployment, height, leases, verdict }: Decided): Filing {
    if (busy.has(deployment)) return { kind: "busy" };
    const before = leases.flatMap((id) => withdrawalsOf(intents, id)).sort((a, b) => b.id - a.id);
    if (before.some((intent) => landedAt(intent) > height)) return { kind: "busy" };
    const untilMs = pausedUntilMs(before, verdict.mostPauseMs, nowMs);
    if (untilMs !== undefined) return { kind: "paused", pauseMs: untilMs - nowMs };
    const { why } = verdict;
    const lease = parseLeaseId(verdict.lease);
    const priority = verdict.kind === "settle" ? "close" : "withdraw";
    const message = withdrawLeaseMessage(lease);
    const intent = outbox.intentOf({ subject: verdict.lease, why, message, priority });
    const isFull = filed >= withdrawalsOfRound || intents.owed(intent.priority) >= outboxIntents;
    if (isFull) return { kind: "full" };
    filed += 1;
    return { kind: "filed", id: intents.file(intent), lease, why };
  }

  return new Map(decided.toSorted(byUrgency).map((each) => [each.deployment, file(each)]));
}

/** Who works for nothing comes before who only waits for money; then what fell due first. */
function byUrgency({ verdict: left }: Decided, { verdict: right }: Decided): number {
  if (left.kind !== right.kind) return left.kind === "settle" ? -1 : 1;
  return left.fellDueMs - right.fellDueMs;
}

function withdrawalsOf(intents: Pick<Tables["intents"], "about">, lease: LeaseId): Intent[] {
  return intents.about(formatLeaseId(lease)).filter(isWithdrawal);
}

function landedAt({ result }: Pick<Intent, "result">): bigint {
  return BigInt((result as SettledResult | undefined)?.height ?? 0);
}

/** The message that brings in what a lease has earned, and settles all of its escrow on the way. */
function withdrawLeaseMessage(id: LeaseId): PackedMessage {
  return packMessage("withdrawLease", MsgWithdrawLease.fromPartial({ id: writeId(id) }));
}

// Whether to withdraw from an escrow now: because it is spent, or because it is worth the fee. Pure: all is gathered first.

/** Earnings worth so many times the fee come home at once: no more than a hundredth of them is spent on that. */
export const withdrawalWorth = 100n;
/** After a withdrawal that came to nothing, the next one waits this long, and twice as long each time. */
const withdrawalPauseFirstMs = 10 * minute;
const withdrawalPauseMostMs = 24 * hour;
/** Of one that is sure to end a lease: whoever made others come to nothing gets no more than this for nothing. */
export const settlingPauseMostMs = hour;

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
export function decideOnEscrow(question: EscrowQuestion, terms: Terms): WithdrawalVerdict {
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

/** When the next withdrawal from an escrow may be tried after failed ones, newest first; undefined if now. */
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
