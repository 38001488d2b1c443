/** What a block means for the mirror: which of its things must be read again, and which are gone. */
import type { Address } from "../../../market/address.ts";
import {
  type BidId,
  type DeploymentId,
  deploymentOf,
  formatBidId,
  formatDeploymentId,
  formatOrderId,
  type LeaseId,
  type OrderId,
  orderOf,
} from "../../../market/ids.ts";
import type { ChainBlock, MarketEvent } from "../../block.ts";
import type { MirrorKey } from "../../chain.ts";
import type { MirrorState } from "./mirror-state.ts";

export interface MirrorChanges {
  /** To be read, by the text of the id. */
  readonly orders: Map<string, OrderId>;
  readonly bids: Map<string, BidId>;
  readonly leases: Map<string, LeaseId>;
  readonly deployments: Map<string, DeploymentId>;
  /** Coins of ours came or went. */
  readonly coinsMoved: boolean;
  /** Orders never open again, so these need not be read. */
  readonly endedOrders: Set<string>;
  /** Everything that somebody might want to look at now. */
  readonly keys: MirrorKey[];
}

/** What the mirror knows at this time. */
export interface Known {
  readonly provider: Address;
  readonly state: MirrorState;
  /** It is ahead of the block, so a bid that the block ended is no longer in it. */
  readonly isAhead: boolean;
}

export function changesOf(block: ChainBlock, known: Known): MirrorChanges {
  const changes: MirrorChanges = {
    orders: new Map(),
    bids: new Map(),
    leases: new Map(),
    deployments: new Map(),
    coinsMoved: block.coinsMovedOf.has(known.provider),
    endedOrders: new Set(),
    keys: [],
  };
  for (const { event } of block.events) note(event, changes, known);
  return changes;
}

function note(event: MarketEvent, changes: MirrorChanges, { provider, state, isAhead }: Known): void {
  switch (event.kind) {
    case "OrderCreated":
      noteOrder(event.id, changes);
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
      // The losers are not told: our bid on that order, if there is one, is another thing now.
      const ours: BidId = { ...event.id, provider, bseq: 0 };
      const mayBe = isAhead || state.bids.has(formatBidId(ours)) || changes.bids.has(formatBidId(ours));
      if (event.id.provider === provider) noteLease(event.id, changes);
      else if (mayBe) noteBid(ours, changes);
      break;
    }
    case "LeaseClosed":
    case "LeaseReclaimStarted":
      if (event.id.provider === provider) noteLease(event.id, changes);
      break;
    case "DeploymentUpdated":
    case "DeploymentClosed":
    case "GroupStarted":
    case "GroupPaused":
    case "GroupClosed":
      if (state.deployments.has(formatDeploymentId(event.id))) noteDeployment(event.id, changes);
      break;
    case "ProviderCreated":
    case "ProviderUpdated":
    case "ProviderDeleted":
    case "TrustedAuditorCreated":
    case "TrustedAuditorDeleted":
      if (event.owner === provider) changes.keys.push({ kind: "provider", key: provider });
      break;
    case "DeploymentCreated":
      break;
  }
}

function noteOrder(id: OrderId, { orders, keys }: MirrorChanges): void {
  const key = formatOrderId(id);
  orders.set(key, id);
  keys.push({ kind: "order", key });
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
