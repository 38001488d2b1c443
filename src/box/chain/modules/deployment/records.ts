/** Deployments and their groups, as they are kept and as they travel. */
import { Deployment as WireDeploymentCodec } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  type GroupSpec,
  type Group as WireGroup,
  Group as WireGroupCodec,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { type DeploymentReclamation, type WireDeployment, writeId } from "../../../../chain/codec/wire-messages.ts";
import { type DeploymentId, type GroupId, groupOf } from "../../../../market/ids.ts";
import { typedEvent } from "../../events.ts";
import { payForIndexes } from "../../gas.ts";
import { deploymentKey, groupKey } from "../../market-ids.ts";
import type { Context } from "../../module.ts";
import type { Table } from "../../store.ts";

export const deploymentStates = { active: 1, closed: 2 } as const;

const groupStates = { open: 1, paused: 2, insufficient_funds: 3, closed: 4 } as const;

export interface Deployment {
  readonly id: DeploymentId;
  readonly state: keyof typeof deploymentStates;
  /** Of the manifest, so that the provider knows the tenant's own. */
  readonly hash: Uint8Array;
  readonly createdAt: bigint;
  readonly reclamation: DeploymentReclamation | undefined;
}

export interface Group {
  readonly id: GroupId;
  readonly state: keyof typeof groupStates;
  readonly spec: GroupSpec;
  readonly createdAt: bigint;
}

export function deployments(context: Context): Table<Deployment> {
  return context.store.table("deployment/deployments");
}

function groups(context: Context): Table<Group> {
  return context.store.table("deployment/groups");
}

export function findDeployment(context: Context, id: DeploymentId): Deployment | undefined {
  return deployments(context).get(deploymentKey(id));
}

export function findGroup(context: Context, id: GroupId): Group | undefined {
  return groups(context).get(groupKey(id));
}

/** Listed by state; an event reports each change. */
export function saveDeployment(
  context: Context,
  deployment: Deployment,
  event: "Created" | "Updated" | "Closed",
): void {
  payForIndexes(context, 1n);
  deployments(context).set(deploymentKey(deployment.id), deployment);
  const fields = { id: { ...deployment.id }, ...(event !== "Closed" && { hash: deployment.hash }) };
  context.emit(typedEvent(`akash.deployment.v1.EventDeployment${event}`, fields));
}

/** Listed by state and by deployment. */
export function saveGroup(context: Context, group: Group): void {
  payForIndexes(context, 2n);
  groups(context).set(groupKey(group.id), group);
}

export function changeGroup(
  context: Context,
  group: Group,
  state: Group["state"],
  event: "Closed" | "Paused" | "Started",
): void {
  saveGroup(context, { ...group, state });
  context.emit(typedEvent(`akash.deployment.v1.EventGroup${event}`, { id: { ...groupOf(group.id) } }));
}

/** Groups are numbered without gaps and never deleted. */
export function groupsOf(context: Context, id: DeploymentId): Group[] {
  const found: Group[] = [];
  for (let gseq = 1; ; gseq += 1) {
    const group = findGroup(context, { owner: id.owner, dseq: id.dseq, gseq });
    if (!group) return found;
    found.push(group);
  }
}

export function writeDeployment({ id, state, hash, createdAt, reclamation }: Deployment): WireDeployment {
  const known = WireDeploymentCodec.fromPartial({ id: writeId(id), state: deploymentStates[state], hash, createdAt });
  return { ...known, reclamation };
}

export function writeGroup({ id, state, spec, createdAt }: Group): WireGroup {
  const known = WireGroupCodec.fromPartial({ id: writeId(id), state: groupStates[state], createdAt });
  return { ...known, groupSpec: spec };
}
