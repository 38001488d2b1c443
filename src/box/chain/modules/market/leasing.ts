/** How a lease begins, is reclaimed and ends. The checks stand in the chain's order, which decides what is reported. */
import { LeaseClosedReason } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { BidId, LeaseId } from "../../../../market/ids.ts";
import type { Context } from "../../module.ts";
import { pauseGroup } from "../deployment/lifecycle.ts";
import { findGroup, type Group } from "../deployment/records.ts";
import { deploymentRefusal } from "../deployment/refusals.ts";
import type { Escrow } from "../escrow/escrow.ts";
import { leasePayment } from "../escrow/ids.ts";
import type { Market } from "./market.ts";
import { type Bid, bidsOf, findBid, findLease, findOrder, type Lease, type Order } from "./records.ts";
import { marketRefusal } from "./refusals.ts";

export interface Leasing {
  readonly market: Market;
  readonly escrow: Escrow;
}

const nsPerSecond = 1_000_000_000n;

/**
 * The tenant takes a bid. The others have lost, but the chain goes no further than the first of them, by the text of the
 * provider's address: what it runs when an account is closed fails for that of a bid, after the refund, and ends the
 * loop. The later losers stay open, their deposits locked, until they are closed or the group ends.
 */
export function createLease(context: Context, id: BidId, { market, escrow }: Leasing): void {
  const bid = must(findBid(context, id), "bidNotFound");
  if (bid.state !== "open") throw marketRefusal("bidNotOpen");
  const order = must(findOrder(context, id), "orderNotFound");
  if (order.state !== "open") throw marketRefusal("orderNotOpen");
  const group = must(findGroup(context, id), "groupNotFound");
  if (group.state !== "open") throw marketRefusal("groupNotOpen");
  escrow.createPayment(context, leasePayment(id), id.provider, bid.price);
  market.createLease(context, order, bid);
  const [firstLoser] = bidsOf(context, id, "open");
  if (firstLoser) market.loseBid(context, firstLoser);
}

/** The provider ends a bid. When it has become a lease, the lease ends too and the group waits for its tenant. */
export function closeBid(context: Context, id: BidId, reason: number, { market, escrow }: Leasing): void {
  const bid = must(findBid(context, id), "unknownBid");
  const order = must(findOrder(context, id), "unknownOrderForBid");
  if (bid.state === "open") {
    market.closeBid(context, bid);
    return;
  }
  const lease = must(findLease(context, id), "unknownLeaseForBid");
  checkProviderMayClose(context, lease);
  if (bid.state !== "active") throw marketRefusal("bidNotActive");
  pauseGroup(context, groupAt(context, id));
  endLease(context, market, { lease, bid, order, reason });
  // Whatever keeps the payment from being closed, the lease has ended.
  escrow.closePayment(context, leasePayment(id));
}

/** The tenant ends a lease and looks for another provider at once: the group stays open and gets a new order. */
export function closeLease(context: Context, id: LeaseId, { market, escrow }: Leasing): void {
  const order = must(findOrder(context, id), "orderNotFound");
  if (order.state !== "active") throw marketRefusal("orderClosed");
  const bid = must(findBid(context, id), "bidNotFound");
  if (bid.state !== "active") throw marketRefusal("bidNotActive");
  const lease = must(findLease(context, id), "leaseNotFound");
  if (lease.state !== "active" && lease.state !== "reclaiming") throw marketRefusal("orderClosed");
  endLease(context, market, { lease, bid, order, reason: LeaseClosedReason.lease_closed_owner });
  const refusal = escrow.closePayment(context, leasePayment(id));
  if (refusal) throw refusal;
  const group = groupAt(context, id);
  if (group.state === "open") market.createOrder(context, group.id, group.spec, order.reclamation);
}

export function startReclaim(context: Context, id: LeaseId, reason: number, { market }: Leasing): void {
  const lease = must(findLease(context, id), "unknownLease");
  if (lease.state !== "active") throw marketRefusal("leaseNotActive");
  if (!lease.reclamation) throw marketRefusal("leaseNotReclaimable");
  market.startReclaim(context, lease, lease.reclamation.windowNs, reason);
}

export function withdrawLease(context: Context, id: LeaseId, { escrow }: Leasing): void {
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

interface Ending {
  readonly lease: Lease;
  readonly bid: Bid;
  readonly order: Order;
  readonly reason: number;
}

function endLease(context: Context, market: Market, { lease, bid, order, reason }: Ending): void {
  market.closeLease(context, lease, "closed", reason);
  market.closeBid(context, bid);
  market.closeOrder(context, order);
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
