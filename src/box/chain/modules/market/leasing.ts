/** How a lease begins, is reclaimed and ends. The checks stand in the chain's order, which decides what is reported. */
import { LeaseClosedReason } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { BidId, LeaseId, OrderId } from "../../../../market/ids.ts";
import type { Context } from "../../module.ts";
import { changeGroup, findGroup, type Group } from "../deployment/records.ts";
import { deploymentRefusal } from "../deployment/refusals.ts";
import type { Escrow } from "../escrow/escrow.ts";
import { leasePayment } from "../escrow/ids.ts";
import { closeBid, closeOrder, endLease, loseBid, openLease, openOrder, reclaimLease } from "./market.ts";
import { bidsOf, findBid, findLease, findOrder, type Lease } from "./records.ts";
import { marketRefusal } from "./refusals.ts";

const nsPerSecond = 1_000_000_000n;

/** MsgCreateLease: the tenant takes a bid, and the others have lost. */
export function acceptBid(context: Context, id: BidId, escrow: Escrow): void {
  const bid = must(findBid(context, id), "bidNotFound");
  if (bid.state !== "open") throw marketRefusal("bidNotOpen");
  const order = must(findOrder(context, id), "orderNotFound");
  if (order.state !== "open") throw marketRefusal("orderNotOpen");
  const group = must(findGroup(context, id), "groupNotFound");
  if (group.state !== "open") throw marketRefusal("groupNotOpen");
  escrow.createPayment(context, leasePayment(id), id.provider, bid.price);
  openLease(context, order, bid);
  loseOtherBids(context, id, escrow);
}

/**
 * The chain goes no further than the first of the losers, by the text of the provider's address: what it runs when an
 * account is closed fails for that of a bid, after the refund, and ends the loop. The later losers stay open, their
 * deposits locked, until they are closed or the group ends.
 */
function loseOtherBids(context: Context, id: OrderId, escrow: Escrow): void {
  const [firstLoser] = bidsOf(context, id, "open");
  if (firstLoser) loseBid(context, escrow, firstLoser);
}

/** MsgCloseBid: the provider ends a bid. When it has become a lease, that ends too and the group waits for its tenant. */
export function withdrawBid(context: Context, id: BidId, reason: number, escrow: Escrow): void {
  const bid = must(findBid(context, id), "unknownBid");
  const order = must(findOrder(context, id), "unknownOrderForBid");
  if (bid.state === "open") {
    closeBid(context, escrow, bid);
    return;
  }
  const lease = must(findLease(context, id), "unknownLeaseForBid");
  checkProviderMayClose(context, lease);
  if (bid.state !== "active") throw marketRefusal("bidNotActive");
  changeGroup(context, groupAt(context, id), "paused", "Paused");
  endLease(context, lease, "closed", reason);
  closeBid(context, escrow, bid);
  closeOrder(context, order);
  // Whatever keeps the payment from being closed, the lease has ended.
  escrow.closePayment(context, leasePayment(id));
}

/** MsgCloseLease: the tenant looks for another provider at once, so the group stays open and gets a new order. */
export function cancelLease(context: Context, id: LeaseId, escrow: Escrow): void {
  const order = must(findOrder(context, id), "orderNotFound");
  if (order.state !== "active") throw marketRefusal("orderClosed");
  const bid = must(findBid(context, id), "bidNotFound");
  if (bid.state !== "active") throw marketRefusal("bidNotActive");
  const lease = must(findLease(context, id), "leaseNotFound");
  if (lease.state !== "active" && lease.state !== "reclaiming") throw marketRefusal("orderClosed");
  endLease(context, lease, "closed", LeaseClosedReason.lease_closed_owner);
  closeBid(context, escrow, bid);
  closeOrder(context, order);
  const refusal = escrow.closePayment(context, leasePayment(id));
  if (refusal) throw refusal;
  const group = groupAt(context, id);
  if (group.state === "open") openOrder(context, group.id, group.spec, order.reclamation);
}

export function startReclaim(context: Context, id: LeaseId, reason: number): void {
  const lease = must(findLease(context, id), "unknownLease");
  if (lease.state !== "active") throw marketRefusal("leaseNotActive");
  if (!lease.reclamation) throw marketRefusal("leaseNotReclaimable");
  reclaimLease(context, lease, lease.reclamation.windowNs, reason);
}

export function withdrawLease(context: Context, id: LeaseId, escrow: Escrow): void {
  must(findLease(context, id), "unknownLease");
  escrow.withdraw(context, leasePayment(id));
}

/** With reclamation agreed, a provider must announce it and wait. Nothing closes the lease by itself after that. */
function checkProviderMayClose(context: Context, { state, reclamation }: Lease): void {
  if (state === "active") {
    if (reclamation) throw marketRefusal("reclamationNotStarted");
  } else if (state === "reclaiming") {
    const now = context.timeNs / nsPerSecond;
    if (reclamation && now < reclamation.deadline) throw marketRefusal("reclamationWindowNotElapsed");
  } else throw marketRefusal("leaseNotActive");
}

function groupAt(context: Context, id: LeaseId): Group {
  const group = findGroup(context, id);
  if (!group) throw deploymentRefusal("groupNotFound");
  return group;
}

function must<T>(found: T | undefined, refusal: Parameters<typeof marketRefusal>[0]): T {
  if (found === undefined) throw marketRefusal(refusal);
  return found;
}
