/** Queries of the market module. */
import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import * as answers from "../../../../chain/codec/wire-messages.ts";
import { bidAccount, leasePayment } from "../../../../market/escrow-arithmetic.ts";
import { writeCoin, writeCoins } from "../../coins.ts";
import { sdkError } from "../../errors.ts";
import { filteredList } from "../../filtered-list.ts";
import { readQueriedId } from "../../market-ids.ts";
import type { ChainError, Context, QueryHandler } from "../../module.ts";
import { escrowAccounts, payments } from "../escrow/records.ts";
import { writeAccount, writePayment } from "../escrow/wire.ts";
import type { MarketParams } from "./bidding.ts";
import { marketError } from "./errors.ts";
import {
  type Bid,
  bidStates,
  bids,
  findBid,
  findLease,
  findOrder,
  type Lease,
  leaseStates,
  leases,
  orderStates,
  orders,
  writeBid,
  writeLease,
  writeOrder,
} from "./records.ts";

export function marketQueries(params: MarketParams): Record<string, QueryHandler> {
  return {
    "/akash.market.v1beta5.Query/Orders": (context, request) => {
      const { filters, pagination } = akash.QueryOrdersRequest.decode(request);
      const listed = filteredList({ table: orders(context), states: orderStates }, filters, pagination);
      return answers.queryOrdersResponse.encode({
        orders: listed.items.map(writeOrder),
        pagination: listed.pagination,
      });
    },
    "/akash.market.v1beta5.Query/Order": (context, request) => {
      const order = findOrder(context, readQueriedId(akash.QueryOrderRequest.decode(request).id));
      if (!order) throw unknown("orderNotFound");
      return answers.queryOrderResponse.encode({ order: writeOrder(order) });
    },
    "/akash.market.v1beta5.Query/Bids": (context, request) => {
      const { filters, pagination } = akash.QueryBidsRequest.decode(request);
      const list = { table: bids(context), states: bidStates, byProvider: true };
      const listed = filteredList(list, filters, pagination);
      const found = listed.items.map((bid) => answerBid(context, bid));
      return answers.queryBidsResponse.encode({ bids: found, pagination: listed.pagination });
    },
    "/akash.market.v1beta5.Query/Bid": (context, request) => {
      const bid = findBid(context, readQueriedId(akash.QueryBidRequest.decode(request).id));
      if (!bid) throw unknown("bidNotFound");
      return answers.queryBidResponse.encode(answerBid(context, bid));
    },
    "/akash.market.v1beta5.Query/Leases": (context, request) => {
      const { filters, pagination } = akash.QueryLeasesRequest.decode(request);
      const list = { table: leases(context), states: leaseStates, byProvider: true };
      const listed = filteredList(list, filters, pagination);
      const found = listed.items.map((lease) => answerLease(context, lease));
      return answers.queryLeasesResponse.encode({ leases: found, pagination: listed.pagination });
    },
    "/akash.market.v1beta5.Query/Lease": (context, request) => {
      const lease = findLease(context, readQueriedId(akash.QueryLeaseRequest.decode(request).id));
      if (!lease) throw unknown("leaseNotFound");
      return answers.queryLeaseResponse.encode(answerLease(context, lease));
    },
    "/akash.market.v1beta5.Query/Params": () => answerParams(params),
  };
}

function answerBid(context: Context, bid: Bid): answers.QueryBidResponse {
  const account = escrowAccounts(context).get(bidAccount(bid.id));
  return { bid: writeBid(bid), escrowAccount: account && writeAccount(account) };
}

function answerLease(context: Context, lease: Lease): answers.QueryLeaseResponse {
  const payment = payments(context).get(leasePayment(lease.id));
  return { lease: writeLease(lease), escrowPayment: payment && writePayment(payment) };
}

function answerParams({ bidMinDeposit, bidMinDeposits, ...rest }: MarketParams): Uint8Array {
  const params = { ...rest, bidMinDeposit: writeCoin(bidMinDeposit), bidMinDeposits: writeCoins(bidMinDeposits) };
  return answers.queryMarketParamsResponse.encode({ params });
}

/** Over ABCI the module's own code is lost and its words stay. */
function unknown(error: Parameters<typeof marketError>[0]): ChainError {
  return sdkError("keyNotFound", marketError(error).message);
}
