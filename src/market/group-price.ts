/** The most that a tenant pays per block for a whole group: every unit as often as it is wanted. */
import type { DecCoin } from "./coin.ts";
import { addDecimals, decimalOf, mulDecimals, zero } from "./decimal.ts";
import type { GroupSpec } from "./group-spec.ts";

/** Of a group that is within the network's limits: all units of one have the same denomination. */
export function mostFor({ units }: GroupSpec): DecCoin {
  const prices = units.map(({ price, count }) => mulDecimals(price.amount, decimalOf(BigInt(count))));
  return { denom: units[0]?.price.denom ?? "", amount: prices.reduce(addDecimals, zero) };
}
