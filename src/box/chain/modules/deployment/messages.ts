/** What tenants do with their deployments and groups. */
import {
  type GroupSpec,
  MsgCloseDeployment,
  MsgCloseGroup,
  MsgPauseGroup,
  MsgStartGroup,
  MsgUpdateDeployment,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { generated } from "../../../../chain/codec/message.ts";
import { type DeploymentReclamation, msgCreateDeployment } from "../../../../chain/codec/reclamation.ts";
import type { DeploymentId, GroupId } from "../../../../market/ids.ts";
import { readDeploymentId, readGroupId } from "../../market-ids.ts";
import { messageEntry } from "../../message-entry.ts";
import type { Context, MessageEntry } from "../../module.ts";
import type { Escrow } from "../escrow/escrow.ts";
import { deploymentAccount } from "../escrow/ids.ts";
import { acceptCreation, checkHash, readCreation, type WindowBounds } from "./creation.ts";
import { closeGroup, createDeployment, pauseGroup, startGroup, updateDeployment } from "./lifecycle.ts";
import type { DeploymentParams } from "./params.ts";
import { type Deployment, findDeployment, findGroup, type Group } from "./records.ts";
import { deploymentRefusal } from "./refusals.ts";

/** What deployments need of the market: orders are its business. */
export interface OrderBook {
  createOrder(context: Context, id: GroupId, spec: GroupSpec, reclamation: DeploymentReclamation | undefined): void;
  /** Ends every order, bid and lease of a group that is now in this state. */
  endGroup(context: Context, id: GroupId, state: Group["state"]): void;
}

export interface DeploymentDeps {
  readonly orders: OrderBook;
  readonly escrow: Escrow;
  readonly params: DeploymentParams;
  readonly reclamationWindowNs: WindowBounds;
}

export function deploymentMessages(deps: DeploymentDeps): Record<string, MessageEntry> {
  const { orders, escrow } = deps;
  return {
    "/akash.deployment.v1beta4.MsgCreateDeployment": messageEntry({
      codec: msgCreateDeployment,
      signer: ownerOf,
      read: readCreation,
      handle(context, message) {
        const { deployment, groups, deposits } = acceptCreation(
          context,
          message,
          deps.params,
          deps.reclamationWindowNs,
        );
        createDeployment(context, deployment, groups);
        for (const { id, spec } of groups) orders.createOrder(context, id, spec, deployment.reclamation);
        escrow.createAccount(context, deploymentAccount(deployment.id), deployment.id.owner, deposits);
      },
    }),
    "/akash.deployment.v1beta4.MsgUpdateDeployment": messageEntry({
      codec: generated(MsgUpdateDeployment),
      signer: ownerOf,
      read(wire) {
        const id = readDeploymentId(wire.id);
        checkHash(wire.hash);
        return { id, hash: wire.hash };
      },
      handle(context, { id, hash }) {
        const deployment = activeDeployment(context, id);
        // The same hash says that the manifest is the same: there would be nothing to update.
        if (Buffer.compare(hash, deployment.hash) === 0) throw deploymentRefusal("invalidHash");
        updateDeployment(context, deployment, hash);
      },
    }),
    "/akash.deployment.v1beta4.MsgCloseDeployment": messageEntry({
      codec: generated(MsgCloseDeployment),
      signer: ownerOf,
      read: ({ id }) => readDeploymentId(id),
      // The deployment lives as long as its account; when that ends, escrow tells everyone.
      handle: (context, id) => escrow.closeAccount(context, deploymentAccount(activeDeployment(context, id).id)),
    }),
    "/akash.deployment.v1beta4.MsgCloseGroup": messageEntry({
      codec: generated(MsgCloseGroup),
      signer: ownerOf,
      read: ({ id }) => readGroupId(id),
      handle(context, id) {
        const group = groupAt(context, id, { closed: "groupClosed" });
        closeGroup(context, group, "closed");
        orders.endGroup(context, id, "closed");
      },
    }),
    "/akash.deployment.v1beta4.MsgPauseGroup": messageEntry({
      codec: generated(MsgPauseGroup),
      signer: ownerOf,
      read: ({ id }) => readGroupId(id),
      handle(context, id) {
        const group = groupAt(context, id, { closed: "groupClosed", paused: "groupPaused" });
        pauseGroup(context, group);
        orders.endGroup(context, id, "paused");
      },
    }),
    "/akash.deployment.v1beta4.MsgStartGroup": messageEntry({
      codec: generated(MsgStartGroup),
      signer: ownerOf,
      read: ({ id }) => readGroupId(id),
      handle(context, id) {
        const group = groupAt(context, id, { closed: "groupClosed", open: "groupOpen" });
        startGroup(context, group);
        orders.createOrder(context, id, group.spec, deploymentAt(context, id).reclamation);
      },
    }),
  };
}

function ownerOf({ id }: { id: { owner: string } | undefined }): string {
  return id?.owner ?? "";
}

function deploymentAt(context: Context, id: DeploymentId): Deployment {
  const deployment = findDeployment(context, id);
  if (!deployment) throw deploymentRefusal("deploymentNotFound");
  return deployment;
}

function activeDeployment(context: Context, id: DeploymentId): Deployment {
  const deployment = deploymentAt(context, id);
  if (deployment.state !== "active") throw deploymentRefusal("deploymentClosed");
  return deployment;
}

type StateRefusals = Partial<Record<Group["state"], Parameters<typeof deploymentRefusal>[0]>>;

function groupAt(context: Context, id: GroupId, refused: StateRefusals): Group {
  const group = findGroup(context, id);
  if (!group) throw deploymentRefusal("groupNotFound");
  const refusal = refused[group.state];
  if (refusal) throw deploymentRefusal(refusal);
  return group;
}
