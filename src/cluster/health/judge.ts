import { hour } from "../../runtime/durations.ts";
import {
  type HealthProblem,
  type HealthReason,
  healthReasons,
  healthStartingMs,
  type LeaseHealth,
  type ServiceHealth,
} from "./lease-health.ts";
import { nodeLost, type PodFacts, type PodProblem, volumeElsewhere } from "./pod-health.ts";

/** An older end does not explain why its successor is not ready. */
const healthEndedRecentMs = hour;

export interface WantedService {
  readonly name: string;
  readonly count: number;
}

export interface WorkloadFacts {
  /** A stateful set; else a deployment. */
  readonly isSet: boolean;
  /** Why its pods cannot be created, in the API server's words. */
  readonly failure: string | undefined;
}

export interface ClaimFacts {
  readonly service: string;
  readonly storageClass: string | undefined;
  /** "Pending", "Bound", "Lost" */
  readonly phase: string;
}

export interface HealthFacts {
  readonly services: readonly WantedService[];
  readonly pods: readonly PodFacts[];
  /** Those that are not being deleted, by service. */
  readonly workloads: ReadonlyMap<string, WorkloadFacts>;
  readonly claims: readonly ClaimFacts[];
  /** Why the API server rejects the manifest, where nothing ran before. */
  readonly rejection?: string | undefined;
  readonly isNodeReady: (node: string) => boolean;
  /** Ready, and neither cordoned nor tainted. */
  readonly takesPods: (node: string) => boolean;
  readonly nowMs: number;
}

/** `before` has the beginnings of what still holds. */
export function judge(facts: HealthFacts, before: LeaseHealth | undefined): LeaseHealth {
  const judged = facts.services.map((service) => judgeService(service, facts, before));
  const services = judged.map(({ health }) => health);
  const isHealthy = services.every(({ ready, wanted }) => ready >= wanted);
  const troubles = judged.flatMap(({ health, troubles }) => merged(health.name, troubles, before, facts.nowMs));
  const evidence = judged.flatMap((each) => each.evidence);
  const isTenantsFault = evidence.length > 0 && evidence.every(isTenants) && facts.pods.every(isOnSoundNode(facts));
  return { state: isHealthy ? "healthy" : "unhealthy", services, troubles, isTenantsFault };
}

function isTenants({ isTenantsFault = false }: PodProblem): boolean {
  return isTenantsFault;
}

/** Also of a pod that works or is being deleted: one that crashes may need what is on a node that is being drained. */
function isOnSoundNode({ takesPods }: HealthFacts) {
  return ({ state, on }: PodFacts) => state === "ended" || on === undefined || takesPods(on);
}

interface JudgedService {
  readonly health: ServiceHealth;
  /** Why it is not ready; also of surplus replicas, as in an update. */
  readonly evidence: readonly PodProblem[];
  /** One per missing replica, and what ended others recently. */
  readonly troubles: readonly PodProblem[];
}

function judgeService(
  { name, count }: WantedService,
  facts: HealthFacts,
  before: LeaseHealth | undefined,
): JudgedService {
  const { pods, workloads, isNodeReady } = facts;
  const workload = workloads.get(name);
  // Pods of a predecessor of the other kind are being deleted.
  const own = pods.filter(({ service, ofSet }) => service === name && (!workload || ofSet === workload.isSet));
  const isAway = ({ on }: PodFacts) => on !== undefined && !isNodeReady(on);
  const ready = own.filter((pod) => pod.state === "ready" && !isAway(pod)).length;
  if (ready >= count) return { health: { name, wanted: count, ready, unobserved: 0 }, evidence: [], troubles: [] };
  const living = own.filter((pod) => pod.state === "unready" || (pod.state === "ready" && isAway(pod)));
  const missing = count - ready;
  const found = living.map((pod) => (isAway(pod) ? nodeLost : remembered(problemOf(pod, facts), name, before)));
  // A stateful set creates no successor while its predecessor's end is unknown.
  const stuck = own.filter((pod) => pod.state === "leaving" && isAway(pod)).length;
  for (let at = 0; at < stuck && found.length < missing; at++) found.push(nodeLost);
  const rejection = rejectionOf(workload?.failure, facts);
  const troubles = found.slice(0, missing);
  while (troubles.length < missing) troubles.push(rejection ?? notThere(workload));
  const unobserved = troubles.filter((problem) => !isTenants(problem)).length;
  const ended = own.filter((pod) => isRecent(pod, facts.nowMs)).flatMap(({ problem }) => problem ?? []);
  return {
    health: { name, wanted: count, ready, unobserved },
    evidence: rejection || isUnmade(own, count, workload?.isSet) ? [...found, rejection ?? notThere(workload)] : found,
    troubles: [...troubles, ...ended],
  };
}

/** A retried pull no longer shows why the last one failed. */
function remembered(problem: PodProblem, service: string, before: LeaseHealth | undefined): PodProblem {
  const known = knownProblem(before, service, problem.reason);
  if (!known?.message.startsWith(problem.message)) return problem;
  return { ...problem, message: known.message, isTenantsFault: known.isTenantsFault ?? false };
}

function problemOf(pod: PodFacts, { claims, nowMs }: HealthFacts): PodProblem {
  const { problem, service, on, createdAtMs } = pod;
  const own = claims.filter((claim) => claim.service === service);
  if (problem?.nodesAway && own.some(({ phase }) => phase === "Bound")) return volumeElsewhere;
  if (problem) return problem;
  const unbound = own.find(({ phase }) => phase !== "Bound");
  if (unbound && on === undefined) return { reason: "VolumeNotBound", message: claimText(unbound) };
  if (nowMs - createdAtMs < healthStartingMs) return { reason: "NotReady", message: "it is starting" };
  const hint = own.length > 0 ? "; its volume may still be in use on another machine" : "";
  return { reason: "NotReady", message: `it has not become ready yet${hint}` };
}

function claimText({ storageClass, phase }: ClaimFacts): string {
  const what = storageClass === undefined ? "its volume" : `its volume of class ${storageClass}`;
  return phase === "Lost" ? `${what} is lost` : `it waits for ${what}, which has not been made yet`;
}

/** Whether a pod is missing that the cluster should have created. Of a stateful set, only Events say why it does not. */
function isUnmade(own: readonly PodFacts[], count: number, isSet = false): boolean {
  const there = own.filter(({ state }) => state !== "ended");
  if (!isSet) return there.length < count;
  const made = new Set(there.map(({ ordinal }) => ordinal));
  const next = Array.from({ length: count }, (_, ordinal) => ordinal).find((ordinal) => !made.has(ordinal));
  // A stateful set creates a pod when all before it are ready.
  return next !== undefined && !there.some(({ ordinal = 0, state }) => state !== "ready" && ordinal < next);
}

function notThere(workload: WorkloadFacts | undefined): PodProblem {
  return { reason: "NotReady", message: workload ? "its replica has not been made yet" : "it is being deployed" };
}

/** The server rejects its pods or the whole manifest. Webhooks and quotas are not the tenant's fault. */
function rejectionOf(failure: string | undefined, { rejection }: HealthFacts): PodProblem | undefined {
  if (failure === undefined && rejection === undefined) return undefined;
  const why = /quota|limitrange/i.test(failure ?? "") ? "more than it may have here" : "rejected by the cluster";
  const isTenantsFault = failure === undefined && webhookIn(rejection ?? "") === undefined;
  return { reason: "NotCreated", message: `its replica cannot be made: ${why}`, isTenantsFault };
}

/** The webhook or policy that rejects an object or does not respond, by the server's words. */
export function webhookIn(words: string): string | undefined {
  return /(?:admission|calling) webhook "([^"]{1,253})"|ValidatingAdmissionPolicy '([^']{1,253})'/
    .exec(words)
    ?.slice(1)
    .find((name) => name !== undefined);
}

function isRecent({ state, endedAtMs, createdAtMs }: PodFacts, nowMs: number): boolean {
  return state === "ended" && nowMs - (endedAtMs ?? createdAtMs) < healthEndedRecentMs;
}

/** Merged by reason, the gravest first. */
function merged(
  service: string,
  troubles: readonly PodProblem[],
  before: LeaseHealth | undefined,
  nowMs: number,
): HealthProblem[] {
  return [...Map.groupBy(troubles, ({ reason }) => reason)]
    .map(([reason, same]) => {
      const known = knownProblem(before, service, reason);
      const { message, isTenantsFault } = same.reduce((a, b) => (b.message.length > a.message.length ? b : a));
      const sinceMs = known?.sinceMs ?? nowMs;
      return { service, reason, message, replicas: same.length, sinceMs, ...(isTenantsFault && { isTenantsFault }) };
    })
    .sort((a, b) => healthReasons.indexOf(a.reason) - healthReasons.indexOf(b.reason));
}

function knownProblem(
  before: LeaseHealth | undefined,
  service: string,
  reason: HealthReason,
): HealthProblem | undefined {
  return before?.troubles.find((each) => each.service === service && each.reason === reason);
}
