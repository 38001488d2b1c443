/** Orders, bids and leases, as they are kept and as they travel. */
import { Lease as WireLeaseCodec } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { GroupSpec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  type ResourceOffer,
  Bid as WireBidCodec,
  Order as WireOrderCodec,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import {
  type DeploymentReclamation,
  type LeaseReclamation,
  leaseReclaiming,
  type WireBid,
  type WireLease,
  type WireOrder,
  writeId,
} from "../../../../chain/codec/wire-messages.ts";
import type { DecCoin } from "../../../../market/coin.ts";
import { type BidId, type GroupId, type LeaseId, type OrderId, orderOf } from "../../../../market/ids.ts";
import { writePrice } from "../../coins.ts";
import { payForIndexes } from "../../gas.ts";
import { bidKey, orderKey } from "../../market-ids.ts";
import type { Context } from "../../module.ts";
import type { Table } from "../../store.ts";

export const orderStates = { open: 1, active: 2, closed: 3 } as const;

export const bidStates = { open: 1, active: 2, lost: 3, closed: 4 } as const;

export const leaseStates = { active: 1, insufficient_funds: 2, closed: 3, reclaiming: leaseReclaiming } as const;

export interface Order {
  readonly id: OrderId;
  readonly state: keyof typeof orderStates;
  readonly spec: GroupSpec;
  readonly createdAt: bigint;
  readonly reclamation: DeploymentReclamation | undefined;
}

export interface Bid {
  readonly id: BidId;
  readonly state: keyof typeof bidStates;
  readonly price: DecCoin;
  readonly createdAt: bigint;
  readonly resourcesOffer: readonly ResourceOffer[];
  readonly reclamationWindowNs: bigint | undefined;
}

export interface Lease {
  readonly id: LeaseId;
  readonly state: keyof typeof leaseStates;
  readonly price: DecCoin;
  readonly createdAt: bigint;
  /** 0 while it runs. */
  readonly closedOn: bigint;
  readonly reason: number;
  readonly reclamation: LeaseReclamation | undefined;
}

export function orders(context: Context): Table<Order> {
  return context.store.table("market/orders");
}

export function bids(context: Context): Table<Bid> {
  return context.store.table("market/bids");
}

export function leases(context: Context): Table<Lease> {
  return context.store.table("market/leases");
}

export function findOrder(context: Context, id: OrderId): Order | undefined {
  return orders(context).get(orderKey(id));
}

export function findBid(context: Context, id: BidId): Bid | undefined {
  return bids(context).get(bidKey(id));
}

export function findLease(context: Context, id: LeaseId): Lease | undefined {
  return leases(context).get(bidKey(id));
}

/** Listed by state, and by group and state. */
export function saveOrder(context: Context, order: Order): void {
  payForIndexes(context, 2n);
  orders(context).set(orderKey(order.id), order);
}

/** Listed by state, by provider, and by order and state. */
export function saveBid(context: Context, bid: Bid): void {
  payForIndexes(context, 3n);
  bids(context).set(bidKey(bid.id), bid);
}

/** Listed by state and by provider. */
export function saveLease(context: Context, lease: Lease): void {
  payForIndexes(context, 2n);
  leases(context).set(bidKey(lease.id), lease);
}

/** Orders of a group are numbered without gaps and never deleted. */
export function ordersOf(context: Context, { owner, dseq, gseq }: GroupId): Order[] {
  const found: Order[] = [];
  for (let oseq = 1; ; oseq += 1) {
    const order = findOrder(context, { owner, dseq, gseq, oseq });
    if (!order) return found;
    found.push(order);
  }
}

/** Index of bids by order. */
function bidKeys(context: Context): Table<readonly string[]> {
  return context.store.table("market/bids-of-order");
}

export function addBid(context: Context, bid: Bid): void {
  const order = orderKey(bid.id);
  bidKeys(context).set(order, [...(bidKeys(context).get(order) ?? []), bidKey(bid.id)].sort());
  saveBid(context, bid);
}

export function bidsOf(context: Context, id: OrderId, ...states: Bid["state"][]): Bid[] {
  const keys = bidKeys(context).get(orderKey(id)) ?? [];
  const all = keys.map((key) => bids(context).get(key)).filter((bid) => bid !== undefined);
  return all.filter(({ state }) => states.includes(state));
}

export function writeOrder({ id, state, spec, createdAt, reclamation }: Order): WireOrder {
  const known = WireOrderCodec.fromPartial({ id: writeId(orderOf(id)), state: orderStates[state], createdAt });
  return { ...known, spec, reclamation };
}

export function writeBid({ id, state, price, createdAt, resourcesOffer, reclamationWindowNs }: Bid): WireBid {
  const known = WireBidCodec.fromPartial({
    id: writeId(id),
    state: bidStates[state],
    price: writePrice(price),
    createdAt,
  });
  return { ...known, resourcesOffer: [...resourcesOffer], reclamationWindowNs };
}

export function writeLease({ id, state, price, createdAt, closedOn, reason, reclamation }: Lease): WireLease {
  const known = WireLeaseCodec.fromPartial({
    id: writeId(id),
    state: leaseStates[state] as number,
    price: writePrice(price),
    createdAt,
    closedOn,
    reason,
  });
  return { ...known, reclamation };
}
