/** Everything that we ask the chain, over RPC. */
import { formatDeploymentId } from "../../../market/ids.ts";
import type { Many, One, Queries } from "../../chain.ts";
import { readHeaderTime } from "../block.ts";
import type { Pool } from "../pool.ts";
import { ask, type Query } from "./abci-query.ts";
import {
  accountQuery,
  auditedAttributesQuery,
  auditorAttributesQuery,
  balanceQuery,
  balancesQuery,
  certificatesQuery,
  providerQuery,
} from "./account-queries.ts";
import {
  deploymentParamsQuery,
  deploymentQuery,
  deploymentsQuery,
  escrowAccountsQuery,
  escrowPaymentsQuery,
  groupQuery,
} from "./deployment-queries.ts";
import {
  bidQuery,
  bidsQuery,
  leaseQuery,
  leasesQuery,
  marketParamsQuery,
  orderQuery,
  ordersQuery,
} from "./market-queries.ts";
import { type ListQuery, list } from "./paged-list.ts";

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
