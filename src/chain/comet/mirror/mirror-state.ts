/** What the mirror holds, by the text of each id, and what differs between two states of it. */
import { formatDecimal } from "../../../market/decimal.ts";
import { formatBidId, formatDeploymentId, formatOrderId } from "../../../market/ids.ts";
import type { MirrorKey } from "../../chain.ts";
import type {
  Balance,
  Bid,
  Deployment,
  EscrowAccount,
  EscrowPayment,
  Lease,
  Order,
  SignedDecCoin,
} from "../../records.ts";

export interface MirrorState {
  readonly orders: Map<string, Order>;
  readonly bids: Map<string, Bid>;
  readonly leases: Map<string, Lease>;
  /** Those of our leases, with the escrow account that pays them. */
  readonly deployments: Map<string, Deployment>;
  /** What our account holds, by denomination. */
  readonly balances: Map<string, Balance>;
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

/**
 * Which figures of things in both states are not the same, and which balances are not. Money moves without an event of the
 * market, so that it differs is no fault, but somebody waits for it.
 */
export function changedFigures(before: MirrorState, after: MirrorState): MirrorKey[] {
  const accounts = [...escrowPairs(before.bids, after.bids), ...escrowPairs(before.deployments, after.deployments)];
  const payments = [...after.leases].map(([key, { payment }]) => [before.leases.get(key)?.payment, payment] as const);
  const moved = [
    ...accounts.filter(([old, fresh]) => old && fresh && accountMark(old) !== accountMark(fresh)),
    ...payments.filter(([old, fresh]) => old && fresh && paymentMark(old) !== paymentMark(fresh)),
  ];
  const denoms = new Set([...before.balances.keys(), ...after.balances.keys()]);
  const amountIn = ({ balances }: MirrorState, denom: string) => balances.get(denom)?.amount ?? 0n;
  return [
    ...moved.flatMap(([, fresh]) => (fresh ? [{ kind: "escrow" as const, key: fresh.key }] : [])),
    ...[...denoms]
      .filter((denom) => amountIn(before, denom) !== amountIn(after, denom))
      .map((key) => ({ kind: "balance" as const, key })),
  ];
}

function escrowPairs(
  before: ReadonlyMap<string, Bid | Deployment>,
  after: ReadonlyMap<string, Bid | Deployment>,
): (readonly [EscrowAccount | undefined, EscrowAccount | undefined])[] {
  return [...after].map(([key, { escrow }]) => [before.get(key)?.escrow, escrow]);
}

/** What somebody has changed since `before` was copied is newer and stays; everything else takes the fresh figures. */
export function refreshFigures(state: MirrorState, before: MirrorState, fresh: MirrorState): MirrorKey[] {
  const refreshed: MirrorState = { ...before, bids: new Map(), leases: new Map(), deployments: new Map() };
  function refresh<T>(live: Map<string, T>, old: Map<string, T>, theirs: Map<string, T>, taken: Map<string, T>): void {
    for (const [key, record] of theirs) {
      if (live.get(key) === undefined || live.get(key) !== old.get(key)) continue;
      live.set(key, record);
      taken.set(key, record);
    }
  }
  refresh(state.bids, before.bids, fresh.bids, refreshed.bids);
  refresh(state.leases, before.leases, fresh.leases, refreshed.leases);
  refresh(state.deployments, before.deployments, fresh.deployments, refreshed.deployments);
  const isSame = [...state.balances].every(([denom, each]) => before.balances.get(denom) === each);
  if (!isSame || state.balances.size !== before.balances.size) return changedFigures(before, refreshed);
  state.balances.clear();
  for (const [denom, balance] of fresh.balances) state.balances.set(denom, balance);
  return changedFigures(before, { ...refreshed, balances: fresh.balances });
}

function accountMark({ state, settledAt, funds, transferred }: EscrowAccount): string {
  return [state, settledAt, ...funds.map(coinMark), "transferred", ...transferred.map(coinMark)].join(" ");
}

function paymentMark({ state, rate, balance, unsettled, withdrawn }: EscrowPayment): string {
  return [state, ...[rate, balance, unsettled].map(coinMark), withdrawn.amount, withdrawn.denom].join(" ");
}

function coinMark({ denom, amount }: SignedDecCoin): string {
  return `${formatDecimal(amount)}${denom}`;
}
