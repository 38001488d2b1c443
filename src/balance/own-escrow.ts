/** What an escrow means for our leases in it. */
import type { Tables } from "../journal/tables.ts";
import { parseDecimal } from "../market/decimal.ts";
import { settleAt, spentAt } from "../market/escrow-arithmetic.ts";
import { leasePayment } from "../market/escrow-keys.ts";
import { formatDeploymentId, formatLeaseId, type LeaseId } from "../market/ids.ts";
import { type Figures, figuresOf } from "./bookkeeping.ts";
import type { Escrow } from "./escrow-reader.ts";
import type { EscrowQuestion, OwedLease } from "./withdrawing.ts";

export interface OwnEscrow {
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

export function ownEscrow(escrow: Escrow, leases: readonly LeaseId[]): OwnEscrow {
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
export function questionOf(
  { escrow, spentAt, figures }: OwnEscrow,
  { payments }: Pick<Tables, "payments">,
): EscrowQuestion {
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
