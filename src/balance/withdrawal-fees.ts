/** What a withdrawal is taken to cost: what was reckoned before any had landed, or more where one of the last cost more. */
import type { SettledResult } from "../chain/chain.ts";
import { amountOf, type Coin, parseCoins } from "../market/coin.ts";
import { largest } from "../runtime/bigint.ts";
import { limits } from "../runtime/limits.ts";

export function createWithdrawalFees(reckoned: Coin | undefined) {
  const paid: bigint[] = [];
  return {
    note({ fee = "" }: SettledResult): void {
      if (!reckoned || fee === "") return;
      paid.push(amountOf(parseCoins(fee), reckoned.denom));
      if (paid.length > limits.withdrawalFeesKept) paid.shift();
    },
    /** Undefined where somebody else pays. */
    get fee(): Coin | undefined {
      return reckoned && { ...reckoned, amount: largest(reckoned.amount, ...paid) };
    },
  };
}
