/** A price by chance, between bounds that grow with the memory: for tests of whatever deals with many bids. */
import { decimalFromAtto, toInteger } from "../../market/decimal.ts";
import { totalOf } from "../../market/group-totals.ts";
import type { Random } from "../../runtime/random.ts";
import type { Strategy } from "./pricing.ts";

const gibi = 2n ** 30n;
const leastPerGibi = 50n;
const mostPerGibi = 2n ** 20n;
/** A price has four digits after the point before it is made a hundredth. */
const steps = 10_000n;
const attoPerStep = 10n ** 18n / steps;
const hundredth = 100n;

export function createRandomRange(random: Random): Strategy {
  return {
    quote({ group, most }) {
      const memory = totalOf(group.units, (unit) => unit.memory.bytes);
      const least = (memory * leastPerGibi) / gibi || 1n;
      const highest = (memory * mostPerGibi) / gibi || 1n;
      const paid = toInteger(most.amount, "truncate") || 1n;
      const above = (highest < paid ? highest : paid) - least;
      const drawn = above > 0n ? BigInt(random.int(Number(above * steps))) : 0n;
      const amount = decimalFromAtto(least * 10n ** 18n + (drawn * attoPerStep) / hundredth);
      return { price: { denom: most.denom, amount }, evidence: { strategy: "randomRange", least: String(least) } };
    },
  };
}
