/** Everything that we ask the chain, over RPC: where each question goes, and how it and its answer are written. */
import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1";
import * as beta4 from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import * as beta5 from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import * as cosmos from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { deploymentAccount } from "../../../market/escrow-arithmetic.ts";
import type { Many, MarketFilter, One, Queries } from "../../chain.ts";
import * as answers from "../../codec/wire-messages.ts";
import { writeId, writeUint64 } from "../../codec/wire-messages.ts";
import {
  type EscrowAccount,
  type EscrowPayment,
  type EscrowState,
  present,
  readAccount,
  readBid,
  readCoin,
  readDeployment,
  readEscrowAccount,
  readEscrowPayment,
  readLease,
  readOrder,
} from "../../records.ts";
import { readHeaderTime } from "../blocks.ts";
import type { Pool } from "../pool.ts";
import { type ListQuery, type Query, queryList, queryOne } from "./abci-query.ts";
import { createOraclePrice } from "./oracle-price.ts";

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

type Answer<Name extends string, Item> = Readonly<Record<Name, readonly Item[]>> & {
  readonly pagination: { readonly nextKey: Uint8Array } | undefined;
};

function list<Filter, Name extends string, Item, T>(
  path: string,
  encode: ListQuery<Filter, T>["encode"],
  answer: { decode(bytes: Uint8Array): Answer<Name, Item> },
  name: Name,
  read: (item: Item, height: bigint) => T,
): ListQuery<Filter, T> {
  return {
    path,
    encode,
    decode(bytes, height) {
      const { [name]: items, pagination } = answer.decode(bytes);
      return { items: items.map((item) => read(item, height)), nextKey: pagination?.nextKey ?? new Uint8Array() };
    },
  };
}

type Page = Parameters<ListQuery<unknown, unknown>["encode"]>[0]["pagination"];

/** For requests that have their filter in a field of that name. */
function filtered<T>(codec: WireCodec<{ filters?: object; pagination?: Page }, T>) {
  return ({ filter: { dseq, ...rest }, pagination }: { filter: MarketFilter<string>; pagination: Page }) =>
    encode(codec, { filters: { ...rest, ...(dseq !== undefined && { dseq: writeUint64(dseq) }) }, pagination });
}

const same = <T>(item: T) => item;

/** Not Query/Account: this one answers alike for accounts of every kind, vesting ones included. */
export const accountQuery: OneNamed<"account"> = {
  path: "/cosmos.auth.v1beta1.Query/AccountInfo",
  encode: (address) => cosmos.QueryAccountInfoRequest.encode({ address }).finish(),
  decode: (bytes) => readAccount(cosmos.QueryAccountInfoResponse.decode(bytes).info),
};

const balancesQuery: ManyNamed<"balances"> = list(
  "/cosmos.bank.v1beta1.Query/AllBalances",
  ({ filter: address, pagination }) => encode(cosmos.QueryAllBalancesRequest, { address, pagination }),
  cosmos.QueryAllBalancesResponse,
  "balances",
  readCoin,
);

const providerQuery: OneNamed<"provider"> = {
  path: "/akash.provider.v1beta4.Query/Provider",
  encode: (owner) => beta4.QueryProviderRequest.encode({ owner }).finish(),
  decode: (bytes) => present(beta4.QueryProviderResponse.decode(bytes).provider, "a provider"),
};

export const auditedAttributesQuery: ManyNamed<"auditedAttributes"> = list(
  "/akash.audit.v1.Query/ProviderAttributes",
  ({ filter: owner, pagination }) => encode(akash.QueryProviderAttributesRequest, { owner, pagination }),
  akash.QueryProvidersResponse,
  "providers",
  same,
);

export const certificatesQuery: ManyNamed<"certificates"> = list(
  "/akash.cert.v1.Query/Certificates",
  (request) => encode(akash.QueryCertificatesRequest, request),
  akash.QueryCertificatesResponse,
  "certificates",
  same,
);

const deploymentQuery: OneNamed<"deployment"> = {
  path: `${deployment}/Deployment`,
  encode: (id) => encode(beta4.QueryDeploymentRequest, { id: writeId(id) }),
  decode: (bytes, height) => readDeployment(answers.queryDeploymentResponse.decode(bytes), height),
};

export const deploymentsQuery: ManyNamed<"deployments"> = list(
  `${deployment}/Deployments`,
  filtered(beta4.QueryDeploymentsRequest),
  answers.queryDeploymentsResponse,
  "deployments",
  readDeployment,
);

const orderQuery: OneNamed<"order"> = {
  path: `${market}/Order`,
  encode: (id) => encode(beta5.QueryOrderRequest, { id: writeId(id) }),
  decode: (bytes) => readOrder(answers.queryOrderResponse.decode(bytes).order),
};

export const ordersQuery: ManyNamed<"orders"> = list(
  `${market}/Orders`,
  filtered(beta5.QueryOrdersRequest),
  answers.queryOrdersResponse,
  "orders",
  readOrder,
);

const bidQuery: OneNamed<"bid"> = {
  path: `${market}/Bid`,
  encode: (id) => encode(beta5.QueryBidRequest, { id: writeId(id) }),
  decode: (bytes, height) => readBid(answers.queryBidResponse.decode(bytes), height),
};

export const bidsQuery: ManyNamed<"bids"> = list(
  `${market}/Bids`,
  filtered(beta5.QueryBidsRequest),
  answers.queryBidsResponse,
  "bids",
  readBid,
);

const leaseQuery: OneNamed<"lease"> = {
  path: `${market}/Lease`,
  encode: (id) => encode(beta5.QueryLeaseRequest, { id: writeId(id) }),
  decode: (bytes, height) => readLease(answers.queryLeaseResponse.decode(bytes), height),
};

export const leasesQuery: ManyNamed<"leases"> = list(
  `${market}/Leases`,
  filtered(beta5.QueryLeasesRequest),
  answers.queryLeasesResponse,
  "leases",
  readLease,
);

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

export const escrowAccountsQuery: ListQuery<EscrowFilter, EscrowAccount> = list(
  "/akash.escrow.v1.Query/Accounts",
  ({ filter, pagination }) => encode(akash.QueryAccountsRequest, { ...filter, pagination }),
  akash.QueryAccountsResponse,
  "accounts",
  readEscrowAccount,
);

export const escrowPaymentsQuery: ListQuery<EscrowFilter, EscrowPayment> = list(
  "/akash.escrow.v1.Query/Payments",
  ({ filter, pagination }) => encode(akash.QueryPaymentsRequest, { ...filter, pagination }),
  akash.QueryPaymentsResponse,
  "payments",
  readEscrowPayment,
);

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
