/** Everything that we ask the chain, over RPC: where each question goes, and how it and its answer are written. */
import {
  QueryAccountsRequest,
  QueryAccountsResponse,
  QueryCertificatesRequest,
  QueryCertificatesResponse,
  QueryPaymentsRequest,
  QueryPaymentsResponse,
  QueryProviderAttributesRequest,
  QueryProvidersResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  QueryDeploymentRequest,
  QueryDeploymentsRequest,
  QueryProviderRequest,
  QueryProviderResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  QueryBidRequest,
  QueryBidsRequest,
  QueryLeaseRequest,
  QueryLeasesRequest,
  QueryOrderRequest,
  QueryOrdersRequest,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import {
  QueryAccountInfoRequest,
  QueryAccountInfoResponse,
  QueryAllBalancesRequest,
  QueryAllBalancesResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { deploymentAccount } from "../../../market/escrow-arithmetic.ts";
import type { Many, MarketFilter, One, Queries } from "../../chain.ts";
import * as answers from "../../codec/wire-messages.ts";
import { writeId, writeUint64 } from "../../codec/wire-messages.ts";
import type { EscrowAccount, EscrowPayment, EscrowState } from "../../records.ts";
import { readHeaderTime } from "../blocks.ts";
import type { Pool } from "../pool.ts";
import { type ListQuery, type Query, queryList, queryOne } from "./abci-query.ts";
import { createOraclePrice } from "./oracle-price.ts";
import {
  present,
  readAccount,
  readBid,
  readCoin,
  readDeployment,
  readEscrowAccount,
  readEscrowPayment,
  readLease,
  readOrder,
} from "./wire-records.ts";

type OneNamed<Name extends keyof Queries> = Queries[Name] extends One<infer Id, infer Value> ? Query<Id, Value> : never;
type ManyNamed<Name extends keyof Queries> =
  Queries[Name] extends Many<infer Filter, infer T> ? ListQuery<Filter, T> : never;

const market = "/akash.market.v1beta5.Query";
const deployment = "/akash.deployment.v1beta4.Query";

interface WireCodec<Partial, T> {
  fromPartial(partial: Partial): T;
  encode(message: T): { finish(): Uint8Array };
}

function encode<Partial, T>(codec: WireCodec<Partial, T>, partial: NoInfer<Partial>): Uint8Array {
  return codec.encode(codec.fromPartial(partial)).finish();
}

function page<T>(items: readonly T[], pagination: { readonly nextKey: Uint8Array } | undefined) {
  return { items, nextKey: pagination?.nextKey ?? new Uint8Array() };
}

function filters<State>({ dseq, ...rest }: MarketFilter<State>) {
  return { ...rest, ...(dseq !== undefined && { dseq: writeUint64(dseq) }) };
}

/** Not Query/Account: this one answers alike for accounts of every kind, vesting ones included. */
export const accountQuery: OneNamed<"account"> = {
  path: "/cosmos.auth.v1beta1.Query/AccountInfo",
  encode: (address) => QueryAccountInfoRequest.encode({ address }).finish(),
  decode: (bytes) => readAccount(QueryAccountInfoResponse.decode(bytes).info),
};

const balancesQuery: ManyNamed<"balances"> = {
  path: "/cosmos.bank.v1beta1.Query/AllBalances",
  encode: ({ filter: address, pagination }) => encode(QueryAllBalancesRequest, { address, pagination }),
  decode(bytes) {
    const { balances, pagination } = QueryAllBalancesResponse.decode(bytes);
    return page(balances.map(readCoin), pagination);
  },
};

const providerQuery: OneNamed<"provider"> = {
  path: "/akash.provider.v1beta4.Query/Provider",
  encode: (owner) => QueryProviderRequest.encode({ owner }).finish(),
  decode: (bytes) => present(QueryProviderResponse.decode(bytes).provider, "a provider"),
};

export const auditedAttributesQuery: ManyNamed<"auditedAttributes"> = {
  path: "/akash.audit.v1.Query/ProviderAttributes",
  encode: ({ filter: owner, pagination }) => encode(QueryProviderAttributesRequest, { owner, pagination }),
  decode(bytes) {
    const { providers, pagination } = QueryProvidersResponse.decode(bytes);
    return page(providers, pagination);
  },
};

export const certificatesQuery: ManyNamed<"certificates"> = {
  path: "/akash.cert.v1.Query/Certificates",
  encode: (request) => encode(QueryCertificatesRequest, request),
  decode(bytes) {
    const { certificates, pagination } = QueryCertificatesResponse.decode(bytes);
    return page(certificates, pagination);
  },
};

const deploymentQuery: OneNamed<"deployment"> = {
  path: `${deployment}/Deployment`,
  encode: (id) => encode(QueryDeploymentRequest, { id: writeId(id) }),
  decode: (bytes, height) => readDeployment(answers.queryDeploymentResponse.decode(bytes), height),
};

export const deploymentsQuery: ManyNamed<"deployments"> = {
  path: `${deployment}/Deployments`,
  encode: ({ filter, pagination }) => encode(QueryDeploymentsRequest, { filters: filters(filter), pagination }),
  decode(bytes, height) {
    const { deployments, pagination } = answers.queryDeploymentsResponse.decode(bytes);
    return page(
      deployments.map((each) => readDeployment(each, height)),
      pagination,
    );
  },
};

const orderQuery: OneNamed<"order"> = {
  path: `${market}/Order`,
  encode: (id) => encode(QueryOrderRequest, { id: writeId(id) }),
  decode: (bytes) => readOrder(answers.queryOrderResponse.decode(bytes).order),
};

export const ordersQuery: ManyNamed<"orders"> = {
  path: `${market}/Orders`,
  encode: ({ filter, pagination }) => encode(QueryOrdersRequest, { filters: filters(filter), pagination }),
  decode(bytes) {
    const { orders, pagination } = answers.queryOrdersResponse.decode(bytes);
    return page(orders.map(readOrder), pagination);
  },
};

const bidQuery: OneNamed<"bid"> = {
  path: `${market}/Bid`,
  encode: (id) => encode(QueryBidRequest, { id: writeId(id) }),
  decode: (bytes, height) => readBid(answers.queryBidResponse.decode(bytes), height),
};

export const bidsQuery: ManyNamed<"bids"> = {
  path: `${market}/Bids`,
  encode: ({ filter, pagination }) => encode(QueryBidsRequest, { filters: filters(filter), pagination }),
  decode(bytes, height) {
    const { bids, pagination } = answers.queryBidsResponse.decode(bytes);
    return page(
      bids.map((each) => readBid(each, height)),
      pagination,
    );
  },
};

const leaseQuery: OneNamed<"lease"> = {
  path: `${market}/Lease`,
  encode: (id) => encode(QueryLeaseRequest, { id: writeId(id) }),
  decode: (bytes, height) => readLease(answers.queryLeaseResponse.decode(bytes), height),
};

export const leasesQuery: ManyNamed<"leases"> = {
  path: `${market}/Leases`,
  encode: ({ filter, pagination }) => encode(QueryLeasesRequest, { filters: filters(filter), pagination }),
  decode(bytes, height) {
    const { leases, pagination } = answers.queryLeasesResponse.decode(bytes);
    return page(
      leases.map((each) => readLease(each, height)),
      pagination,
    );
  },
};

export const marketParamsQuery: OneNamed<"marketParams"> = {
  path: `${market}/Params`,
  encode: () => new Uint8Array(),
  decode: (bytes) => present(answers.queryMarketParamsResponse.decode(bytes).params, "parameters"),
};

/** Of the accounts whose key begins so. */
interface EscrowFilter {
  readonly xid: string;
  readonly state?: EscrowState;
}

/** Bids have accounts too. */
const openOfDeployments: EscrowFilter = { xid: "deployment/", state: "open" };

export const escrowAccountsQuery: ListQuery<EscrowFilter, EscrowAccount> = {
  path: "/akash.escrow.v1.Query/Accounts",
  encode: ({ filter, pagination }) => encode(QueryAccountsRequest, { ...filter, pagination }),
  decode(bytes, height) {
    const { accounts, pagination } = QueryAccountsResponse.decode(bytes);
    return page(
      accounts.map((each) => readEscrowAccount(each, height)),
      pagination,
    );
  },
};

export const escrowPaymentsQuery: ListQuery<EscrowFilter, EscrowPayment> = {
  path: "/akash.escrow.v1.Query/Payments",
  encode: ({ filter, pagination }) => encode(QueryPaymentsRequest, { ...filter, pagination }),
  decode(bytes, height) {
    const { payments, pagination } = QueryPaymentsResponse.decode(bytes);
    return page(
      payments.map((each) => readEscrowPayment(each, height)),
      pagination,
    );
  },
};

export function createQueries(pool: Pool): Queries {
  const one =
    <Request, Value>(query: Query<Request, Value>): One<Request, Value> =>
    (request, options) =>
      queryOne(pool, query, request, options);
  const many =
    <Filter, Value>(query: ListQuery<Filter, Value>): Many<Filter, Value> =>
    (filter, options) =>
      queryList(pool, query, filter, options);
  return {
    account: one(accountQuery),
    balances: many(balancesQuery),
    provider: one(providerQuery),
    auditedAttributes: many(auditedAttributesQuery),
    certificates: many(certificatesQuery),
    deployment: one(deploymentQuery),
    deployments: many(deploymentsQuery),
    order: one(orderQuery),
    orders: many(ordersQuery),
    bid: one(bidQuery),
    bids: many(bidsQuery),
    lease: one(leaseQuery),
    leases: many(leasesQuery),
    marketParams: one(marketParamsQuery),
    oraclePrice: createOraclePrice(pool),
    async paymentsOf(id, options) {
      const xid = deploymentAccount(id);
      const listed = await queryList(pool, escrowPaymentsQuery, { xid }, options);
      // The chain compares the beginning only: 12 begins with 1.
      return { ...listed, items: listed.items.filter(({ key }) => key.startsWith(`${xid}/`)) };
    },
    openEscrowAccounts: (_, options) => queryList(pool, escrowAccountsQuery, openOfDeployments, options),
    openEscrowPayments: (_, options) => queryList(pool, escrowPaymentsQuery, openOfDeployments, options),
    async bidCount({ owner, dseq, gseq, oseq }, options) {
      const { items, height, node } = await queryList(pool, bidsQuery, { owner, dseq, gseq, oseq }, options);
      return { value: items.length, height, node };
    },
    async blockTimeNs(height, options) {
      const read = (result: unknown, node: string) => readHeaderTime(node, height, pool.chainId, result);
      const { result } = await pool.call("header", { height: `${height}` }, read, { ...options, atOrAbove: height });
      return result;
    },
  };
}
