/** Books the difference between chain and journal with the new figures, so a repeated or missed step changes nothing. */
import { type Bid, type EscrowPayment, type Lease, openingOf } from "../chain/records.ts";
import type { LedgerKind } from "../journal/ledger.ts";
import type { PaymentEnd, PaymentRow } from "../journal/payments.ts";
import type { Tables } from "../journal/tables.ts";
import type { Coin } from "../market/coin.ts";
import { formatDecimal, toInteger } from "../market/decimal.ts";
import { type BidId, formatBidId, formatLeaseId, formatOrderId, type LeaseId } from "../market/ids.ts";

type Books = Pick<Tables, "ledger" | "payments" | "deposits">;

export interface Figures {
  readonly lease: LeaseId;
  readonly denom: string;
  /** Per block, as the chain writes decimals. */
  readonly rate: string;
  /** Earned up to this height, and the part that has come in. */
  readonly accrued: bigint;
  readonly withdrawn: bigint;
  readonly height: bigint;
  /** The time of that block. */
  readonly timeMs: number;
  /** The first height at which its escrow is spent; undefined once it has ended. */
  readonly spentAt: bigint | undefined;
  readonly ended: PaymentEnd["how"] | undefined;
}

export interface BidDeposit {
  readonly bid: BidId;
  /** Undefined once it has are refunded. */
  readonly locked: Coin | undefined;
  readonly height: bigint;
  /** The time of that block. */
  readonly timeMs: number;
}

/** In a unit of the journal. Of figures older than what is booked, only the end of a lease counts. */
export function bookPayments(tables: Pick<Books, "ledger" | "payments">, figures: readonly Figures[]): void {
  for (const each of figures) bookPayment(tables, each);
}

function bookPayment({ ledger, payments }: Pick<Books, "ledger" | "payments">, figures: Figures): void {
  const { lease, denom, rate, accrued, withdrawn, height, timeMs: atMs } = figures;
  const leaseId = formatLeaseId(lease);
  const booked = payments.get(leaseId);
  if (booked && booked.height > height) {
    // Its payment was read from a newer account that still had it open.
    const ended = endOf(figures, booked);
    if (ended && !booked.ended) payments.put({ ...booked, spentAt: undefined, ended });
    return;
  }
  const add = (kind: LedgerKind, amount: bigint) => {
    if (amount !== 0n) ledger.add({ kind, subject: leaseId, denom, amount, height, atMs });
  };
  // May be negative: a new lease on the same account loses what had accrued since the last settlement.
  add("accrued", accrued - (booked?.accrued ?? 0n));
  const cameIn = withdrawn - (booked?.withdrawn ?? 0n);
  add("withdrawn", cameIn);
  const ended = endOf(figures, booked);
  payments.put({
    leaseId,
    denom,
    rate,
    accrued,
    withdrawn,
    height,
    atMs,
    sinceMs: booked?.sinceMs ?? atMs,
    spentAt: ended ? undefined : figures.spentAt,
    withdrawnAtMs: cameIn > 0n ? atMs : booked?.withdrawnAtMs,
    ended,
  });
}

/** A lease ends once; its payment may be open after that, and an overdrawn one be closed by what came in. */
function endOf({ ended, timeMs }: Figures, booked: PaymentRow | undefined): PaymentRow["ended"] {
  if (!booked?.ended) return ended && { how: ended, atMs: timeMs };
  return { ...booked.ended, how: ended ?? booked.ended.how };
}

/** In a unit of the journal. A deposit is booked under its order, with the bid's other costs. */
export function bookDeposits(
  { ledger, deposits }: Pick<Books, "ledger" | "deposits">,
  bids: readonly BidDeposit[],
): void {
  for (const { bid, locked, height, timeMs: atMs } of bids) {
    const bidId = formatBidId(bid);
    const booked = deposits.get(bidId);
    const subject = formatOrderId(bid);
    if (locked && !booked) {
      deposits.put({ bidId, ...locked, height });
      ledger.add({ kind: "deposit", subject, ...locked, height, atMs });
    }
    if (!locked && booked) {
      const { denom, amount } = booked;
      deposits.remove(bidId);
      ledger.add({ kind: "refund", subject, denom, amount, height, atMs });
    }
  }
}

/** `due` was earned since the last settlement. */
export function figuresOf(
  lease: LeaseId,
  { rate, balance, withdrawn: { amount: withdrawn } }: EscrowPayment,
  { due, ...rest }: Pick<Figures, "height" | "timeMs" | "spentAt" | "ended"> & { readonly due: bigint },
): Figures {
  const accrued = withdrawn + toInteger(balance.amount, "truncate") + due;
  return { lease, denom: rate.denom, rate: formatDecimal(rate.amount), accrued, withdrawn, ...rest };
}

/** Of a lease that is over; undefined where the chain does not show its payment. */
export function lastFigures({ id, payment }: Lease, timeOf: (height: bigint) => number): Figures | undefined {
  if (!payment) return undefined;
  const { height, state: ended } = payment;
  return figuresOf(id, payment, { due: 0n, height, timeMs: timeOf(height), spentAt: undefined, ended });
}

/** Undefined where the chain does not show the bid's account. */
export function bidDepositOf({ id, escrow }: Bid, timeOf: (height: bigint) => number): BidDeposit | undefined {
  if (!escrow) return undefined;
  const funds = openingOf(escrow).map(({ denom, amount }) => ({ denom, amount: toInteger(amount, "truncate") }));
  const locked = escrow.state === "open" ? funds.find(({ amount }) => amount > 0n) : undefined;
  return { bid: id, locked, height: escrow.height, timeMs: timeOf(escrow.height) };
}
