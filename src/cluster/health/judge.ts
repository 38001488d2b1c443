/**
 * From what is wanted and what there is to how a lease is doing. It is healthy when every service has as many ready
 * replicas as it wants. Of one that has fewer, each replica that is missing has one trouble.
 */

import { limits } from "../../runtime/limits.ts";
import type { LeaseHealth, ServiceHealth, Trouble, TroubleReason } from "./lease-health.ts";
import { troubleReasons } from "./lease-health.ts";
import type { PodFacts } from "./pod-facts.ts";
import { nodeLost, type PodTrouble, volumeElsewhere } from "./pod-trouble.ts";

export interface WantedService {
  readonly name: string;
  readonly count: number;
}

export interface WorkloadFacts {
  /** A stateful set; else a deployment. */
  readonly isSet: boolean;
  /** Why its pods cannot be made, in the server's words. */
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
  /** Those that are not on their way out, by service. */
  readonly workloads: ReadonlyMap<string, WorkloadFacts>;
  readonly claims: readonly ClaimFacts[];
  readonly isHeardOf: (node: string) => boolean;
  /** Some node of ours takes no pods now, and may again. */
  readonly isSomeNodeAway: boolean;
  readonly nowMs: number;
}

/** How it was before says since when what is still so. */
export function judge(facts: HealthFacts, before: LeaseHealth | undefined): LeaseHealth {
  const judged = facts.services.map((service) => judgeService(service, facts, before));
  const services = judged.map(({ health }) => health);
  const isHealthy = services.every(({ ready, wanted }) => ready >= wanted);
  const troubles = judged.flatMap(({ health, troubles }) => toldOf(health.name, troubles, before, facts.nowMs));
  return { state: isHealthy ? "healthy" : "unhealthy", services, troubles };
}

interface JudgedService {
  readonly health: ServiceHealth;
  /** One for each replica that is missing, and what ended others lately. */
  readonly troubles: readonly PodTrouble[];
}

function judgeService(
  { name, count }: WantedService,
  facts: HealthFacts,
  before: LeaseHealth | undefined,
): JudgedService {
  const { pods, workloads, isHeardOf } = facts;
  const workload = workloads.get(name);
  // What its predecessor of the other kind left is on its way out.
  const own = pods.filter(({ service, ofSet }) => service === name && (!workload || ofSet === workload.isSet));
  const isAway = ({ on }: PodFacts) => on !== undefined && !isHeardOf(on);
  const ready = own.filter((pod) => pod.state === "ready" && !isAway(pod)).length;
  if (ready >= count) return { health: { name, wanted: count, ready, unobserved: 0 }, troubles: [] };
  const living = own.filter((pod) => pod.state === "unready" || (pod.state === "ready" && isAway(pod)));
  const missing = count - ready;
  const troubles = living.map((pod) => (isAway(pod) ? nodeLost : troubleOf(pod, facts))).slice(0, missing);
  // A stateful set makes no successor while nobody knows whether the one before still runs.
  const stuck = own.filter((pod) => pod.state === "leaving" && isAway(pod)).length;
  for (let at = 0; at < stuck && troubles.length < missing; at++) troubles.push(nodeLost);
  while (troubles.length < missing) troubles.push(notThere(workload));
  const sinceMs = knownTrouble(before, name, "Unschedulable")?.sinceMs ?? facts.nowMs;
  const isPatient = facts.isSomeNodeAway && facts.nowMs - sinceMs < limits.healthNodeAwayMs;
  const unobserved = troubles.filter((each) => waitsForNode(each) || (each.nodesAway && isPatient)).length;
  const ended = own.filter((pod) => isRecent(pod, facts.nowMs)).flatMap(({ trouble }) => trouble ?? []);
  return { health: { name, wanted: count, ready, unobserved }, troubles: [...troubles, ...ended] };
}

function waitsForNode({ reason, waitsForNode = false }: PodTrouble): boolean {
  return reason === "NodeLost" || waitsForNode;
}

function troubleOf(pod: PodFacts, { claims, nowMs }: HealthFacts): PodTrouble {
  const { trouble, service, on, createdAtMs } = pod;
  const own = claims.filter((claim) => claim.service === service);
  if (trouble?.nodesAway && own.some(({ phase }) => phase === "Bound")) return volumeElsewhere;
  if (trouble) return trouble;
  const unbound = own.find(({ phase }) => phase !== "Bound");
  if (unbound && on === undefined) return { reason: "VolumeNotBound", message: claimText(unbound) };
  if (nowMs - createdAtMs < limits.healthStartingMs) return { reason: "NotReady", message: "it is starting" };
  const message =
    own.length > 0
      ? "it has not become ready yet; its volume may still be in use on another machine"
      : "it has not become ready yet";
  return { reason: "NotReady", message };
}

function claimText({ storageClass, phase }: ClaimFacts): string {
  const what = storageClass === undefined ? "its volume" : `its volume of class ${storageClass}`;
  return phase === "Lost" ? `${what} is lost` : `it waits for ${what}, which has not been made yet`;
}

function notThere(workload: WorkloadFacts | undefined): PodTrouble {
  if (!workload) return { reason: "NotReady", message: "it is being deployed" };
  if (workload.failure === undefined) return { reason: "NotReady", message: "its replica has not been made yet" };
  const why = /quota|limitrange/i.test(workload.failure) ? "more than it may have here" : "refused by the cluster";
  return { reason: "NotCreated", message: `its replica cannot be made: ${why}` };
}

/** Those of longer ago say nothing about why it is not well now, and are kept by the cluster all the same. */
function isRecent({ state, endedAtMs, createdAtMs }: PodFacts, nowMs: number): boolean {
  return state === "ended" && nowMs - (endedAtMs ?? createdAtMs) < limits.healthEndedToldMs;
}

/** Alike ones as one, the gravest first. */
function toldOf(
  service: string,
  troubles: readonly PodTrouble[],
  before: LeaseHealth | undefined,
  nowMs: number,
): Trouble[] {
  return [...Map.groupBy(troubles, ({ reason }) => reason)]
    .map(([reason, alike]) => {
      const known = knownTrouble(before, service, reason);
      const messages = alike.map(({ message }) => message);
      // The longest says most. A pull that is tried again forgets why the last one failed.
      const longest = messages.reduce((a, b) => (b.length > a.length ? b : a));
      const message = known?.message.startsWith(longest) ? known.message : longest;
      return { service, reason, message, replicas: alike.length, sinceMs: known?.sinceMs ?? nowMs };
    })
    .sort((a, b) => troubleReasons.indexOf(a.reason) - troubleReasons.indexOf(b.reason));
}

function knownTrouble(before: LeaseHealth | undefined, service: string, reason: TroubleReason): Trouble | undefined {
  return before?.troubles.find((each) => each.service === service && each.reason === reason);
}
