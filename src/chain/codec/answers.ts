/** The answers to queries about deployments and the market, with everything that reclamation adds to what they hold. */
import {
  Types_Account as EscrowAccount,
  Types_Payment as EscrowPayment,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { Group } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { PageResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { type Decoded, generated, messageOf, optional, repeated } from "../../runtime/protobuf.ts";
import { bid, deployment, lease, marketParams, order } from "./reclamation.ts";

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
