/** Messages with the reclamation fields that the npm package lacks, the query answers that hold them, and 64-bit numbers. */

import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1";
import * as beta4 from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import * as beta5 from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { PageResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { DeploymentId } from "../../market/ids.ts";
import {
  type Decoded,
  extended,
  generated,
  int32,
  int64,
  messageOf,
  nanoseconds,
  optional,
  repeated,
  required,
} from "../../runtime/protobuf.ts";

/** The npm package stops at closed. */
export const leaseReclaiming = 4;

export const msgLeaseStartReclaimType = "/akash.market.v1beta5.MsgLeaseStartReclaim";

export const msgLeaseStartReclaim = messageOf({ id: optional(1, generated(akash.LeaseID)), reason: int32(2) });

/** Notice period that a tenant requires before a provider reclaims the resources. */
const deploymentReclamation = messageOf({ minWindowNs: required(1, nanoseconds, 0n) });
export type DeploymentReclamation = Decoded<typeof deploymentReclamation>;

const demand = { reclamation: optional(5, deploymentReclamation) };

export const deployment = extended(akash.Deployment, demand);
export type WireDeployment = Decoded<typeof deployment>;

export const msgCreateDeployment = extended(beta4.MsgCreateDeployment, demand);
export type MsgCreateDeployment = Decoded<typeof msgCreateDeployment>;

export const order = extended(beta5.Order, demand);
export type WireOrder = Decoded<typeof order>;

export const bid = extended(beta5.Bid, { reclamationWindowNs: optional(6, nanoseconds) });
export type WireBid = Decoded<typeof bid>;

export const msgCreateBid = extended(beta5.MsgCreateBid, { reclamationWindowNs: optional(5, nanoseconds) });
export type MsgCreateBid = Decoded<typeof msgCreateBid>;

/** `startedAt` is a height and `deadline` in seconds since the epoch; both are 0 until it has started. */
const leaseReclamation = messageOf({
  windowNs: required(1, nanoseconds, 0n),
  startedAt: int64(2),
  deadline: int64(3),
  reason: int32(4),
});
export type LeaseReclamation = Decoded<typeof leaseReclamation>;

export const lease = extended(akash.Lease, { reclamation: optional(7, leaseReclamation) });
export type WireLease = Decoded<typeof lease>;

export const marketParams = extended(beta5.Params, {
  minReclamationWindowNs: required(4, nanoseconds, 0n),
  maxReclamationWindowNs: required(5, nanoseconds, 0n),
});
export type MarketParams = Decoded<typeof marketParams>;

// The answers to queries about deployments and the market, with everything that reclamation adds to what they hold.

const pagination = optional(2, generated(PageResponse));

export const queryDeploymentResponse = messageOf({
  deployment: optional(1, deployment),
  groups: repeated(2, generated(beta4.Group)),
  escrowAccount: optional(3, generated(akash.Types_Account)),
});
export type QueryDeploymentResponse = Decoded<typeof queryDeploymentResponse>;

export const queryDeploymentsResponse = messageOf({ deployments: repeated(1, queryDeploymentResponse), pagination });

export const queryOrderResponse = messageOf({ order: optional(1, order) });

export const queryOrdersResponse = messageOf({ orders: repeated(1, order), pagination });

export const queryBidResponse = messageOf({
  bid: optional(1, bid),
  escrowAccount: optional(2, generated(akash.Types_Account)),
});
export type QueryBidResponse = Decoded<typeof queryBidResponse>;

export const queryBidsResponse = messageOf({ bids: repeated(1, queryBidResponse), pagination });

export const queryLeaseResponse = messageOf({
  lease: optional(1, lease),
  escrowPayment: optional(2, generated(akash.Types_Payment)),
});
export type QueryLeaseResponse = Decoded<typeof queryLeaseResponse>;

export const queryLeasesResponse = messageOf({ leases: repeated(1, queryLeaseResponse), pagination });

export const queryMarketParamsResponse = messageOf({ params: optional(1, marketParams) });

// 64-bit numbers between the npm codecs and us, and the ids that hold one.

export type Wire64 = akash.DeploymentID["dseq"];

export function readUint64(wire: Wire64 | undefined): bigint {
  return wire ? BigInt.asUintN(64, wire.toBigInt()) : 0n;
}

export function readInt64(wire: Wire64): bigint {
  return BigInt.asIntN(64, wire.toBigInt());
}

/** The codecs take whatever looks like their 64-bit number; given a bigint they would take it for a signed one. */
export function writeUint64(value: bigint): Wire64 {
  const [low, high] = [Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n))];
  return { low, high, unsigned: true } as Wire64;
}

/** For `fromPartial` of the codec of this id. */
export function writeId<Id extends DeploymentId>(id: Id): Omit<Id, "dseq"> & { dseq: Wire64 } {
  return { ...id, dseq: writeUint64(id.dseq) };
}
