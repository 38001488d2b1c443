/** Messages with the reclamation fields that the npm package lacks, the query answers that hold them, and 64-bit numbers. */

import {
  Deployment as DeploymentCodec,
  type DeploymentID,
  Types_Account as EscrowAccount,
  Types_Payment as EscrowPayment,
  Lease as LeaseCodec,
  LeaseID,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  Group,
  MsgCreateDeployment as MsgCreateDeploymentCodec,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  Bid as BidCodec,
  MsgCreateBid as MsgCreateBidCodec,
  Order as OrderCodec,
  Params,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
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

export const msgLeaseStartReclaim = messageOf({ id: optional(1, generated(LeaseID)), reason: int32(2) });

/** How long a tenant wants to be told before a provider takes the resources back. */
const deploymentReclamation = messageOf({ minWindowNs: required(1, nanoseconds, 0n) });
export type DeploymentReclamation = Decoded<typeof deploymentReclamation>;

const demand = { reclamation: optional(5, deploymentReclamation) };

export const deployment = extended(DeploymentCodec, demand);
export type WireDeployment = Decoded<typeof deployment>;

export const msgCreateDeployment = extended(MsgCreateDeploymentCodec, demand);
export type MsgCreateDeployment = Decoded<typeof msgCreateDeployment>;

export const order = extended(OrderCodec, demand);
export type WireOrder = Decoded<typeof order>;

export const bid = extended(BidCodec, { reclamationWindowNs: optional(6, nanoseconds) });
export type WireBid = Decoded<typeof bid>;

export const msgCreateBid = extended(MsgCreateBidCodec, { reclamationWindowNs: optional(5, nanoseconds) });
export type MsgCreateBid = Decoded<typeof msgCreateBid>;

/** `startedAt` is a height and `deadline` in seconds since the epoch; both are 0 until it has started. */
const leaseReclamation = messageOf({
  windowNs: required(1, nanoseconds, 0n),
  startedAt: int64(2),
  deadline: int64(3),
  reason: int32(4),
});
export type LeaseReclamation = Decoded<typeof leaseReclamation>;

export const lease = extended(LeaseCodec, { reclamation: optional(7, leaseReclamation) });
export type WireLease = Decoded<typeof lease>;

export const marketParams = extended(Params, {
  minReclamationWindowNs: required(4, nanoseconds, 0n),
  maxReclamationWindowNs: required(5, nanoseconds, 0n),
});
export type MarketParams = Decoded<typeof marketParams>;

// The answers to queries about deployments and the market, with everything that reclamation adds to what they hold.

const pagination = optional(2, generated(PageResponse));

export const queryDeploymentResponse = messageOf({
  deployment: optional(1, deployment),
  groups: repeated(2, generated(Group)),
  escrowAccount: optional(3, generated(EscrowAccount)),
});
export type QueryDeploymentResponse = Decoded<typeof queryDeploymentResponse>;

export const queryDeploymentsResponse = messageOf({ deployments: repeated(1, queryDeploymentResponse), pagination });

export const queryOrderResponse = messageOf({ order: optional(1, order) });

export const queryOrdersResponse = messageOf({ orders: repeated(1, order), pagination });

export const queryBidResponse = messageOf({
  bid: optional(1, bid),
  escrowAccount: optional(2, generated(EscrowAccount)),
});
export type QueryBidResponse = Decoded<typeof queryBidResponse>;

export const queryBidsResponse = messageOf({ bids: repeated(1, queryBidResponse), pagination });

export const queryLeaseResponse = messageOf({
  lease: optional(1, lease),
  escrowPayment: optional(2, generated(EscrowPayment)),
});
export type QueryLeaseResponse = Decoded<typeof queryLeaseResponse>;

export const queryLeasesResponse = messageOf({ leases: repeated(1, queryLeaseResponse), pagination });

export const queryMarketParamsResponse = messageOf({ params: optional(1, marketParams) });

// 64-bit numbers between the npm codecs and us, and the ids that hold one.

export type Wire64 = DeploymentID["dseq"];

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
