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
import { rpcMirrorQueries, rpcMirrorSingles, rpcMirrorTries } from "../../../runtime/limits.ts";
import type { ChainBlock } from "../../block.ts";
import type { At, Listed, MirrorKey, Queries, QueryOptions } from "../../chain.ts";
import { isOfChain } from "../../chain-failure.ts";
import type { Balance, Bid, Deployment, Lease, Order } from "../../records.ts";
import { listReclaimingLeases } from "../../running-leases.ts";
import type { MarketEvent } from "../events.ts";
import { unlessGone } from "../queries/abci-query.ts";

export interface MirrorChanges {
  /** To be read, by the text of the id. */
  readonly orders: Map<string, OrderId>;
  readonly bids: Map<string, BidId>;
  readonly leases: Map<string, LeaseId>;
  readonly deployments: Map<string, DeploymentId>;
  readonly coinsMoved: boolean;
  /** Orders never open again, so these need not be read. */
  readonly endedOrders: Set<string>;
  readonly keys: MirrorKey[];
}

interface Known {
  readonly provider: Address;
  readonly state: MirrorState;
  /** The mirror is ahead of the block, so a bid that the block ended is no longer in it. */
  readonly isAhead: boolean;
}

export function changesOf(block: ChainBlock, known: Known): MirrorChanges {
  const changes: MirrorChanges = {
    ...{ orders: new Map(), bids: new Map(), leases: new Map(), deployments: new Map() },
    ...{ endedOrders: new Set(), keys: [], coinsMoved: block.coinsMovedOf.has(known.provider) },
  };
  for (const { event } of block.events) note(event, changes, known);
  return changes;
}

function note(event: MarketEvent, changes: MirrorChanges, { provider, state, isAhead }: Known): void {
  if ("owner" in event) {
    if (event.owner === provider) changes.keys.push({ kind: "provider", key: provider });
    return;
  }
  switch (event.kind) {
    case "OrderCreated":
      changes.orders.set(formatOrderId(event.id), event.id);
      changes.keys.push({ kind: "order", key: formatOrderId(event.id) });
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
      // There is no event for lost bids: our bid on that order, if there is one, has changed too.
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
    case "DeploymentCreated":
      break;
    default:
      if (state.deployments.has(formatDeploymentId(event.id))) noteDeployment(event.id, changes);
  }
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
  readonly balances: readonly Balance[] | undefined;
}

/** Reads what changed after this block, singly or as lists; of the newest state where that height is pruned. */
export async function readChanges(
  queries: Queries,
  provider: Address,
  changes: MirrorChanges,
  height: bigint,
): Promise<BlockReads> {
  const at: QueryOptions = { atOrAbove: height, height };
  const many = changes.orders.size > rpcMirrorSingles;
  const listed = many ? await unlessGone(at, (readEach) => queries.orders({ state: "open" }, readEach)) : undefined;
  return {
    allOrders: listed?.items,
    orders: many ? [] : await each(changes.orders.values(), at, queries.order),
    bids: await readBids(queries, provider, changes, at),
    leases: await each(changes.leases.values(), at, queries.lease),
    deployments: await each(changes.deployments.values(), at, queries.deployment),
    balances: changes.coinsMoved ? await readBalances(queries, provider, at) : undefined,
  };
}

/** Most bids are open or won and thus in the lists; the state of the others is queried. */
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

// The mirror's content from the chain's own lists.

export interface MirrorLists {
  readonly state: MirrorState;
  /** Everything up to this height is in it. */
  readonly height: bigint;
  /** All of it is of exactly that height. */
  readonly steady: boolean;
}

type List<T> = (options: QueryOptions) => Promise<Listed<T>>;

/** All lists come from one node, of the wanted height or the newest; begun anew when that node fails. */
export async function readLists(queries: Queries, provider: Address, options: QueryOptions): Promise<MirrorLists> {
  for (let left = rpcMirrorTries; ; left -= 1) {
    const orders = await unlessGone(options, (each) => queries.orders({ state: "open" }, each));
    try {
      return await readRest(queries, provider, orders, options);
    } catch (thrown) {
      if (left <= 1 || !isOfChain(thrown)) throw thrown;
    }
  }
}

async function readRest(
  queries: Queries,
  provider: Address,
  orders: Listed<Order>,
  { height: wanted, ...first }: QueryOptions,
): Promise<MirrorLists> {
  const { height, node } = orders;
  const rest = { ...first, node };
  let steady = orders.steady && (wanted ?? height) === height;

  const here = (): QueryOptions => ({ ...rest, height: steady ? height : undefined });

  async function read<T>(list: List<T>): Promise<readonly T[]> {
    const listed = await unlessGone(here(), list);
    steady &&= listed.steady && listed.height === height;
    return listed.items;
  }

  const openBids = await read((each) => queries.bids({ provider, state: "open" }, each));
  const wonBids = await read((each) => queries.bids({ provider, state: "active" }, each));
  const active = await read((each) => queries.leases({ provider, state: "active" }, each));
  const reclaiming = await read((each) => listReclaimingLeases(queries, provider, each));
  const leases = [...active, ...reclaiming];
  const readOne = (id: DeploymentId) => unlessGone(here(), (each) => queries.deployment(id, each));
  const deployments = await deploymentsOf(queries, leases, read, readOne);
  const balances = await readBalances(queries, provider, here());
  const state = stateOf(orders.items, [...openBids, ...wonBids], leases, deployments, balances);
  return { state, height, steady };
}

export async function readBalances(queries: Queries, provider: Address, options: QueryOptions): Promise<Balance[]> {
  const { items, height } = await unlessGone(options, (each) => queries.balances(provider, each));
  return items.map((coin) => ({ ...coin, height }));
}

/** A few are queried one by one; for many, the list of all active ones is quicker. */
async function deploymentsOf(
  queries: Queries,
  leases: readonly Lease[],
  read: <T>(list: List<T>) => Promise<readonly T[]>,
  readOne: (id: DeploymentId) => Promise<{ readonly value: Deployment | undefined }>,
): Promise<readonly Deployment[]> {
  const wanted = new Map(leases.map(({ id }) => [formatDeploymentId(id), deploymentOf(id)]));
  if (wanted.size > rpcMirrorSingles) {
    const all = await read((each) => queries.deployments({ state: "active" }, each));
    return all.filter(({ id }) => wanted.has(formatDeploymentId(id)));
  }
  const found = await inParallel(wanted.values(), rpcMirrorQueries, readOne);
  return found.flatMap(({ value }) => value ?? []);
}

// What the mirror holds, by the text of each id, and what differs between two states of it.

export interface MirrorState {
  readonly orders: Map<string, Order>;
  readonly bids: Map<string, Bid>;
  readonly leases: Map<string, Lease>;
  /** Those of our leases, with the escrow account that pays them. */
  readonly deployments: Map<string, Deployment>;
  readonly balances: Map<string, Balance>;
}

export function stateOf(
  orders: Iterable<Order>,
  bids: Iterable<Bid>,
  leases: Iterable<Lease>,
  deployments: Iterable<Deployment>,
  balances: Iterable<Balance>,
): MirrorState {
  return {
    orders: byKey(orders, ({ id }) => formatOrderId(id)),
    bids: byKey(bids, ({ id }) => formatBidId(id)),
    leases: byKey(leases, ({ id }) => formatBidId(id)),
    deployments: byKey(deployments, ({ id }) => formatDeploymentId(id)),
    balances: byKey(balances, ({ denom }) => denom),
  };
}

function byKey<T>(records: Iterable<T>, key: (record: T) => string): Map<string, T> {
  return new Map([...records].map((record) => [key(record), record]));
}

export function isLive(record: Bid | Lease): boolean {
  return record.state === "open" || record.state === "active" || record.state === "reclaiming";
}

/** What differs between two states of one height, apart from figures. */
export function differences(ours: MirrorState, theirs: MirrorState): MirrorKey[] {
  return [
    ...differing("order", ours.orders, theirs.orders, ({ state }) => state),
    ...differing("bid", live(ours.bids), live(theirs.bids), ({ state }) => state),
    ...differing("lease", live(ours.leases), live(theirs.leases), ({ state }) => state),
    ...differing("deployment", ours.deployments, theirs.deployments, markOf),
  ];
}

function markOf({ state, hash, groups }: Deployment): string {
  return [state, Buffer.from(hash).toString("hex"), ...groups.map((group) => group.state)].join(" ");
}

function live<T extends Bid | Lease>(records: ReadonlyMap<string, T>): Map<string, T> {
  return new Map([...records].filter(([, record]) => isLive(record)));
}

function* differing<T>(
  kind: MirrorKey["kind"],
  ours: ReadonlyMap<string, T>,
  theirs: ReadonlyMap<string, T>,
  mark: (record: T) => string,
): IterableIterator<MirrorKey> {
  for (const key of new Set([...ours.keys(), ...theirs.keys()])) {
    const [left, right] = [ours.get(key), theirs.get(key)];
    const same = left !== undefined && right !== undefined && mark(left) === mark(right);
    if (!same) yield { kind, key };
  }
}

/** Balances that differ: coins move without an event of the market. */
export function changedBalances(before: MirrorState["balances"], after: MirrorState["balances"]): MirrorKey[] {
  const denoms = [...new Set([...before.keys(), ...after.keys()])];
  const isChanged = (denom: string) => (before.get(denom)?.amount ?? 0n) !== (after.get(denom)?.amount ?? 0n);
  return denoms.filter(isChanged).map((key) => ({ kind: "balance", key }));
}
