/** Everything that we ask the chain, by name. A single thing that is not there is undefined, at the height of the answer. */
import type { AuditedProvider, CertificateResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Params as DeploymentParams, Provider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import type { Address } from "../../../market/address.ts";
import type { Coin } from "../../../market/coin.ts";
import {
  type BidId,
  type DeploymentId,
  formatDeploymentId,
  type GroupId,
  type LeaseId,
  type OrderId,
} from "../../../market/ids.ts";
import type { MarketParams } from "../../codec/reclamation.ts";
import type {
  Account,
  Bid,
  BidState,
  Deployment,
  EscrowAccount,
  EscrowPayment,
  Group,
  Lease,
  LeaseState,
  Order,
  OrderState,
} from "../../records.ts";
import { readHeaderTime } from "../block.ts";
import type { Pool } from "../pool.ts";
import type { CallLimits } from "../rpc-call.ts";
import { type At, ask, type Query, type QueryOptions } from "./abci-query.ts";
import {
  accountQuery,
  auditedAttributesQuery,
  auditorAttributesQuery,
  balanceQuery,
  balancesQuery,
  type CertificateFilter,
  certificatesQuery,
  providerQuery,
} from "./account-queries.ts";
import {
  type DeploymentFilter,
  deploymentParamsQuery,
  deploymentQuery,
  deploymentsQuery,
  type EscrowFilter,
  escrowAccountsQuery,
  escrowPaymentsQuery,
  groupQuery,
} from "./deployment-queries.ts";
import {
  bidQuery,
  bidsQuery,
  leaseQuery,
  leasesQuery,
  type MarketFilter,
  marketParamsQuery,
  orderQuery,
  ordersQuery,
} from "./market-queries.ts";
import { type Listed, type ListQuery, list } from "./paged-list.ts";

type One<Request, Value> = (request: Request, options?: QueryOptions) => Promise<At<Value | undefined>>;
type Many<Filter, Value> = (filter: Filter, options?: QueryOptions) => Promise<Listed<Value>>;

export interface Queries {
  readonly account: One<Address, Account>;
  readonly balance: One<{ address: Address; denom: string }, Coin>;
  readonly balances: Many<Address, Coin>;
  readonly provider: One<Address, Provider>;
  readonly auditedAttributes: Many<Address, AuditedProvider>;
  readonly auditorAttributes: One<{ auditor: Address; owner: Address }, readonly AuditedProvider[]>;
  readonly certificates: Many<CertificateFilter, CertificateResponse>;
  readonly deployment: One<DeploymentId, Deployment>;
  readonly deployments: Many<DeploymentFilter, Deployment>;
  readonly group: One<GroupId, Group>;
  readonly deploymentParams: One<undefined, DeploymentParams>;
  readonly order: One<OrderId, Order>;
  readonly orders: Many<MarketFilter<OrderState>, Order>;
  readonly bid: One<BidId, Bid>;
  readonly bids: Many<MarketFilter<BidState>, Bid>;
  readonly lease: One<LeaseId, Lease>;
  readonly leases: Many<MarketFilter<LeaseState>, Lease>;
  readonly marketParams: One<undefined, MarketParams>;
  readonly escrowAccounts: Many<EscrowFilter, EscrowAccount>;
  readonly escrowPayments: Many<EscrowFilter, EscrowPayment>;
  /** Of a deployment's account: to every provider that it pays or has paid. */
  readonly paymentsOf: Many<DeploymentId, EscrowPayment>;
  /** On an order, of everybody and whatever became of them; the chain's parameters bound them. */
  bidCount(order: OrderId, options?: QueryOptions): Promise<At<number>>;
  /** When the block of this height was made. */
  blockTimeNs(height: bigint, options?: CallLimits): Promise<bigint>;
}

export function createQueries(pool: Pool): Queries {
  const one =
    <Request, Value>(query: Query<Request, Value>): One<Request, Value> =>
    (request, options) =>
      ask(pool, query, request, options);
  const many =
    <Filter, Value>(query: ListQuery<Filter, Value>): Many<Filter, Value> =>
    (filter, options) =>
      list(pool, query, filter, options);
  return {
    account: one(accountQuery),
    balance: one(balanceQuery),
    balances: many(balancesQuery),
    provider: one(providerQuery),
    auditedAttributes: many(auditedAttributesQuery),
    auditorAttributes: one(auditorAttributesQuery),
    certificates: many(certificatesQuery),
    deployment: one(deploymentQuery),
    deployments: many(deploymentsQuery),
    group: one(groupQuery),
    deploymentParams: one(deploymentParamsQuery),
    order: one(orderQuery),
    orders: many(ordersQuery),
    bid: one(bidQuery),
    bids: many(bidsQuery),
    lease: one(leaseQuery),
    leases: many(leasesQuery),
    marketParams: one(marketParamsQuery),
    escrowAccounts: many(escrowAccountsQuery),
    escrowPayments: many(escrowPaymentsQuery),
    async paymentsOf(id, options) {
      const xid = `deployment/${formatDeploymentId(id)}`;
      const listed = await list(pool, escrowPaymentsQuery, { xid }, options);
      // The chain compares the beginning only: 12 begins with 1.
      return { ...listed, items: listed.items.filter(({ key }) => key.startsWith(`${xid}/`)) };
    },
    async bidCount({ owner, dseq, gseq, oseq }, options) {
      const { items, height, endpoint } = await list(pool, bidsQuery, { owner, dseq, gseq, oseq }, options);
      return { value: items.length, height, endpoint };
    },
    async blockTimeNs(height, options) {
      const read = (result: unknown, node: string) => readHeaderTime(node, height, pool.chainId, result);
      const { result } = await pool.call("header", { height: `${height}` }, read, { ...options, atOrAbove: height });
      return result;
    },
  };
}
