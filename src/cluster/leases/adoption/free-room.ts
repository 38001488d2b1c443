/**
 * What the nodes have free by their own word and their pods' requests: cpu, memory and ephemeral storage. That can be read of any
 * cluster; GPUs and storage classes are known to the inventory operator, and are left out here.
 */
import { fieldsOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { serviceLabel } from "../../../kube/objects/lease-labels.ts";
import { type ExactAmounts, podRequests, readAllAmounts, wholeAmount } from "../../../kube/pod-requests.ts";
import type { Overcommit } from "../../../market/fit.ts";
import { type ResourceUnit, volumeKind } from "../../../market/group-spec.ts";
import { place } from "../../capacity/placement/place.ts";
import { openRoom, type Room } from "../../capacity/placement/room.ts";
import { claimsOf } from "../../capacity/placement/task.ts";
import { nodeTakesPods } from "../watched-network.ts";

export function freeRoom(nodes: readonly KubeObject[], pods: readonly KubeObject[]): Room {
  const byNode = Map.groupBy(pods.filter(hasNode), (pod) => fieldsOf(pod["spec"])["nodeName"]);
  const rooms = nodes.filter(nodeTakesPods).map((node) => {
    const { name } = node.metadata;
    const has = readAllAmounts(fieldsOf(node["status"])["allocatable"], `allocatable of ${name}`);
    const taken = (byNode.get(name) ?? []).map((pod) => podRequests(pod, readAllAmounts));
    const free = (resource: string) =>
      taken.reduce((left, requests) => left - whole(requests, resource), whole(has, resource));
    return {
      name,
      ...{ cpuMilli: free("cpu"), memoryBytes: free("memory"), ephemeralBytes: free("ephemeral-storage") },
      ...{ gpus: 0n, gpuCounts: [], unknownGpus: 0n, volumes: undefined, storageClasses: [] },
    };
  });
  return openRoom({ nodes: rooms, classes: new Map() });
}

/** How many of each service have a node, by namespace and service. */
export function podsOnNodes(pods: readonly KubeObject[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { metadata } of pods.filter(hasNode)) {
    if (metadata.deletionTimestamp !== undefined) continue;
    const service = `${metadata.namespace} ${metadata.labels?.[serviceLabel]}`;
    counts.set(service, (counts.get(service) ?? 0) + 1);
  }
  return counts;
}

/** One that has ended, as an evicted one, keeps its node's name and takes nothing there. */
function hasNode(pod: KubeObject): boolean {
  const { phase } = fieldsOf(pod["status"]);
  return fieldsOf(pod["spec"])["nodeName"] !== undefined && phase !== "Succeeded" && phase !== "Failed";
}

/** Takes the room of these replicas; where they have none, says why, and takes nothing. */
export function takeRoom(room: Room, units: readonly ResourceUnit[], overcommit: Overcommit): string | undefined {
  const plain = units.map((unit) => ({
    ...unit,
    gpu: { count: 0n, attributes: [] },
    storage: unit.storage.filter((volume) => !volumeKind(volume).persistent),
  }));
  const fit = place(room, plain, { overcommit });
  if (!fit.fits) return fit.reason;
  for (const claim of claimsOf(fit, overcommit)) room.take(claim);
  return undefined;
}

function whole(amounts: ExactAmounts, name: string): bigint {
  return wholeAmount(name, amounts.get(name) ?? 0n);
}
