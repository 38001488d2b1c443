/** Deployments with their groups, and escrow. */
import {
  QueryAccountsRequest,
  QueryAccountsResponse,
  QueryPaymentsRequest,
  QueryPaymentsResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  type Params as DeploymentParams,
  QueryParamsResponse as DeploymentParamsResponse,
  QueryDeploymentRequest,
  QueryDeploymentsRequest,
  QueryGroupRequest,
  QueryGroupResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import type { DeploymentId, GroupId } from "../../../market/ids.ts";
import type { DeploymentFilter, EscrowFilter } from "../../chain.ts";
import { queryDeploymentResponse, queryDeploymentsResponse } from "../../codec/answers.ts";
import { writeId, writeUint64 } from "../../codec/wire64.ts";
import type { Deployment, EscrowAccount, EscrowPayment, Group } from "../../records.ts";
import type { Query } from "./abci-query.ts";
import type { ListQuery } from "./paged-list.ts";
import { strange } from "./wire-ids.ts";
import { readDeployment, readEscrowAccount, readEscrowPayment, readGroup } from "./wire-records.ts";

const service = "/akash.deployment.v1beta4.Query";

export const deploymentQuery: Query<DeploymentId, Deployment> = {
  path: `${service}/Deployment`,
  encode: (id) => QueryDeploymentRequest.encode(QueryDeploymentRequest.fromPartial({ id: writeId(id) })).finish(),
  decode: (bytes, height) => readDeployment(queryDeploymentResponse.decode(bytes), height),
};

export const deploymentsQuery: ListQuery<DeploymentFilter, Deployment> = {
  path: `${service}/Deployments`,
  encode({ filter: { dseq, ...rest }, pagination }) {
    const filters = { ...rest, ...(dseq !== undefined && { dseq: writeUint64(dseq) }) };
    return QueryDeploymentsRequest.encode(QueryDeploymentsRequest.fromPartial({ filters, pagination })).finish();
  },
  decode(bytes, height) {
    const { deployments, pagination } = queryDeploymentsResponse.decode(bytes);
    return {
      items: deployments.map((each) => readDeployment(each, height)),
      nextKey: pagination?.nextKey ?? new Uint8Array(),
    };
  },
};

export const groupQuery: Query<GroupId, Group> = {
  path: `${service}/Group`,
  encode: (id) => QueryGroupRequest.encode(QueryGroupRequest.fromPartial({ id: writeId(id) })).finish(),
  decode: (bytes) => readGroup(QueryGroupResponse.decode(bytes).group),
};

export const deploymentParamsQuery: Query<undefined, DeploymentParams> = {
  path: `${service}/Params`,
  encode: () => new Uint8Array(),
  decode(bytes) {
    const { params } = DeploymentParamsResponse.decode(bytes);
    if (!params) throw strange("an answer without parameters");
    return params;
  },
};

export const escrowAccountsQuery: ListQuery<EscrowFilter, EscrowAccount> = {
  path: "/akash.escrow.v1.Query/Accounts",
  encode: ({ filter, pagination }) =>
    QueryAccountsRequest.encode(QueryAccountsRequest.fromPartial({ ...filter, pagination })).finish(),
  decode(bytes, height) {
    const { accounts, pagination } = QueryAccountsResponse.decode(bytes);
    return {
      items: accounts.map((each) => readEscrowAccount(each, height)),
      nextKey: pagination?.nextKey ?? new Uint8Array(),
    };
  },
};

export const escrowPaymentsQuery: ListQuery<EscrowFilter, EscrowPayment> = {
  path: "/akash.escrow.v1.Query/Payments",
  encode: ({ filter, pagination }) =>
    QueryPaymentsRequest.encode(QueryPaymentsRequest.fromPartial({ ...filter, pagination })).finish(),
  decode(bytes, height) {
    const { payments, pagination } = QueryPaymentsResponse.decode(bytes);
    return {
      items: payments.map((each) => readEscrowPayment(each, height)),
      nextKey: pagination?.nextKey ?? new Uint8Array(),
    };
  },
};
