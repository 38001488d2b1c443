/** What a node has and what a pod asks of it, in the units in which the scheduler compares them. */

import { type ExactAmounts, readAllAmounts, wholeAmount } from "../../../../kube/exact-amounts.ts";
import { podRequests as exactRequests } from "../../../../kube/pod-requests.ts";
import { invariant } from "../../../../runtime/invariant.ts";
import type { Pod, ResourceList } from "../shapes/pod.ts";

/** By resource: thousandths for cpu, bytes or pieces for all else. */
export type Amounts = ReadonlyMap<string, bigint>;

export function amountsOf(list: ResourceList | undefined): Amounts {
  return whole(readAllAmounts(list, "what a node has"));
}

export function podRequests(pod: Pod): Amounts {
  return whole(exactRequests(pod, readAllAmounts));
}

function whole(exact: ExactAmounts): Amounts {
  return new Map(Array.from(exact, ([name, nano]) => [name, wholeAmount(name, nano)]));
}

export function subtract(total: Map<string, bigint>, amounts: Amounts): void {
  for (const [name, amount] of amounts) {
    const left = (total.get(name) ?? 0n) - amount;
    invariant(left >= 0n, "more was given back than was taken", { resource: name, left });
    total.set(name, left);
  }
}
