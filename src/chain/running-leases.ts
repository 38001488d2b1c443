/** Which leases of a provider run, by the chain's own lists: those of the word "active", and those being reclaimed. */
import type { Address } from "../market/address.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { Listed, Queries, QueryOptions } from "./chain.ts";
import { unlessGone } from "./comet/queries/abci-query.ts";
import type { Lease } from "./records.ts";

/** With a height in the options, of that height; where no node keeps it any more, of the newest one. Both of one node and one height. */
export async function listRunningLeases(
  queries: Pick<Queries, "leases">,
  provider: Address,
  options: QueryOptions,
): Promise<Listed<Lease>> {
  const active = await unlessGone(options, (each) => queries.leases({ provider, state: "active" }, each));
  const { height, node } = active;
  const reclaiming = await listReclaimingLeases(queries, provider, { ...options, height, node });
  return { ...active, items: [...active.items, ...reclaiming.items], steady: active.steady && reclaiming.steady };
}

/** A chain that cannot reclaim does not know the word. */
export async function listReclaimingLeases(
  queries: Pick<Queries, "leases">,
  provider: Address,
  options: QueryOptions,
): Promise<Listed<Lease>> {
  try {
    return await queries.leases({ provider, state: "reclaiming" }, options);
  } catch (thrown) {
    if (!ProviderError.is(thrown, "AKP_CHAIN_QUERY_REFUSED") || !/invalid state/.test(thrown.message)) throw thrown;
    const { height = 0n, node = "" } = options;
    return { items: [], height, node, steady: true };
  }
}
