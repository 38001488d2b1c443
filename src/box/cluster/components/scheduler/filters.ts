/** Why a pod cannot run on a node, in the words of the real scheduler, and which of the nodes that do is the best. */
import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import { meets, type Requirement } from "../../api-server/objects/label-selector.ts";
import { isTolerated, type KubeNode } from "../shapes/node.ts";
import type { NodeSelector, Pod } from "../shapes/pod.ts";
import type { WholeAmounts } from "./requests.ts";
import type { NodeRoom } from "./rooms.ts";
import type { VolumeNeeds } from "./volumes.ts";

export interface Candidate {
  readonly pod: Pod;
  readonly requests: WholeAmounts;
  readonly volumes: VolumeNeeds;
}

export const unwanted = "node(s) didn't match Pod's node affinity/selector";

/** In the order of the real scheduler: the first filter that fails is reported. */
export function obstacles({ pod, requests, volumes }: Candidate, room: NodeRoom): readonly string[] {
  const { unschedulable, taints = [] } = room.node.spec;
  if (unschedulable) return ["node(s) were unschedulable"];
  const hard = taints.filter(({ effect }) => effect !== "PreferNoSchedule");
  if (!hard.every((taint) => isTolerated(taint, pod.spec.tolerations))) return ["node(s) had untolerated taint(s)"];
  if (!isWanted(room.node, pod)) return [unwanted];
  const short = shortages(requests, room);
  return short.length > 0 ? short : volumes.conflictOn(room.node);
}

export function isWanted(node: KubeNode, { spec }: Pod): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) if (labels[key] !== value) return false;
  return matches(node, spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution);
}

/** Every line of a term must hold; a term without lines matches nothing. */
export function matches({ metadata }: KubeNode, selector: NodeSelector | undefined): boolean {
  const { name, labels = {} } = metadata;
  if (!selector) return true;
  return selector.nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false;
    const isNamed = matchFields.every((line) => meets(line, { "metadata.name": name }));
    return isNamed && matchExpressions.every((line) => holds(line, labels));
  });
}

/** Only node selectors compare numbers; a value that is no integer matches nothing. */
function holds(line: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const { key, operator, values = [] } = line;
  if (operator !== "Gt" && operator !== "Lt") return meets(line, labels);
  const [value, bound] = [labels[key], values[0]].map((text) => (/^[+-]?\d+$/.test(text ?? "") ? Number(text) : NaN));
  return operator === "Gt" ? Number(value) > Number(bound) : Number(value) < Number(bound);
}

function shortages(requests: WholeAmounts, { allocatable, taken, pods }: NodeRoom): string[] {
  const short = BigInt(pods) + 1n > (allocatable.get("pods") ?? 0n) ? ["Too many pods"] : [];
  for (const [name, wanted] of requests) {
    const left = (allocatable.get(name) ?? 0n) - (taken.get(name) ?? 0n);
    if (wanted > 0n && wanted > left) short.push(`Insufficient ${name}`);
  }
  return short;
}

/**
 * What a pod may demand that is not simulated. Better it waits than that it runs where or how a real one never would.
 * What is only preferred may be left aside.
 */
export function unknownDemand({ spec }: Pod): string | undefined {
  const { podAffinity, podAntiAffinity } = fieldsOf(spec.affinity);
  const isRequired = (affinity: unknown) =>
    listOf(fieldsOf(affinity)["requiredDuringSchedulingIgnoredDuringExecution"]).length > 0;
  const spreads = recordsOf(spec["topologySpreadConstraints"]);
  const demands = {
    "required pod affinity": isRequired(podAffinity),
    "required pod anti-affinity": isRequired(podAntiAffinity),
    "topology spread constraints": spreads.some((each) => each["whenUnsatisfiable"] === "DoNotSchedule"),
    "init containers": listOf(spec["initContainers"]).length > 0,
  };
  const unknown = Object.entries(demands).flatMap(([what, isDemanded]) => (isDemanded ? [what] : []));
  return unknown.length === 0 ? undefined : `the simulated scheduler does not know ${unknown.join(" and ")}`;
}

/** The one with the most room; then the one with fewer pods; then the name, so that the same history repeats. */
export function bestRoom(rooms: readonly NodeRoom[]): NodeRoom | undefined {
  const shares = new Map(rooms.map((room) => [room, freeShare(room)]));
  const shareOf = (room: NodeRoom) => shares.get(room) ?? 0;
  return rooms.toSorted(
    (a, b) => shareOf(b) - shareOf(a) || a.pods - b.pods || (a.node.metadata.name < b.node.metadata.name ? -1 : 1),
  )[0];
}

function freeShare({ allocatable, taken }: NodeRoom): number {
  const [cpu = 0, memory = 0] = ["cpu", "memory"].map((name) => {
    const capacity = Number(allocatable.get(name) ?? 0n);
    return capacity === 0 ? 0 : 1 - Number(taken.get(name) ?? 0n) / capacity;
  });
  return cpu + memory;
}
