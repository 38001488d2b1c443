/** What of our money is locked in deposits, and since when. */
import type { Chain } from "../chain/chain.ts";
import { type Bid, openingOf } from "../chain/records.ts";
import { toInteger } from "../market/decimal.ts";
import { nsToMs } from "../runtime/clock.ts";

export interface LockedDeposits {
  readonly denom: string;
  readonly amount: bigint;
  readonly bids: number;
  /** Of these, in bids that are open although their order is not: they are on their way home. */
  readonly stranded: bigint;
  /** The height of the oldest bid among them, and about when that was. */
  readonly sinceHeight: bigint;
  readonly sinceMs: number;
}

export function lockedDeposits({ mirror, status }: Pick<Chain, "mirror" | "status">): LockedDeposits[] {
  const byDenom = new Map<string, LockedDeposits>();
  for (const bid of mirror.bids()) {
    for (const { denom, amount } of fundsOf(bid)) {
      const before = byDenom.get(denom);
      const isStranded = bid.state === "open" && !mirror.order(bid.id);
      const isOldest = !before || bid.createdAt < before.sinceHeight;
      byDenom.set(denom, {
        denom,
        amount: (before?.amount ?? 0n) + amount,
        bids: (before?.bids ?? 0) + 1,
        stranded: (before?.stranded ?? 0n) + (isStranded ? amount : 0n),
        sinceHeight: isOldest ? bid.createdAt : before.sinceHeight,
        sinceMs: isOldest ? timeOf(bid.createdAt) : before.sinceMs,
      });
    }
  }
  return [...byDenom.values()];

  function timeOf(height: bigint): number {
    return nsToMs(mirror.timeNs) - Number(mirror.height - height) * status.blockTimeMs;
  }
}

function fundsOf({ escrow }: Bid): { readonly denom: string; readonly amount: bigint }[] {
  if (escrow?.state !== "open") return [];
  return openingOf(escrow)
    .map(({ denom, amount }) => ({ denom, amount: toInteger(amount, "truncate") }))
    .filter(({ amount }) => amount > 0n);
}
