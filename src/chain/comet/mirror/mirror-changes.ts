/** What a block means for the mirror: which of its things must be read again, which are gone, and reading them. */
import type { Address } from "../../../market/address.ts";
import {
  type BidId,
  bidOn,
  type DeploymentId,
  deploymentOf,
  formatBidId,
  formatDeploymentId,
  formatOrderId,
  type LeaseId,
  type OrderId,
  orderOf,
} from "../../../market/ids.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { rpcMirrorQueries, rpcMirrorSingles } from "../../../runtime/limits.ts";
import type { ChainBlock, MarketEvent } from "../../block.ts";
import type { At, MirrorKey, Queries, QueryOptions } from "../../chain.ts";
import type { Balance, Bid, Deployment, Lease, Order } from "../../records.ts";
import { unlessGone } from "../queries/abci-query.ts";
import { readBalances } from "./mirror-lists.ts";
import type { MirrorState } from "./mirror-state.ts";

export interface MirrorChanges {
  /** To be read, by the text of the id. */
  readonly orders: Map<string, OrderId>;
  readonly bids: Map<string, BidId>;
  readonly leases: Map<string, LeaseId>;
  readonly deployments: Map<string, DeploymentId>;
  /** Coins of ours came or went. */
  readonly coinsMoved: boolean;
  /** Orders never open again, so these need not be read. */
  readonly endedOrders: Set<string>;
  /** Everything that somebody might want to look at now. */
  readonly keys: MirrorKey[];
}

/** What the mirror knows at this time. */
interface Known {
  readonly provider: Address;
  readonly state: MirrorState;
  /** It is ahead of the block, so a bid that the block ended is no longer in it. */
  readonly isAhead: boolean;
}

export function changesOf(block: ChainBlock, known: Known): MirrorChanges {
  const changes: MirrorChanges = {
    orders: new Map(),
    bids: new Map(),
    leases: new Map(),
    deployments: new Map(),
    coinsMoved: block.coinsMovedOf.has(known.provider),
    endedOrders: new Set(),
    keys: [],
  };
  for (const { event } of block.events) note(event, changes, known);
  return changes;
}

function note(event: MarketEvent, changes: MirrorChanges, { provider, state, isAhead }: Known): void {
  switch (event.kind) {
    case "OrderCreated":
      noteOrder(event.id, changes);
      break;
    case "OrderClosed":
      endOrder(event.id, changes);
      break;
    case "BidCreated":
    case "BidClosed":
      if (event.id.provider === provider) noteBid(event.id, changes);
      break;
    case "LeaseCreated": {
      endOrder(event.id, changes);
      // The losers are not told: our bid on that order, if there is one, is another thing now.
      const ours = bidOn(event.id, provider);
      const mayBe = isAhead || state.bids.has(formatBidId(ours)) || changes.bids.has(formatBidId(ours));
      if (event.id.provider === provider) noteLease(event.id, changes);
      else if (mayBe) noteBid(ours, changes);
      break;
    }
    case "LeaseClosed":
    case "LeaseReclaimStarted":
      if (event.id.provider === provider) noteLease(event.id, changes);
      break;
    case "DeploymentUpdated":
    case "DeploymentClosed":
    case "GroupStarted":
    case "GroupPaused":
    case "GroupClosed":
      if (state.deployments.has(formatDeploymentId(event.id))) noteDeployment(event.id, changes);
      break;
    case "ProviderCreated":
    case "ProviderUpdated":
    case "ProviderDeleted":
    case "TrustedAuditorCreated":
    case "TrustedAuditorDeleted":
      if (event.owner === provider) changes.keys.push({ kind: "provider", key: provider });
      break;
    case "DeploymentCreated":
      break;
  }
}

function noteOrder(id: OrderId, { orders, keys }: MirrorChanges): void {
  const key = formatOrderId(id);
  orders.set(key, id);
  keys.push({ kind: "order", key });
}

function endOrder(id: OrderId, { orders, endedOrders, keys }: MirrorChanges): void {
  const key = formatOrderId(orderOf(id));
  orders.delete(key);
  endedOrders.add(key);
  keys.push({ kind: "order", key });
}

function noteBid(id: BidId, { bids, keys }: MirrorChanges): void {
  const key = formatBidId(id);
  bids.set(key, id);
  keys.push({ kind: "bid", key });
}

/** A lease changes together with the bid that it grew out of, and is paid by its deployment. */
function noteLease(id: LeaseId, changes: MirrorChanges): void {
  const key = formatBidId(id);
  changes.leases.set(key, id);
  changes.keys.push({ kind: "lease", key });
  noteBid(id, changes);
  noteDeployment(id, changes);
}

function noteDeployment(id: DeploymentId, { deployments, keys }: MirrorChanges): void {
  const key = formatDeploymentId(id);
  deployments.set(key, deploymentOf(id));
  keys.push({ kind: "deployment", key });
}

export interface BlockReads {
  /** Every open order there is, when so many were new that the list was read. */
  readonly allOrders: readonly Order[] | undefined;
  readonly orders: readonly Order[];
  readonly bids: readonly Bid[];
  readonly leases: readonly Lease[];
  readonly deployments: readonly Deployment[];
  /** Undefined where they have not changed. */
  readonly balances: readonly Balance[] | undefined;
}

/**
 * Reads what changed, a few things one by one, many orders or bids as a list: of the state after this block, or of a newer one where that is gone: later blocks then
 * say nothing new.
 */
export async function readChanges(
  queries: Queries,
  provider: Address,
  changes: MirrorChanges,
  height: bigint,
): Promise<BlockReads> {
  const at: QueryOptions = { atOrAbove: height, height };
  const many = changes.orders.size > rpcMirrorSingles;
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
  if (bids.size <= rpcMirrorSingles) return each(bids.values(), at, queries.bid);
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
  const found = await inParallel(ids, rpcMirrorQueries, (id) => unlessGone(at, (options) => read(id, options)));
  return found.flatMap(({ value }) => (value === undefined ? [] : [value]));
}
