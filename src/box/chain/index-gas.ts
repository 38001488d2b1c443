/** The price of the keys by which the real chain lists its records: by state, by group, by provider. */
import type { Context } from "./module.ts";

/** Writing such a key, and deleting the old one: 3,000 flat, and 30 for each of some 70 bytes. */
const gasPerIndex = 5_000n;

/** Our tables have no such keys, but a client that learns here what its transaction costs should not be misled. */
export function payForIndexes(context: Context, count: bigint): void {
  context.useGas(count * gasPerIndex, "WriteFlat");
}
