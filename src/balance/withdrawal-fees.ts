/**
 * What a withdrawal is taken to cost: what was reckoned before any had landed, or more where one of the last cost more.
 * It settles its whole escrow, so it costs the more gas the more leases that pays, ours or not.
 */
import type { SettledResult } from "../chain/chain.ts";
import { amountOf, type Coin, parseCoins } from "../market/coin.ts";
import { divide } from "../market/decimal.ts";
import { largest } from "../runtime/bigint.ts";
import { withdrawalGas } from "../runtime/limits.ts";

/** And of each further lease that the same escrow pays: all of them are written anew. */
const withdrawalGasEach = 30_000n;
/** Settled withdrawals whose cost says what the next one may cost. */
const withdrawalFeesKept = 16;

/** What is reckoned is for an escrow that pays one lease. */
export function createWithdrawalFees(reckoned: Coin | undefined) {
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
