/** Amounts as people read them: in whole tokens by the name that they go by, instead of millionths. */
import type { Coin } from "./coin.ts";
import { bridgedDollars, uact, uakt } from "./denom.ts";

const names = new Map([[uakt, "AKT"], [uact, "ACT"], ...bridgedDollars.map((denom) => [denom, "USDC"] as const)]);
const million = 1_000_000n;
const digits = 6;

/** "AKT"; a denomination that has no such name is its own. */
export function tokenName(denom: string): string {
  return names.get(denom) ?? denom;
}

/** "12.345000", all digits, so that amounts below each other can be compared; of an unknown denomination, its own units. */
export function tokenAmount({ denom, amount }: Coin): string {
  if (!names.has(denom)) return `${amount}`;
  const sign = amount < 0n ? "-" : "";
  const size = amount < 0n ? -amount : amount;
  return `${sign}${size / million}.${`${size % million}`.padStart(digits, "0")}`;
}

/** "12.345 ACT", without the zeros that say nothing. */
export function showTokens(coin: Coin): string {
  const amount = tokenAmount(coin);
  return `${amount.includes(".") ? amount.replace(/\.?0+$/, "") : amount} ${tokenName(coin.denom)}`;
}
