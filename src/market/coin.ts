/** Amounts of the chain's tokens: whole ones (Coin) for balances, decimal ones (DecCoin) for prices and rates. */
import { ProviderError } from "../runtime/errors.ts";
import { type Decimal, formatDecimal, parseDecimal, showDecimal } from "./decimal.ts";
import { malformed, outOfRange } from "./value-errors.ts";

/** The network's own token; its price in dollars moves. */
export const uakt = "uakt";
/** The network's dollar. */
export const uact = "uact";
/** The dollar that came over the bridge: on the main network and on the sandbox. */
export const bridgedDollars: readonly string[] = [
  "ibc/170C677610AC31DF0904FFE09CD3B5C657492170E7E52372E48756B71E56F2F1",
  "ibc/12C6A0C374171B595A0A9E18B83FA09D295FB1F2D8C6DAA3AC28683471752D84",
];

export interface Coin {
  readonly denom: string;
  readonly amount: bigint;
}

export interface DecCoin {
  readonly denom: string;
  readonly amount: Decimal;
}

/** The chain keeps amounts in 256 bits. */
const mostAmount = 2n ** 256n - 1n;
/** The chain's rule for denoms: "uakt", "ibc/170C67…". */
const denomPattern = "[a-zA-Z][a-zA-Z0-9/:._-]{2,127}";
const denomOnly = new RegExp(`^${denomPattern}$`);
/** The chain lets spaces stand around a coin and inside it. */
const coinParts = new RegExp(`^\\s*(\\d+(?:\\.\\d+)?)\\s*(${denomPattern})\\s*$`);
/** A decimal of 97 characters and a denom of 128; reading a number of a million digits would take long. */
const longestText = 256;

export function isDenom(text: string): boolean {
  return denomOnly.test(text);
}

export function coinOf(amount: bigint, denom: string): Coin {
  if (amount < 0n || amount > mostAmount) {
    throw outOfRange(amount, `an amount of ${denom}`, { least: 0n, most: "2^256 - 1" });
  }
  return { denom: checkDenom(denom), amount };
}

export function decCoinOf(amount: Decimal, denom: string): DecCoin {
  if (amount.atto < 0n) {
    throw outOfRange(showDecimal(amount), `an amount of ${denom}`, { least: 0n, most: "2^256" });
  }
  return { denom: checkDenom(denom), amount };
}

/** "500000uakt". A fraction is rejected where the chain would drop it silently. */
export function parseCoin(text: string): Coin {
  const { amount, denom } = splitCoin(text, "500000uakt");
  const fraction = "it has a fraction, and tokens are counted whole";
  if (amount.includes(".")) throw malformed(text, "a whole amount with its denom", fraction, "500000uakt");
  return coinOf(BigInt(amount), denom);
}

/** "0.025uakt". */
export function parseDecCoin(text: string): DecCoin {
  const { amount, denom } = splitCoin(text, "0.025uakt");
  return decCoinOf(parseDecimal(amount), denom);
}

export function formatCoin({ amount, denom }: Coin): string {
  return `${amount}${denom}`;
}

/** With all 18 digits, as the chain writes it. */
export function formatDecCoin({ amount, denom }: DecCoin): string {
  return `${formatDecimal(amount)}${denom}`;
}

/** Without trailing zeros. */
export function showDecCoin({ amount, denom }: DecCoin): string {
  return `${showDecimal(amount)}${denom}`;
}

export function addCoins(left: Coin, right: Coin): Coin {
  if (left.denom !== right.denom) {
    throw new ProviderError("AKP_COIN_DENOMS_DIFFER", { left: left.denom, right: right.denom });
  }
  return coinOf(left.amount + right.amount, left.denom);
}

/** "100uact,500000uakt" in any order; given back as the chain demands it: sorted by denom, each once, none of zero. */
export function parseCoins(text: string): Coin[] {
  return parseList(text, parseCoin, ({ amount }) => amount === 0n);
}

export function parseDecCoins(text: string): DecCoin[] {
  return parseList(text, parseDecCoin, ({ amount }) => amount.atto === 0n);
}

export function formatCoins(coins: readonly Coin[]): string {
  return coins.map(formatCoin).join(",");
}

/** All of them added up per denom, as a list that the chain takes: sorted by denom, each once, none of zero. */
export function sumCoins(coins: Iterable<Coin>): Coin[] {
  const totals = new Map<string, Coin>();
  for (const coin of coins) {
    const total = totals.get(coin.denom);
    totals.set(coin.denom, total ? addCoins(total, coin) : coin);
  }
  return [...totals.values()].filter(({ amount }) => amount > 0n).sort(byDenom);
}

export function amountOf(coins: readonly Coin[], denom: string): bigint {
  return coins.find((coin) => coin.denom === denom)?.amount ?? 0n;
}

function splitCoin(text: string, example: string): { amount: string; denom: string } {
  const [, amount, denom] = (text.length <= longestText && coinParts.exec(text)) || [];
  if (amount !== undefined && denom !== undefined) return { amount, denom };
  const reason = "it must be a number followed by a denom of 3 to 128 characters";
  throw malformed(text, "an amount with its denom", reason, example);
}

function parseList<C extends { denom: string }>(
  text: string,
  parse: (text: string) => C,
  isZero: (coin: C) => boolean,
): C[] {
  if (text.trim() === "") return [];
  const coins = text.split(",").map(parse).sort(byDenom);
  const twice = coins.find((coin, index) => coin.denom === coins[index + 1]?.denom);
  if (twice) throw malformed(text, "a list of coins", `${twice.denom} stands in it twice`, "100uact,500000uakt");
  return coins.filter((coin) => !isZero(coin));
}

function checkDenom(denom: string): string {
  if (isDenom(denom)) return denom;
  const reason = "it must begin with a-z or A-Z, followed by 2 to 127 letters, digits or any of / : . _ -";
  throw malformed(denom, "a denom", reason, "uakt");
}

/** Denoms are ASCII, so the order of strings is the chain's order of bytes. */
function byDenom(left: { denom: string }, right: { denom: string }): number {
  return left.denom === right.denom ? 0 : left.denom < right.denom ? -1 : 1;
}

/** A price may be one for every denomination, or another in some: a number means little without saying of what. */
export interface PerDenom<T> {
  /** For every denomination that has none of its own. */
  readonly general: T | undefined;
  readonly own: ReadonlyMap<string, T>;
}

export function inDenom<T>({ general, own }: PerDenom<T>, denom: string): T | undefined {
  return own.get(denom) ?? general;
}

export function everyPrice<T>({ general, own }: PerDenom<T>): T[] {
  return [...(general === undefined ? [] : [general]), ...own.values()];
}

/** Whether a token of it is worth a dollar. */
export function isDollar(denom: string): boolean {
  return denom === uact || bridgedDollars.includes(denom);
}
