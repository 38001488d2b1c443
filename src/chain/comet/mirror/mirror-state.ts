/** What the mirror holds, by the text of each id, and what differs between two states of it. */
import { formatBidId, formatDeploymentId, formatOrderId } from "../../../market/ids.ts";
import type { MirrorKey } from "../../chain.ts";
import type { Balance, Bid, Deployment, Lease, Order } from "../../records.ts";

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
