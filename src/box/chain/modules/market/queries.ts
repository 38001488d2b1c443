/** What anyone may ask about the market. */
import {
  QueryBidRequest,
  QueryBidsRequest,
  QueryLeaseRequest,
  QueryLeasesRequest,
  QueryOrderRequest,
  QueryOrdersRequest,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import {
  type QueryBidResponse,
  type QueryLeaseResponse,
  queryBidResponse,
  queryBidsResponse,
  queryLeaseResponse,
  queryLeasesResponse,
  queryMarketParamsResponse,
  queryOrderResponse,
  queryOrdersResponse,
} from "../../../../chain/codec/answers.ts";
import { readUint64 } from "../../../../chain/codec/wire64.ts";
import type { BidId, OrderId } from "../../../../market/ids.ts";
import { writeCoin, writeCoins } from "../../coins.ts";
import { type Filters, filteredList } from "../../filtered-list.ts";
import { readQueriedId } from "../../market-ids.ts";
import type { ChainRefusal, Context, QueryHandler } from "../../module.ts";
import { sdkRefusal } from "../../refusals.ts";
import { bidAccount, leasePayment } from "../escrow/ids.ts";
import { accounts, payments } from "../escrow/records.ts";
import { writeAccount, writePayment } from "../escrow/wire.ts";
import type { MarketParams } from "./params.ts";
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
  type Order,
  orderStates,
  orders,
  writeBid,
  writeLease,
  writeOrder,
} from "./records.ts";
import { marketRefusal } from "./refusals.ts";

export function marketQueries(params: MarketParams): Record<string, QueryHandler> {
  return {
    "/akash.market.v1beta5.Query/Orders": (context, request) => {
      const { filters = noFilters, pagination } = QueryOrdersRequest.decode(request);
      const list = { table: orders(context), states: orderStates, stateOf: ({ state }: Order) => state };
      const listed = filteredList(list, filters, pagination, ({ id }) => accepts(filters, id));
      return queryOrdersResponse.encode({ orders: listed.items.map(writeOrder), pagination: listed.pagination });
    },
    "/akash.market.v1beta5.Query/Order": (context, request) => {
      const order = findOrder(context, readQueriedId(QueryOrderRequest.decode(request).id));
      if (!order) throw unknown("orderNotFound");
      return queryOrderResponse.encode({ order: writeOrder(order) });
    },
    "/akash.market.v1beta5.Query/Bids": (context, request) => {
      const { filters = noFilters, pagination } = QueryBidsRequest.decode(request);
      const list = {
        table: bids(context),
        states: bidStates,
        stateOf: ({ state }: Bid) => state,
        providerOf: ({ id }: Bid) => id.provider,
      };
      const listed = filteredList(list, filters, pagination, ({ id }) => accepts(filters, id));
      return queryBidsResponse.encode({
        bids: listed.items.map((bid) => answerBid(context, bid)),
        pagination: listed.pagination,
      });
    },
    "/akash.market.v1beta5.Query/Bid": (context, request) => {
      const bid = findBid(context, readQueriedId(QueryBidRequest.decode(request).id));
      if (!bid) throw unknown("bidNotFound");
      return queryBidResponse.encode(answerBid(context, bid));
    },
    "/akash.market.v1beta5.Query/Leases": (context, request) => {
      const { filters = noFilters, pagination } = QueryLeasesRequest.decode(request);
      const list = {
        table: leases(context),
        states: leaseStates,
        stateOf: ({ state }: Lease) => state,
        providerOf: ({ id }: Lease) => id.provider,
      };
      const listed = filteredList(list, filters, pagination, ({ id }) => accepts(filters, id));
      return queryLeasesResponse.encode({
        leases: listed.items.map((lease) => answerLease(context, lease)),
        pagination: listed.pagination,
      });
    },
    "/akash.market.v1beta5.Query/Lease": (context, request) => {
      const lease = findLease(context, readQueriedId(QueryLeaseRequest.decode(request).id));
      if (!lease) throw unknown("leaseNotFound");
      return queryLeaseResponse.encode(answerLease(context, lease));
    },
    "/akash.market.v1beta5.Query/Params": () => answerParams(params),
  };
}

interface IdFilters extends Filters {
  readonly dseq: Parameters<typeof readUint64>[0];
  readonly gseq: number;
  readonly oseq: number;
  readonly bseq?: number;
}

const noFilters: IdFilters = { state: "", owner: "", dseq: undefined, gseq: 0, oseq: 0 };

/** What a filter leaves at zero it does not ask for. */
function accepts(
  { owner, dseq, gseq, oseq, provider = "", bseq = 0 }: IdFilters,
  id: OrderId & Partial<BidId>,
): boolean {
  const wanted = readUint64(dseq);
  return (
    (owner === "" || id.owner === owner) &&
    (wanted === 0n || id.dseq === wanted) &&
    (gseq === 0 || id.gseq === gseq) &&
    (oseq === 0 || id.oseq === oseq) &&
    (provider === "" || id.provider === provider) &&
    (bseq === 0 || id.bseq === bseq)
  );
}

function answerBid(context: Context, bid: Bid): QueryBidResponse {
  const account = accounts(context).get(bidAccount(bid.id));
  return { bid: writeBid(bid), escrowAccount: account && writeAccount(account) };
}

function answerLease(context: Context, lease: Lease): QueryLeaseResponse {
  const payment = payments(context).get(leasePayment(lease.id));
  return { lease: writeLease(lease), escrowPayment: payment && writePayment(payment) };
}

function answerParams({ bidMinDeposit, bidMinDeposits, ...rest }: MarketParams): Uint8Array {
  const params = { ...rest, bidMinDeposit: writeCoin(bidMinDeposit), bidMinDeposits: writeCoins(bidMinDeposits) };
  return queryMarketParamsResponse.encode({ params });
}

/** Over ABCI the module's own code is lost and its words stay. */
function unknown(error: Parameters<typeof marketRefusal>[0]): ChainRefusal {
  return sdkRefusal("keyNotFound", marketRefusal(error).message);
}
