/** Coins and prices between the wire, where amounts are text, and the application, where they are exact numbers. */
import type { Coin as WireCoin, DecCoin as WireDecCoin } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { type Coin, type DecCoin, formatCoins, sumCoins } from "../../market/coin.ts";
import { parseDecimal, showDecimal } from "../../market/decimal.ts";
import { malformed } from "../../market/value-errors.ts";

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

const denomPattern = /^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/;

export function isDenom(text: string): boolean {
  return denomPattern.test(text);
}

/** As it stands; isValidPrice says whether it makes sense. */
export function readPrice(wire: WireDecCoin | undefined): DecCoin {
  return { denom: wire?.denom ?? "", amount: parseDecimal(wire?.amount || "0") };
}

export function isValidPrice({ denom, amount }: DecCoin): boolean {
  return isDenom(denom) && amount.atto >= 0n;
}

export function writePrice({ denom, amount }: DecCoin): WireDecCoin {
  return { denom, amount: showDecimal(amount) };
}
