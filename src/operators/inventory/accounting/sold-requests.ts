/** What a pod takes of what is sold. */
import type { ReadAmounts } from "../../../kube/exact-amounts.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { podRequests } from "../../../kube/pod-requests.ts";
import { withRamVolumes } from "./ram-volumes.ts";
import { type Resources, readAmounts, wholeResources } from "./resources.ts";

export interface SoldRequests extends Resources {
  /** The first quantity that could not be read and counts as nothing. */
  readonly problem?: string;
}

export function soldRequests(pod: KubeObject): SoldRequests {
  const problems: string[] = [];
  const onProblem = (problem: string) => void problems.push(problem);
  const read: ReadAmounts = (list, what) => readAmounts(list, what, onProblem);
  const requests = podRequests(pod, read);
  const requested = requests.get("memory") ?? 0n;
  const held = withRamVolumes(pod, requested, read);
  const taken = wholeResources(held === requested ? requests : new Map(requests).set("memory", held));
  const [problem] = problems;
  return problem === undefined ? taken : { ...taken, problem };
}
