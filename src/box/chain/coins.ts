/** Coins between the wire, where amounts are text, and the application, where they are whole numbers. */
import type { Coin as WireCoin } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { type Coin, formatCoins, sumCoins } from "../../market/coin.ts";
import { malformed } from "../../market/refusal.ts";

export function readCoin({ denom, amount }: WireCoin): Coin {
  if (!/^-?\d+$/.test(amount)) throw malformed(amount, "an amount of tokens", "it is not a whole number", "500000");
  return { denom, amount: BigInt(amount) };
}

export function readCoins(coins: readonly WireCoin[]): Coin[] {
  return coins.map(readCoin);
}

export function writeCoin({ denom, amount }: Coin): WireCoin {
  return { denom, amount: amount.toString() };
}

export function writeCoins(coins: readonly Coin[]): WireCoin[] {
  return coins.map(writeCoin);
}

/** Sorted by denom, each denom once, none of zero or less: what the chain calls valid coins. */
export function areValidCoins(coins: readonly Coin[]): boolean {
  return coins.every(({ amount }) => amount > 0n) && formatCoins(sumCoins(coins)) === formatCoins(coins);
}
