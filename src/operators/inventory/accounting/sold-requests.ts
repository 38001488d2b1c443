/** What a pod takes of what is sold. */
import type { KubeObject } from "../../../kube/kube.ts";
import { podRequests } from "../../../kube/pod-requests.ts";
import { type Resources, readAmounts, wholeResources } from "./resources.ts";

export interface SoldRequests extends Resources {
  /** The first quantity that could not be read and counts as nothing. */
  readonly problem?: string;
}

export function soldRequests(pod: KubeObject): SoldRequests {
  const problems: string[] = [];
  const onProblem = (problem: string) => void problems.push(problem);
  const requests = wholeResources(podRequests(pod, (list, what) => readAmounts(list, what, onProblem)));
  const [problem] = problems;
  return problem === undefined ? requests : { ...requests, problem };
}
