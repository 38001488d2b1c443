/** What a transaction asks for and pays. */
import { type Coin, type DecCoin, sumCoins } from "../../market/coin.ts";
import { type Decimal, decimalOf, mulDecimals, toInteger } from "../../market/decimal.ts";

export interface FeeSettings {
  /** Factor on the gas that a simulation used: a block finds another state than the simulation did. */
  readonly gasAdjustment: Decimal;
  readonly gasPrices: readonly DecCoin[];
  /** Instead of what was simulated. */
  readonly gas?: "auto" | bigint;
  /** Instead of gas times price. */
  readonly fees?: readonly Coin[] | undefined;
}

/** What it will need, going by what it needed in a simulation. */
export function adjustedGas(simulated: bigint, { gasAdjustment }: FeeSettings): bigint {
  return toInteger(mulDecimals(decimalOf(simulated), gasAdjustment), "up");
}

export function gasFor(simulated: bigint, settings: FeeSettings): bigint {
  const { gas = "auto" } = settings;
  return gas === "auto" ? adjustedGas(simulated, settings) : gas;
}

export function feeFor(gas: bigint, { gasPrices, fees }: FeeSettings): Coin[] {
  if (fees) return sumCoins(fees);
  return sumCoins(
    gasPrices.map(({ denom, amount }) => ({ denom, amount: toInteger(mulDecimals(amount, decimalOf(gas)), "up") })),
  );
}
