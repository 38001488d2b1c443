/**
 * What the chain knows about reclaiming a lease and its npm package does not: the tenant's demand on a deployment and
 * its orders, the provider's offer on a bid, the course of it on the lease, and the message that starts it.
 */
import {
  Deployment as DeploymentCodec,
  Lease as LeaseCodec,
  LeaseID,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { MsgCreateDeployment as MsgCreateDeploymentCodec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  Bid as BidCodec,
  MsgCreateBid as MsgCreateBidCodec,
  Order as OrderCodec,
  Params,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import {
  type Decoded,
  extended,
  generated,
  int32,
  int64,
  messageOf,
  nanoseconds,
  optional,
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
