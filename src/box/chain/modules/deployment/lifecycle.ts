/** How deployments and groups come, change and go; each step says so in an event. */
import { groupOf } from "../../../../market/ids.ts";
import { typedEvent } from "../../events.ts";
import type { Context } from "../../module.ts";
import { type Deployment, type Group, saveDeployment, saveGroup } from "./records.ts";

export function createDeployment(context: Context, deployment: Deployment, its: readonly Group[]): void {
  saveDeployment(context, deployment);
  for (const group of its) saveGroup(context, group);
  const { id, hash } = deployment;
  context.emit(typedEvent("akash.deployment.v1.EventDeploymentCreated", { id: { ...id }, hash }));
}

export function updateDeployment(context: Context, deployment: Deployment, hash: Uint8Array): void {
  saveDeployment(context, { ...deployment, hash });
  context.emit(typedEvent("akash.deployment.v1.EventDeploymentUpdated", { id: { ...deployment.id }, hash }));
}

export function closeDeployment(context: Context, deployment: Deployment): void {
  saveDeployment(context, { ...deployment, state: "closed" });
  context.emit(typedEvent("akash.deployment.v1.EventDeploymentClosed", { id: { ...deployment.id } }));
}

export function closeGroup(context: Context, group: Group, state: "closed" | "insufficient_funds"): void {
  changeGroup(context, group, state, "EventGroupClosed");
}

export function pauseGroup(context: Context, group: Group): void {
  changeGroup(context, group, "paused", "EventGroupPaused");
}

export function startGroup(context: Context, group: Group): void {
  changeGroup(context, group, "open", "EventGroupStarted");
}

function changeGroup(context: Context, group: Group, state: Group["state"], event: string): void {
  saveGroup(context, { ...group, state });
  context.emit(typedEvent(`akash.deployment.v1.${event}`, { id: { ...groupOf(group.id) } }));
}
