/** Orders, bids and leases. */
import {
  QueryBidRequest,
  QueryBidsRequest,
  QueryLeaseRequest,
  QueryLeasesRequest,
  QueryOrderRequest,
  QueryOrdersRequest,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { BidId, LeaseId, OrderId } from "../../../market/ids.ts";
import type { MarketFilter } from "../../chain.ts";
import {
  queryBidResponse,
  queryBidsResponse,
  queryLeaseResponse,
  queryLeasesResponse,
  queryMarketParamsResponse,
  queryOrderResponse,
  queryOrdersResponse,
} from "../../codec/answers.ts";
import type { MarketParams } from "../../codec/reclamation.ts";
import { writeId, writeUint64 } from "../../codec/wire64.ts";
import type { Bid, BidState, Lease, LeaseState, Order, OrderState } from "../../records.ts";
import type { Query } from "./abci-query.ts";
import type { ListQuery } from "./paged-list.ts";
import { strange } from "./wire-ids.ts";
import { readBid, readLease, readOrder } from "./wire-records.ts";

const service = "/akash.market.v1beta5.Query";

function filters<State>({ dseq, ...rest }: MarketFilter<State>) {
  return { ...rest, ...(dseq !== undefined && { dseq: writeUint64(dseq) }) };
}

export const orderQuery: Query<OrderId, Order> = {
  path: `${service}/Order`,
  encode: (id) => QueryOrderRequest.encode(QueryOrderRequest.fromPartial({ id: writeId(id) })).finish(),
  decode: (bytes) => readOrder(queryOrderResponse.decode(bytes).order),
};

export const ordersQuery: ListQuery<Omit<MarketFilter<OrderState>, "provider">, Order> = {
  path: `${service}/Orders`,
  encode: ({ filter, pagination }) =>
    QueryOrdersRequest.encode(QueryOrdersRequest.fromPartial({ filters: filters(filter), pagination })).finish(),
  decode(bytes) {
    const { orders, pagination } = queryOrdersResponse.decode(bytes);
    return { items: orders.map(readOrder), nextKey: pagination?.nextKey ?? new Uint8Array() };
  },
};

export const bidQuery: Query<BidId, Bid> = {
  path: `${service}/Bid`,
  encode: (id) => QueryBidRequest.encode(QueryBidRequest.fromPartial({ id: writeId(id) })).finish(),
  decode: (bytes, height) => readBid(queryBidResponse.decode(bytes), height),
};

export const bidsQuery: ListQuery<MarketFilter<BidState>, Bid> = {
  path: `${service}/Bids`,
  encode: ({ filter, pagination }) =>
    QueryBidsRequest.encode(QueryBidsRequest.fromPartial({ filters: filters(filter), pagination })).finish(),
  decode(bytes, height) {
    const { bids, pagination } = queryBidsResponse.decode(bytes);
    return { items: bids.map((each) => readBid(each, height)), nextKey: pagination?.nextKey ?? new Uint8Array() };
  },
};

export const leaseQuery: Query<LeaseId, Lease> = {
  path: `${service}/Lease`,
  encode: (id) => QueryLeaseRequest.encode(QueryLeaseRequest.fromPartial({ id: writeId(id) })).finish(),
  decode: (bytes, height) => readLease(queryLeaseResponse.decode(bytes), height),
};

export const leasesQuery: ListQuery<MarketFilter<LeaseState>, Lease> = {
  path: `${service}/Leases`,
  encode: ({ filter, pagination }) =>
    QueryLeasesRequest.encode(QueryLeasesRequest.fromPartial({ filters: filters(filter), pagination })).finish(),
  decode(bytes, height) {
    const { leases, pagination } = queryLeasesResponse.decode(bytes);
    return { items: leases.map((each) => readLease(each, height)), nextKey: pagination?.nextKey ?? new Uint8Array() };
  },
};

export const marketParamsQuery: Query<undefined, MarketParams> = {
  path: `${service}/Params`,
  encode: () => new Uint8Array(),
  decode(bytes) {
    const { params } = queryMarketParamsResponse.decode(bytes);
    if (!params) throw strange("an answer without parameters");
    return params;
  },
};
