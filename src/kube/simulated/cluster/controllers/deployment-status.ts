/** What a deployment tells about itself: counts, and whether it is available and gets on. */
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../kinds.ts";
import { type Ground, managers } from "../part.ts";
import { type Condition, conditionOf, withCondition } from "../shapes/metadata.ts";
import { msOf, stampOf } from "../shapes/time.ts";
import type { Deployment, DeploymentStatus, ReplicaSet } from "../shapes/workload.ts";
import { count } from "./replica-set.ts";
import { availableOf, boundsOf, total } from "./rollout.ts";

/** The API's default. */
const deadlineSeconds = 600;
const completed = "NewReplicaSetAvailable";
const late = "ProgressDeadlineExceeded";

type Facts = Required<Omit<DeploymentStatus, "conditions">>;

export interface RolloutSets {
  readonly sets: readonly ReplicaSet[];
  readonly newest: ReplicaSet | undefined;
  /** The newest was made just now. */
  readonly created: boolean;
}

/** Tells when to look again: when the deadline for its progress is over. */
export function writeDeploymentStatus(
  ground: Ground,
  deployment: Deployment,
  rollout: RolloutSets,
): number | undefined {
  const { server, clock } = ground;
  const facts = gather(deployment, rollout.sets, rollout.newest);
  const now = stampOf(clock.now());
  let conditions = deployment.status?.conditions;
  for (const next of [availability(deployment, facts), progressOf(deployment, facts, rollout, clock.now())]) {
    if (next && isNews(conditions, next)) conditions = withCondition(conditions, { ...next, lastUpdateTime: now }, now);
  }
  const status = { ...shown(facts), conditions: conditions ?? [] };
  if (!isDeepStrictEqual(status, deployment.status)) {
    server.updateStatus(kinds.deployment, { ...deployment, status }, managers.controllers);
  }
  return deadlineInMs(deployment, status.conditions, clock.now());
}

function gather(deployment: Deployment, sets: readonly ReplicaSet[], newest: ReplicaSet | undefined): Facts {
  const sum = (field: "replicas" | "readyReplicas") =>
    sets.reduce((all, { status }) => all + (status?.[field] ?? 0), 0);
  const availableReplicas = availableOf(sets);
  return {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: sum("replicas"),
    updatedReplicas: newest?.status?.replicas ?? 0,
    readyReplicas: sum("readyReplicas"),
    availableReplicas,
    unavailableReplicas: Math.max(0, total(sets) - availableReplicas),
  };
}

function shown(facts: Facts): DeploymentStatus {
  return Object.assign({}, ...Object.entries(facts).map(([name, value]) => count(name, value)));
}

function availability(deployment: Deployment, { availableReplicas }: Facts): Condition {
  const { replicas, maxUnavailable } = boundsOf(deployment);
  return availableReplicas >= replicas - maxUnavailable
    ? verdict("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    : verdict("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.");
}

/** Undefined when there is nothing new to say. */
function progressOf(
  deployment: Deployment,
  facts: Facts,
  { newest, created }: RolloutSets,
  nowMs: number,
): Condition | undefined {
  const before = conditionOf(deployment.status?.conditions, "Progressing");
  const name = newest ? `ReplicaSet "${newest.metadata.name}"` : `Deployment "${deployment.metadata.name}"`;
  if (deployment.spec.paused) return verdict("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused");
  if (before?.reason === "DeploymentPaused") {
    return verdict("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed");
  }
  if (created || !before) {
    const message = `Created new replica set "${newest?.metadata.name}"`;
    return newest && verdict("Progressing", "True", "NewReplicaSetCreated", message);
  }
  if (before.reason === completed && facts.replicas === facts.updatedReplicas) return undefined;
  if (isComplete(deployment, facts))
    return verdict("Progressing", "True", completed, `${name} has successfully progressed.`);
  if (hasMoved(deployment.status ?? {}, facts)) {
    return verdict("Progressing", "True", "ReplicaSetUpdated", `${name} is progressing.`);
  }
  if (deadlineInMs(deployment, [before], nowMs) !== 0) return undefined;
  return verdict("Progressing", "False", late, `${name} has timed out progressing.`);
}

function isComplete(deployment: Deployment, { updatedReplicas, replicas, availableReplicas }: Facts): boolean {
  const { replicas: wanted } = boundsOf(deployment);
  return updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted;
}

function hasMoved(before: DeploymentStatus, now: Facts): boolean {
  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = before;
  return (
    now.updatedReplicas > updatedReplicas ||
    now.replicas - now.updatedReplicas < replicas - updatedReplicas ||
    now.readyReplicas > readyReplicas ||
    now.availableReplicas > availableReplicas
  );
}

/** Undefined when nothing is waited for. */
function deadlineInMs({ spec }: Deployment, conditions: readonly Condition[], nowMs: number): number | undefined {
  const { progressDeadlineSeconds = deadlineSeconds, paused } = spec;
  const progress = conditionOf(conditions, "Progressing");
  if (paused || !progress || progress.reason === completed || progress.reason === late) return undefined;
  return Math.max(0, msOf(progress.lastUpdateTime ?? "") + progressDeadlineSeconds * 1_000 - nowMs);
}

function verdict(type: string, status: Condition["status"], reason: string, message: string): Condition {
  return { type, status, reason, message };
}

/** The same status for the same reason is no news, except that progress is news each time. */
function isNews(conditions: readonly Condition[] | undefined, next: Condition): boolean {
  const before = conditionOf(conditions, next.type);
  return before?.status !== next.status || before.reason !== next.reason || next.reason === "ReplicaSetUpdated";
}
