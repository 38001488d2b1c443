/** The module of deployments: what tenants do with theirs, and with the groups in them. */
import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { msgCreateDeployment } from "../../../../chain/codec/wire-messages.ts";
import { deploymentAccount } from "../../../../market/escrow-arithmetic.ts";
import type { DeploymentId, GroupId } from "../../../../market/ids.ts";
import { readDeploymentId, readGroupId } from "../../market-ids.ts";
import { type Context, type Module, messageEntry } from "../../module.ts";
import type { Escrow } from "../escrow/escrow.ts";
import { endGroup, openOrder } from "../market/market.ts";
import { checkCreation, checkHash, type DeploymentParams, readCreation, type WindowBounds } from "./creation.ts";
import { deploymentError } from "./errors.ts";
import { deploymentQueries } from "./queries.ts";
import {
  changeGroup,
  type Deployment,
  findDeployment,
  findGroup,
  type Group,
  saveDeployment,
  saveGroup,
} from "./records.ts";

export function deploymentModule(escrow: Escrow, params: DeploymentParams, reclamationWindowNs: WindowBounds): Module {
  return {
    messages: {
      "/akash.deployment.v1beta4.MsgCreateDeployment": messageEntry(msgCreateDeployment, {
        signer: ownerOf,
        read: readCreation,
        handle(context, message) {
          const { deployment, groups, deposits } = checkCreation(context, message, params, reclamationWindowNs);
          saveDeployment(context, deployment, "Created");
          for (const group of groups) saveGroup(context, group);
          for (const { id, spec } of groups) openOrder(context, id, spec, deployment.reclamation);
          escrow.createAccount(context, deploymentAccount(deployment.id), deployment.id.owner, deposits);
        },
      }),
      "/akash.deployment.v1beta4.MsgUpdateDeployment": messageEntry(akash.MsgUpdateDeployment, {
        signer: ownerOf,
        read(wire) {
          const id = readDeploymentId(wire.id);
          checkHash(wire.hash);
          return { id, hash: wire.hash };
        },
        handle(context, { id, hash }) {
          const deployment = activeDeployment(context, id);
          // The same hash says that the manifest is the same: there would be nothing to update.
          if (Buffer.compare(hash, deployment.hash) === 0) throw deploymentError("invalidHash");
          saveDeployment(context, { ...deployment, hash }, "Updated");
        },
      }),
      "/akash.deployment.v1beta4.MsgCloseDeployment": messageEntry(akash.MsgCloseDeployment, {
        signer: ownerOf,
        read: ({ id }) => readDeploymentId(id),
        // The deployment lives as long as its account; escrow notifies all modules when that ends.
        handle: (context, id) => escrow.closeAccount(context, deploymentAccount(activeDeployment(context, id).id)),
      }),
      "/akash.deployment.v1beta4.MsgCloseGroup": messageEntry(akash.MsgCloseGroup, {
        signer: ownerOf,
        read: ({ id }) => readGroupId(id),
        handle(context, id) {
          changeGroup(context, groupAt(context, id, { closed: "groupClosed" }), "closed", "Closed");
          endGroup(context, escrow, id, "closed");
        },
      }),
      "/akash.deployment.v1beta4.MsgPauseGroup": messageEntry(akash.MsgPauseGroup, {
        signer: ownerOf,
        read: ({ id }) => readGroupId(id),
        handle(context, id) {
          const group = groupAt(context, id, { closed: "groupClosed", paused: "groupPaused" });
          changeGroup(context, group, "paused", "Paused");
          endGroup(context, escrow, id, "paused");
        },
      }),
      "/akash.deployment.v1beta4.MsgStartGroup": messageEntry(akash.MsgStartGroup, {
        signer: ownerOf,
        read: ({ id }) => readGroupId(id),
        handle(context, id) {
          const group = groupAt(context, id, { closed: "groupClosed", open: "groupOpen" });
          changeGroup(context, group, "open", "Started");
          openOrder(context, id, group.spec, deploymentAt(context, id).reclamation);
        },
      }),
    },
    queries: deploymentQueries(params),
  };
}

function ownerOf({ id }: { id: { owner: string } | undefined }): string {
  return id?.owner ?? "";
}

function deploymentAt(context: Context, id: DeploymentId): Deployment {
  const deployment = findDeployment(context, id);
  if (!deployment) throw deploymentError("deploymentNotFound");
  return deployment;
}

function activeDeployment(context: Context, id: DeploymentId): Deployment {
  const deployment = deploymentAt(context, id);
  if (deployment.state !== "active") throw deploymentError("deploymentClosed");
  return deployment;
}

type StateErrors = Partial<Record<Group["state"], Parameters<typeof deploymentError>[0]>>;

function groupAt(context: Context, id: GroupId, errors: StateErrors): Group {
  const group = findGroup(context, id);
  if (!group) throw deploymentError("groupNotFound");
  const error = errors[group.state];
  if (error) throw deploymentError(error);
  return group;
}
