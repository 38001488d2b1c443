/** What an escrow means for our leases in it. */
import { formatDecimal, toInteger } from "../market/decimal.ts";
import { settleAt, spentAt } from "../market/escrow-arithmetic.ts";
import { formatLeaseId, type LeaseId } from "../market/ids.ts";
import type { Escrow } from "./escrow.ts";
import type { Figures } from "./figures.ts";

export interface OwnEscrow {
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
  const byKey = new Map(leases.map((lease) => [`deployment/${formatLeaseId(lease)}`, lease]));
  const figures = payments.flatMap(({ key, rate, balance, withdrawn }, index): Figures[] => {
    const lease = byKey.get(key);
    if (!lease) return [];
    const owed = toInteger(balance.amount, "truncate") + (paid[index] ?? 0n);
    return [
      {
        lease,
        denom: rate.denom,
        rate: formatDecimal(rate.amount),
        accrued: withdrawn.amount + owed,
        withdrawn: withdrawn.amount,
        height,
        timeMs,
        spentAt: spent,
        ended: undefined,
      },
    ];
  });
  return { spentAt: spent, figures };
}
