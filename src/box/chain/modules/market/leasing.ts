/** How a lease is paid, reclaimed and ended. The checks stand in the chain's order, which decides what is reported. */
import { LeaseClosedReason } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { leasePayment } from "../../../../market/escrow-arithmetic.ts";
import type { BidId, LeaseId } from "../../../../market/ids.ts";
import type { Context } from "../../module.ts";
import { deploymentError } from "../deployment/errors.ts";
import { changeGroup, findGroup, type Group } from "../deployment/records.ts";
import type { Escrow } from "../escrow/escrow.ts";
import { marketError, must } from "./errors.ts";
import { closeBid, closeOrder, endLease, openOrder, reclaimLease } from "./market.ts";
import { findBid, findLease, findOrder, type Lease } from "./records.ts";

const nsPerSecond = 1_000_000_000n;

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
  if (bid.state !== "active") throw marketError("bidNotActive");
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
  if (order.state !== "active") throw marketError("orderClosed");
  const bid = must(findBid(context, id), "bidNotFound");
  if (bid.state !== "active") throw marketError("bidNotActive");
  const lease = must(findLease(context, id), "leaseNotFound");
  if (lease.state !== "active" && lease.state !== "reclaiming") throw marketError("orderClosed");
  endLease(context, lease, "closed", LeaseClosedReason.lease_closed_owner);
  closeBid(context, escrow, bid);
  closeOrder(context, order);
  const error = escrow.closePayment(context, leasePayment(id));
  if (error) throw error;
  const group = groupAt(context, id);
  if (group.state === "open") openOrder(context, group.id, group.spec, order.reclamation);
}

export function startReclaim(context: Context, id: LeaseId, reason: number): void {
  const lease = must(findLease(context, id), "unknownLease");
  if (lease.state !== "active") throw marketError("leaseNotActive");
  if (!lease.reclamation) throw marketError("leaseNotReclaimable");
  reclaimLease(context, lease, lease.reclamation.windowNs, reason);
}

export function withdrawLease(context: Context, id: LeaseId, escrow: Escrow): void {
  must(findLease(context, id), "unknownLease");
  escrow.withdraw(context, leasePayment(id));
}

/** With reclamation agreed, a provider must announce it and wait. Nothing closes the lease by itself after that. */
function checkProviderMayClose(context: Context, { state, reclamation }: Lease): void {
  if (state === "active") {
    if (reclamation) throw marketError("reclamationNotStarted");
  } else if (state === "reclaiming") {
    const now = context.timeNs / nsPerSecond;
    if (reclamation && now < reclamation.deadline) throw marketError("reclamationWindowNotElapsed");
  } else throw marketError("leaseNotActive");
}

function groupAt(context: Context, id: LeaseId): Group {
  const group = findGroup(context, id);
  if (!group) throw deploymentError("groupNotFound");
  return group;
}
