/** The answers to queries about deployments and the market, with everything that reclamation adds to what they hold. */
import {
  type Types_Account as EscrowAccount,
  Types_Account as EscrowAccountCodec,
  type Types_Payment as EscrowPayment,
  Types_Payment as EscrowPaymentCodec,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { type Group, Group as GroupCodec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  type PageResponse,
  PageResponse as PageResponseCodec,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { type Codec, generated, messageOf, optional, repeated } from "./message.ts";
import {
  type Bid,
  bid,
  type Deployment,
  deployment,
  type Lease,
  lease,
  type MarketParams,
  marketParams,
  type Order,
  order,
} from "./reclamation.ts";

export interface QueryDeploymentResponse {
  deployment: Deployment | undefined;
  groups: Group[];
  escrowAccount: EscrowAccount | undefined;
}

export interface QueryDeploymentsResponse {
  deployments: QueryDeploymentResponse[];
  pagination: PageResponse | undefined;
}

export interface QueryOrderResponse {
  order: Order | undefined;
}

export interface QueryOrdersResponse {
  orders: Order[];
  pagination: PageResponse | undefined;
}

export interface QueryBidResponse {
  bid: Bid | undefined;
  escrowAccount: EscrowAccount | undefined;
}

export interface QueryBidsResponse {
  bids: QueryBidResponse[];
  pagination: PageResponse | undefined;
}

export interface QueryLeaseResponse {
  lease: Lease | undefined;
  escrowPayment: EscrowPayment | undefined;
}

export interface QueryLeasesResponse {
  leases: QueryLeaseResponse[];
  pagination: PageResponse | undefined;
}

export interface QueryMarketParamsResponse {
  params: MarketParams | undefined;
}

const pagination = optional(2, generated(PageResponseCodec));

export const queryDeploymentResponse: Codec<QueryDeploymentResponse> = messageOf({
  deployment: optional(1, deployment),
  groups: repeated(2, generated(GroupCodec)),
  escrowAccount: optional(3, generated(EscrowAccountCodec)),
});

export const queryDeploymentsResponse: Codec<QueryDeploymentsResponse> = messageOf({
  deployments: repeated(1, queryDeploymentResponse),
  pagination,
});

export const queryOrderResponse: Codec<QueryOrderResponse> = messageOf({ order: optional(1, order) });

export const queryOrdersResponse: Codec<QueryOrdersResponse> = messageOf({ orders: repeated(1, order), pagination });

export const queryBidResponse: Codec<QueryBidResponse> = messageOf({
  bid: optional(1, bid),
  escrowAccount: optional(2, generated(EscrowAccountCodec)),
});

export const queryBidsResponse: Codec<QueryBidsResponse> = messageOf({
  bids: repeated(1, queryBidResponse),
  pagination,
});

export const queryLeaseResponse: Codec<QueryLeaseResponse> = messageOf({
  lease: optional(1, lease),
  escrowPayment: optional(2, generated(EscrowPaymentCodec)),
});

export const queryLeasesResponse: Codec<QueryLeasesResponse> = messageOf({
  leases: repeated(1, queryLeaseResponse),
  pagination,
});

export const queryMarketParamsResponse: Codec<QueryMarketParamsResponse> = messageOf({
  params: optional(1, marketParams),
});
