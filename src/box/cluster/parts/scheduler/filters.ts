/** Why a pod cannot run on a node, in the words of the real scheduler. */
import { hardTaints, isTolerated, taintKeys } from "../shapes/node.ts";
import type { Pod } from "../shapes/pod.ts";
import { isWanted } from "./node-affinity.ts";
import type { Amounts } from "./requests.ts";
import type { Room } from "./rooms.ts";
import type { VolumeNeeds } from "./volumes.ts";

export interface Candidate {
  readonly pod: Pod;
  readonly requests: Amounts;
  readonly volumes: VolumeNeeds;
}

export interface Obstacle {
  readonly reasons: readonly string[];
  /** Whether fewer pods on the node could help. */
  readonly passing: boolean;
}

type Filter = (candidate: Candidate, room: Room) => Obstacle | undefined;

/** In the order of the real scheduler: the first one that objects is the one that is told. */
const filters: readonly Filter[] = [nodeIsOpen, taintsAreTolerated, nodeIsWanted, resourcesFit, volumesAreReachable];

export function obstacle(candidate: Candidate, room: Room): Obstacle | undefined {
  for (const filter of filters) {
    const found = filter(candidate, room);
    if (found) return found;
  }
  return undefined;
}

function nodeIsOpen({ pod }: Candidate, { node }: Room): Obstacle | undefined {
  if (!node.spec.unschedulable) return undefined;
  const taint = { key: taintKeys.unschedulable, effect: "NoSchedule" } as const;
  return isTolerated(taint, pod.spec.tolerations) ? undefined : lasting("node(s) were unschedulable");
}

function taintsAreTolerated({ pod }: Candidate, { node }: Room): Obstacle | undefined {
  const tolerated = hardTaints(node).every((taint) => isTolerated(taint, pod.spec.tolerations));
  return tolerated ? undefined : lasting("node(s) had untolerated taint(s)");
}

function nodeIsWanted({ pod }: Candidate, { node }: Room): Obstacle | undefined {
  return isWanted(node, pod) ? undefined : lasting("node(s) didn't match Pod's node affinity/selector");
}

function resourcesFit({ requests }: Candidate, room: Room): Obstacle | undefined {
  let reasons: string[] | undefined;
  let passing = true;
  if (BigInt(room.pods) + 1n > (room.allocatable.get("pods") ?? 0n)) reasons = ["Too many pods"];
  for (const [name, wanted] of requests) {
    if (wanted === 0n) continue;
    const most = room.allocatable.get(name) ?? 0n;
    if (wanted <= most - (room.taken.get(name) ?? 0n)) continue;
    reasons = [...(reasons ?? []), `Insufficient ${name}`];
    if (wanted > most) passing = false;
  }
  return reasons && { reasons, passing };
}

function volumesAreReachable({ volumes }: Candidate, { node }: Room): Obstacle | undefined {
  const reason = volumes.conflictOn(node);
  return reason === undefined ? undefined : lasting(reason);
}

function lasting(reason: string): Obstacle {
  return { reasons: [reason], passing: false };
}
