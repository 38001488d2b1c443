/** How orders, bids and leases come and go, step by step; each step says so in an event. */
import { LeaseClosedReason } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { GroupSpec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import type { DeploymentReclamation } from "../../../../chain/codec/wire-messages.ts";
import type { DecCoin } from "../../../../market/coin.ts";
import { formatDecimal } from "../../../../market/decimal.ts";
import { bidAccount, leasePayment } from "../../../../market/escrow-arithmetic.ts";
import { type BidId, type GroupId, groupOf, orderOf } from "../../../../market/ids.ts";
import { uncoded } from "../../errors.ts";
import { type EventValue, typedEvent } from "../../events.ts";
import type { Context } from "../../module.ts";
import type { Group } from "../deployment/records.ts";
import type { Escrow } from "../escrow/escrow.ts";
import {
  addBid,
  type Bid,
  bidsOf,
  findLease,
  type Lease,
  type Order,
  ordersOf,
  saveBid,
  saveLease,
  saveOrder,
} from "./records.ts";

const nsPerSecond = 1_000_000_000n;

export function openOrder(
  context: Context,
  id: GroupId,
  spec: GroupSpec,
  reclamation: DeploymentReclamation | undefined,
): void {
  const before = ordersOf(context, id);
  if (before.some(({ state }) => state !== "closed")) throw uncoded("order active: create order: active order exists");
  const orderId = { ...groupOf(id), oseq: before.length + 1 };
  saveOrder(context, { id: orderId, state: "open", spec, createdAt: context.height, reclamation });
  emit(context, "EventOrderCreated", { id: orderId });
}

export function closeOrder(context: Context, order: Order): void {
  if (order.state === "closed") return;
  saveOrder(context, { ...order, state: "closed" });
  emit(context, "EventOrderClosed", { id: { ...order.id } });
}

export function openBid(context: Context, bid: Bid): void {
  addBid(context, bid);
  emit(context, "EventBidCreated", { id: eventId(bid.id), price: eventPrice(bid.price) });
}

/** Gives the deposit back, unless the bid has ended before. */
export function closeBid(context: Context, escrow: Escrow, bid: Bid): void {
  if (bid.state === "closed" || bid.state === "lost") return;
  saveBid(context, { ...bid, state: "closed" });
  escrow.closeAccount(context, bidAccount(bid.id));
  emit(context, "EventBidClosed", { id: eventId(bid.id) });
}

export function loseBid(context: Context, escrow: Escrow, bid: Bid): void {
  saveBid(context, { ...bid, state: "lost" });
  escrow.closeAccount(context, bidAccount(bid.id));
}

/** The order is taken by this bid. */
export function openLease(context: Context, order: Order, bid: Bid): void {
  const { id, price, reclamationWindowNs: windowNs } = bid;
  saveLease(context, {
    id,
    state: "active",
    price,
    createdAt: context.height,
    closedOn: 0n,
    reason: LeaseClosedReason.lease_closed_invalid,
    reclamation: windowNs === undefined ? undefined : { windowNs, startedAt: 0n, deadline: 0n, reason: 0 },
  });
  emit(context, "EventLeaseCreated", { id: eventId(id), price: eventPrice(price) });
  saveOrder(context, { ...order, state: "active" });
  saveBid(context, { ...bid, state: "active" });
}

export function reclaimLease(context: Context, lease: Lease, windowNs: bigint, reason: number): void {
  const deadline = (context.timeNs + windowNs) / nsPerSecond;
  const reclamation = { windowNs, startedAt: context.height, deadline, reason };
  saveLease(context, { ...lease, state: "reclaiming", reclamation });
  emit(context, "EventLeaseReclaimStarted", { id: eventId(lease.id), reason: eventReason(reason), deadline });
}

export function endLease(context: Context, lease: Lease, state: "closed" | "insufficient_funds", reason: number): void {
  if (lease.state === "closed" || lease.state === "insufficient_funds") return;
  saveLease(context, { ...lease, state, closedOn: context.height, reason });
  emit(context, "EventLeaseClosed", { id: eventId(lease.id), reason: eventReason(reason) });
}

/** Ends every order, bid and lease of a group that is now in this state. */
export function endGroup(context: Context, escrow: Escrow, id: GroupId, state: Group["state"]): void {
  const all = ordersOf(context, id);
  const open = all.filter((order) => order.state === "open");
  for (const order of [...all.filter((order) => order.state === "active"), ...open]) {
    closeOrder(context, order);
    for (const bid of bidsOf(context, order.id, "open")) endBid(context, escrow, bid, state);
    if (order.state !== "active") continue;
    for (const bid of bidsOf(context, order.id, "active")) endBid(context, escrow, bid, state);
  }
}

function endBid(context: Context, escrow: Escrow, bid: Bid, state: Group["state"]): void {
  closeBid(context, escrow, bid);
  const lease = findLease(context, bid.id);
  if (!lease) return;
  if (state === "insufficient_funds") {
    endLease(context, lease, state, LeaseClosedReason.lease_closed_reason_insufficient_funds);
  } else endLease(context, lease, "closed", LeaseClosedReason.lease_closed_owner);
  // When the account itself has ended, the payment ends with it and cannot be closed once more.
  escrow.closePayment(context, leasePayment(lease.id));
}

function emit(context: Context, event: string, fields: Record<string, EventValue>): void {
  context.emit(typedEvent(`akash.market.v1.${event}`, fields));
}

function eventId(id: BidId): EventValue {
  return { ...orderOf(id), provider: id.provider, bseq: id.bseq };
}

function eventPrice({ denom, amount }: DecCoin): EventValue {
  return { denom, amount: formatDecimal(amount) };
}

/** Reasons that the chain has no name for are written as their number. */
function eventReason(reason: number): EventValue {
  return LeaseClosedReason[reason] ?? reason;
}
