/**
 * What a pod takes of its node, exactly as the scheduler of Kubernetes v1.34 counts it (`kubectl describe node` counts
 * the same, except that it does not know pod-level requests). An emptyDir in memory is no request: the scheduler lets it
 * share what the containers asked for, so counting it would make the node look fuller than it is.
 */
import type { KubeObject } from "../../../kube/kube.ts";
import { fieldsOf, listOf, textOf } from "../json-fields.ts";
import {
  type ExactAmounts,
  greater,
  noAmounts,
  type OnProblem,
  overriddenBy,
  plus,
  type Resources,
  readAmounts,
  wholeResources,
} from "./resources.ts";

export interface PodRequests extends Resources {
  /** The first quantity that could not be read and counts as nothing. */
  readonly problem?: string;
}

export function podRequests(pod: KubeObject): PodRequests {
  const problems: string[] = [];
  const onProblem: OnProblem = (problem) => void problems.push(problem);
  const spec = fieldsOf(pod["spec"]);
  const containers = containerAmounts(pod, onProblem);
  const atPodLevel = overriddenBy(containers, fieldsOf(spec["resources"])["requests"], "requests", onProblem);
  const requests = wholeResources(plus(atPodLevel, readAmounts(spec["overhead"], "overhead", onProblem)));
  const [problem] = problems;
  return problem === undefined ? requests : { ...requests, problem };
}

/** The greater of what runs at the end and what the hungriest moment of the start needs. */
function containerAmounts(pod: KubeObject, onProblem: OnProblem): ExactAmounts {
  const spec = fieldsOf(pod["spec"]);
  const statuses = statusesByName(pod);
  const infeasible = resizeIsInfeasible(pod);
  const amountsOf = (container: unknown) => runningAmounts(container, statuses, infeasible, onProblem);

  let running = noAmounts;
  for (const container of listOf(spec["containers"])) running = plus(running, amountsOf(container));
  let sidecars = noAmounts;
  let starting = noAmounts;
  for (const container of listOf(spec["initContainers"])) {
    if (fieldsOf(container)["restartPolicy"] === "Always") {
      // A sidecar goes on running: it adds to everything that starts after it, and to the pod itself.
      const amounts = amountsOf(container);
      running = plus(running, amounts);
      sidecars = plus(sidecars, amounts);
      starting = greater(starting, sidecars);
    } else {
      starting = greater(starting, plus(sidecars, requestsOf(container, onProblem)));
    }
  }
  return greater(running, starting);
}

function requestsOf(container: unknown, onProblem: OnProblem): ExactAmounts {
  const { name, resources } = fieldsOf(container);
  return readAmounts(fieldsOf(resources)["requests"], `requests of container ${name}`, onProblem);
}

/**
 * A container that can be resized in place holds the most of what it asks for now, what the node has set aside and what
 * the runtime has set; what it asks for in vain does not count.
 */
function runningAmounts(
  container: unknown,
  statuses: ReadonlyMap<string, unknown>,
  infeasible: boolean,
  onProblem: OnProblem,
): ExactAmounts {
  const asked = requestsOf(container, onProblem);
  const name = textOf(fieldsOf(container)["name"]) ?? "";
  const { resources, allocatedResources } = fieldsOf(statuses.get(name));
  if (resources === undefined || resources === null) return asked;
  const set = readAmounts(fieldsOf(resources)["requests"], `requests in the status of container ${name}`, onProblem);
  const aside = readAmounts(allocatedResources, `allocatedResources of container ${name}`, onProblem);
  const held = greater(set, aside);
  return infeasible ? held : greater(asked, held);
}

function statusesByName(pod: KubeObject): ReadonlyMap<string, unknown> {
  const { containerStatuses, initContainerStatuses } = fieldsOf(pod["status"]);
  const all = [...listOf(containerStatuses), ...listOf(initContainerStatuses)];
  return new Map(all.map((status) => [textOf(fieldsOf(status)["name"]) ?? "", status]));
}

function resizeIsInfeasible(pod: KubeObject): boolean {
  const conditions = listOf(fieldsOf(pod["status"])["conditions"]).map(fieldsOf);
  return conditions.find(({ type }) => type === "PodResizePending")?.["reason"] === "Infeasible";
}
