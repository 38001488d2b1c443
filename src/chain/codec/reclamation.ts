/**
 * What the chain knows about reclaiming a lease and its npm package does not: the tenant's demand on a deployment and
 * its orders, the provider's offer on a bid, the course of it on the lease, and the message that starts it.
 */
import {
  Deployment as DeploymentCodec,
  Lease as LeaseCodec,
  LeaseID as LeaseIDCodec,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { MsgCreateDeployment as MsgCreateDeploymentCodec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  Bid as BidCodec,
  MsgCreateBid as MsgCreateBidCodec,
  Order as OrderCodec,
  Params as ParamsCodec,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { duration } from "./duration.ts";
import { type Codec, extended, generated, int32, int64, messageOf, optional, required } from "./message.ts";

/** The npm package stops at closed. */
export const leaseReclaiming = 4;

/** How long a tenant wants to be told before a provider takes the resources back. */
export interface DeploymentReclamation {
  minWindowNs: bigint;
}

export interface LeaseReclamation {
  windowNs: bigint;
  /** Height; 0 until it has started. */
  startedAt: bigint;
  /** In seconds since the epoch; 0 until it has started. */
  deadline: bigint;
  reason: number;
}

export interface MsgLeaseStartReclaim {
  id: LeaseIDCodec | undefined;
  reason: number;
}

export const deploymentReclamation: Codec<DeploymentReclamation> = messageOf({
  minWindowNs: required(1, duration, 0n),
});

export const leaseReclamation: Codec<LeaseReclamation> = messageOf({
  windowNs: required(1, duration, 0n),
  startedAt: int64(2),
  deadline: int64(3),
  reason: int32(4),
});

export const msgLeaseStartReclaimType = "/akash.market.v1beta5.MsgLeaseStartReclaim";

export const msgLeaseStartReclaim: Codec<MsgLeaseStartReclaim> = messageOf({
  id: optional(1, generated(LeaseIDCodec)),
  reason: int32(2),
});

interface Demand {
  reclamation: DeploymentReclamation | undefined;
}

interface Offer {
  reclamationWindowNs: bigint | undefined;
}

export type Deployment = DeploymentCodec & Demand;
export type MsgCreateDeployment = MsgCreateDeploymentCodec & Demand;
export type Order = OrderCodec & Demand;
export type Bid = BidCodec & Offer;
export type MsgCreateBid = MsgCreateBidCodec & Offer;
export type Lease = LeaseCodec & { reclamation: LeaseReclamation | undefined };
export type MarketParams = ParamsCodec & { minReclamationWindowNs: bigint; maxReclamationWindowNs: bigint };

export const deployment: Codec<Deployment> = extended(generated(DeploymentCodec), {
  reclamation: optional(5, deploymentReclamation),
});

export const msgCreateDeployment: Codec<MsgCreateDeployment> = extended(generated(MsgCreateDeploymentCodec), {
  reclamation: optional(5, deploymentReclamation),
});

export const order: Codec<Order> = extended(generated(OrderCodec), {
  reclamation: optional(5, deploymentReclamation),
});

export const bid: Codec<Bid> = extended(generated(BidCodec), { reclamationWindowNs: optional(6, duration) });

export const msgCreateBid: Codec<MsgCreateBid> = extended(generated(MsgCreateBidCodec), {
  reclamationWindowNs: optional(5, duration),
});

export const lease: Codec<Lease> = extended(generated(LeaseCodec), { reclamation: optional(7, leaseReclamation) });

export const marketParams: Codec<MarketParams> = extended(generated(ParamsCodec), {
  minReclamationWindowNs: required(4, duration, 0n),
  maxReclamationWindowNs: required(5, duration, 0n),
});
