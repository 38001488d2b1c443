/** What the mirror holds, by the text of each id. */
import { formatBidId, formatDeploymentId, formatOrderId } from "../../../market/ids.ts";
import { limits } from "../../../runtime/limits.ts";
import type { MirrorKey } from "../../chain.ts";
import type { Balance, Bid, Deployment, Lease, Order } from "../../records.ts";

export interface MirrorState {
  readonly orders: Map<string, Order>;
  readonly bids: Map<string, Bid>;
  readonly leases: Map<string, Lease>;
  /** Those of our leases, with the escrow account that pays them. */
  readonly deployments: Map<string, Deployment>;
  /** What our account holds, by denomination. */
  readonly balances: Map<string, Balance>;
}

export function emptyState(): MirrorState {
  return { orders: new Map(), bids: new Map(), leases: new Map(), deployments: new Map(), balances: new Map() };
}

export function copyState({ orders, bids, leases, deployments, balances }: MirrorState): MirrorState {
  return {
    orders: new Map(orders),
    bids: new Map(bids),
    leases: new Map(leases),
    deployments: new Map(deployments),
    balances: new Map(balances),
  };
}

export function stateOf(
  orders: Iterable<Order>,
  bids: Iterable<Bid>,
  leases: Iterable<Lease>,
  deployments: Iterable<Deployment>,
  balances: Iterable<Balance>,
): MirrorState {
  const state = emptyState();
  for (const order of orders) putOrder(state, order);
  for (const bid of bids) state.bids.set(formatBidId(bid.id), bid);
  for (const lease of leases) state.leases.set(formatBidId(lease.id), lease);
  for (const deployment of deployments) state.deployments.set(formatDeploymentId(deployment.id), deployment);
  for (const balance of balances) state.balances.set(balance.denom, balance);
  return state;
}

/** Only open orders are of interest. */
export function putOrder({ orders }: MirrorState, order: Order): void {
  const key = formatOrderId(order.id);
  if (order.state === "open") orders.set(key, order);
  else orders.delete(key);
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

/** Ended things stay in view for those who want to know how they ended, but not for ever. */
export function forgetEnded(state: MirrorState): void {
  for (const records of [state.bids, state.leases]) forgetOldest(records);
  const used = new Set([...state.leases.values()].filter(isLive).map(({ id }) => formatDeploymentId(id)));
  for (const key of state.deployments.keys()) if (!used.has(key)) state.deployments.delete(key);
}

function forgetOldest(records: Map<string, Bid | Lease>): void {
  if (records.size <= limits.rpcMirrorEnded) return;
  const ended = [...records].filter(([, record]) => !isLive(record)).map(([key]) => key);
  for (const key of ended.slice(0, Math.max(0, ended.length - limits.rpcMirrorEnded))) records.delete(key);
}
