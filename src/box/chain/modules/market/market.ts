/** How orders, bids and leases come and go; each step says so in an event. */
import { LeaseClosedReason } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { GroupSpec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import type { DeploymentReclamation } from "../../../../chain/codec/reclamation.ts";
import type { DecCoin } from "../../../../market/coin.ts";
import { formatDecimal } from "../../../../market/decimal.ts";
import { type BidId, type GroupId, groupOf, orderOf } from "../../../../market/ids.ts";
import { uncoded } from "../../codespace.ts";
import { type EventValue, typedEvent } from "../../events.ts";
import type { Context } from "../../module.ts";
import type { Group } from "../deployment/records.ts";
import type { Escrow } from "../escrow/escrow.ts";
import { bidAccount, leasePayment } from "../escrow/ids.ts";
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

export interface Market {
  createOrder(context: Context, id: GroupId, spec: GroupSpec, reclamation: DeploymentReclamation | undefined): void;
  closeOrder(context: Context, order: Order): void;
  createBid(context: Context, bid: Bid): void;
  /** Gives the deposit back, unless the bid has ended before. */
  closeBid(context: Context, bid: Bid): void;
  loseBid(context: Context, bid: Bid): void;
  /** The order is taken by this bid. */
  createLease(context: Context, order: Order, bid: Bid): void;
  startReclaim(context: Context, lease: Lease, windowNs: bigint, reason: number): void;
  closeLease(context: Context, lease: Lease, state: "closed" | "insufficient_funds", reason: number): void;
  endGroup(context: Context, id: GroupId, state: Group["state"]): void;
}

const nsPerSecond = 1_000_000_000n;

export function createMarket(escrow: Escrow): Market {
  const market: Market = {
    createOrder(context, id, spec, reclamation) {
      const before = ordersOf(context, id);
      if (before.some(({ state }) => state !== "closed")) {
        throw uncoded("order active: create order: active order exists");
      }
      const order: Order = {
        id: { ...groupOf(id), oseq: before.length + 1 },
        state: "open",
        spec,
        createdAt: context.height,
        reclamation,
      };
      saveOrder(context, order);
      emit(context, "EventOrderCreated", { id: { ...order.id } });
    },

    closeOrder(context, order) {
      if (order.state === "closed") return;
      saveOrder(context, { ...order, state: "closed" });
      emit(context, "EventOrderClosed", { id: { ...order.id } });
    },

    createBid(context, bid) {
      addBid(context, bid);
      emit(context, "EventBidCreated", { id: eventId(bid.id), price: eventPrice(bid.price) });
    },

    closeBid(context, bid) {
      if (bid.state === "closed" || bid.state === "lost") return;
      saveBid(context, { ...bid, state: "closed" });
      escrow.closeAccount(context, bidAccount(bid.id));
      emit(context, "EventBidClosed", { id: eventId(bid.id) });
    },

    loseBid(context, bid) {
      saveBid(context, { ...bid, state: "lost" });
      escrow.closeAccount(context, bidAccount(bid.id));
    },

    createLease(context, order, bid) {
      const { id, price, reclamationWindowNs } = bid;
      saveLease(context, {
        id,
        state: "active",
        price,
        createdAt: context.height,
        closedOn: 0n,
        reason: LeaseClosedReason.lease_closed_invalid,
        reclamation:
          reclamationWindowNs === undefined
            ? undefined
            : { windowNs: reclamationWindowNs, startedAt: 0n, deadline: 0n, reason: 0 },
      });
      emit(context, "EventLeaseCreated", { id: eventId(id), price: eventPrice(price) });
      saveOrder(context, { ...order, state: "active" });
      saveBid(context, { ...bid, state: "active" });
    },

    startReclaim(context, lease, windowNs, reason) {
      const deadline = (context.timeNs + windowNs) / nsPerSecond;
      const reclamation = { windowNs, startedAt: context.height, deadline, reason };
      saveLease(context, { ...lease, state: "reclaiming", reclamation });
      emit(context, "EventLeaseReclaimStarted", { id: eventId(lease.id), reason: eventReason(reason), deadline });
    },

    closeLease(context, lease, state, reason) {
      if (lease.state === "closed" || lease.state === "insufficient_funds") return;
      saveLease(context, { ...lease, state, closedOn: context.height, reason });
      emit(context, "EventLeaseClosed", { id: eventId(lease.id), reason: eventReason(reason) });
    },

    endGroup(context, id, state) {
      const all = ordersOf(context, id);
      const open = all.filter((order) => order.state === "open");
      for (const order of [...all.filter((order) => order.state === "active"), ...open]) {
        market.closeOrder(context, order);
        for (const bid of bidsOf(context, order.id, "open")) endBid(context, bid, state);
        if (order.state === "active")
          for (const bid of bidsOf(context, order.id, "active")) endBid(context, bid, state);
      }
    },
  };

  function endBid(context: Context, bid: Bid, state: Group["state"]): void {
    market.closeBid(context, bid);
    const lease = findLease(context, bid.id);
    if (!lease) return;
    if (state === "insufficient_funds") {
      market.closeLease(context, lease, state, LeaseClosedReason.lease_closed_reason_insufficient_funds);
    } else market.closeLease(context, lease, "closed", LeaseClosedReason.lease_closed_owner);
    // When the account itself has ended, the payment ends with it and cannot be closed once more.
    escrow.closePayment(context, leasePayment(lease.id));
  }

  return market;
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
