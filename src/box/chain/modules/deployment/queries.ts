/** Queries of the deployment module. */
import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import * as answers from "../../../../chain/codec/wire-messages.ts";
import { deploymentAccount } from "../../../../market/escrow-arithmetic.ts";
import { writeCoins } from "../../coins.ts";
import { sdkError } from "../../errors.ts";
import { filteredList } from "../../filtered-list.ts";
import { readQueriedId } from "../../market-ids.ts";
import type { Context, QueryHandler } from "../../module.ts";
import { escrowAccounts } from "../escrow/records.ts";
import { writeAccount } from "../escrow/wire.ts";
import type { DeploymentParams } from "./creation.ts";
import {
  type Deployment,
  deploymentStates,
  deployments,
  findDeployment,
  findGroup,
  groupsOf,
  writeDeployment,
  writeGroup,
} from "./records.ts";

export function deploymentQueries({ minDeposits }: DeploymentParams): Record<string, QueryHandler> {
  return {
    "/akash.deployment.v1beta4.Query/Deployments": (context, request) => {
      const { filters, pagination } = akash.QueryDeploymentsRequest.decode(request);
      const listed = filteredList({ table: deployments(context), states: deploymentStates }, filters, pagination);
      return answers.queryDeploymentsResponse.encode({
        deployments: listed.items.map((deployment) => answer(context, deployment)),
        pagination: listed.pagination,
      });
    },
    "/akash.deployment.v1beta4.Query/Deployment": (context, request) => {
      const deployment = findDeployment(context, readQueriedId(akash.QueryDeploymentRequest.decode(request).id));
      if (!deployment) throw sdkError("keyNotFound", "Deployment not found");
      return answers.queryDeploymentResponse.encode(answer(context, deployment));
    },
    "/akash.deployment.v1beta4.Query/Group": (context, request) => {
      const group = findGroup(context, readQueriedId(akash.QueryGroupRequest.decode(request).id));
      if (!group) throw sdkError("keyNotFound", "Group not found");
      return akash.QueryGroupResponse.encode({ group: writeGroup(group) }).finish();
    },
    "/akash.deployment.v1beta4.Query/Params": () => {
      return akash.QueryParamsResponse.encode({ params: { minDeposits: writeCoins(minDeposits) } }).finish();
    },
  };
}

function answer(context: Context, deployment: Deployment): answers.QueryDeploymentResponse {
  const account = escrowAccounts(context).get(deploymentAccount(deployment.id));
  return {
    deployment: writeDeployment(deployment),
    groups: groupsOf(context, deployment.id).map(writeGroup),
    escrowAccount: account && writeAccount(account),
  };
}
