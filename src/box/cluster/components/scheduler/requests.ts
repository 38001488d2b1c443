/** A node's resources and a pod's requests, in the units in which the scheduler compares them. */
import { type ExactAmounts, podRequests, readAllAmounts, wholeAmount } from "../../../../kube/pod-requests.ts";
import type { Pod, ResourceList } from "../shapes/pod.ts";

/** By resource: thousandths for cpu, bytes or pieces for all else. */
export type WholeAmounts = ReadonlyMap<string, bigint>;

export function allocatableOf(list: ResourceList | undefined): WholeAmounts {
  return whole(readAllAmounts(list, "what a node has"));
}

export function requestsOf(pod: Pod): WholeAmounts {
  return whole(podRequests(pod, readAllAmounts));
}

function whole(exact: ExactAmounts): WholeAmounts {
  return new Map(Array.from(exact, ([name, nano]) => [name, wholeAmount(name, nano)]));
}
