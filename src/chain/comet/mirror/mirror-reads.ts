/** Reads from the chain what a block has changed: a few things one by one, many orders or bids as a list. */
import type { Address } from "../../../market/address.ts";
import { formatBidId } from "../../../market/ids.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { limits } from "../../../runtime/limits.ts";
import type { At, Queries, QueryOptions } from "../../chain.ts";
import type { Balance, Bid, Deployment, Lease, Order } from "../../records.ts";
import type { MirrorChanges } from "./mirror-changes.ts";
import { readBalances, unlessGone } from "./mirror-lists.ts";

export interface MirrorReads {
  /** Every open order there is, when so many were new that the list was read. */
  readonly allOrders: readonly Order[] | undefined;
  readonly orders: readonly Order[];
  readonly bids: readonly Bid[];
  readonly leases: readonly Lease[];
  readonly deployments: readonly Deployment[];
  /** Undefined where they have not changed. */
  readonly balances: readonly Balance[] | undefined;
}

/** Of the state after this block, or of a newer one where that is gone: later blocks then say nothing new. */
export async function readChanges(
  queries: Queries,
  provider: Address,
  changes: MirrorChanges,
  height: bigint,
): Promise<MirrorReads> {
  const at: QueryOptions = { atOrAbove: height, height };
  const many = changes.orders.size > limits.rpcMirrorSingles;
  const listed = many ? await unlessGone(at, (each) => queries.orders({ state: "open" }, each)) : undefined;
  return {
    allOrders: listed?.items,
    orders: many ? [] : await each(changes.orders.values(), at, queries.order),
    bids: await readBids(queries, provider, changes, at),
    leases: await each(changes.leases.values(), at, queries.lease),
    deployments: await each(changes.deployments.values(), at, queries.deployment),
    balances: changes.coinsMoved ? await readBalances(queries, provider, at) : undefined,
  };
}

/** Of many bids most are open or won, and those are in the lists; what became of the others is asked. */
async function readBids(
  queries: Queries,
  provider: Address,
  { bids }: MirrorChanges,
  at: QueryOptions,
): Promise<readonly Bid[]> {
  if (bids.size <= limits.rpcMirrorSingles) return each(bids.values(), at, queries.bid);
  const open = await unlessGone(at, (options) => queries.bids({ provider, state: "open" }, options));
  const won = await unlessGone(at, (options) => queries.bids({ provider, state: "active" }, options));
  const found = [...open.items, ...won.items].filter(({ id }) => bids.has(formatBidId(id)));
  const seen = new Set(found.map(({ id }) => formatBidId(id)));
  const ended = [...bids].filter(([key]) => !seen.has(key)).map(([, id]) => id);
  return [...found, ...(await each(ended, at, queries.bid))];
}

async function each<Id, T>(
  ids: Iterable<Id>,
  at: QueryOptions,
  read: (id: Id, options: QueryOptions) => Promise<At<T | undefined>>,
): Promise<T[]> {
  const found = await inParallel(ids, limits.rpcMirrorQueries, (id) => unlessGone(at, (options) => read(id, options)));
  return found.flatMap(({ value }) => (value === undefined ? [] : [value]));
}
