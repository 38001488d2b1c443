/**
 * What a pod takes of its node, exactly as the scheduler of Kubernetes v1.34 counts it (`kubectl describe node` counts
 * the same, except that it does not know pod-level requests). An emptyDir in memory is no request: the scheduler lets it
 * share what the containers asked for, so counting it would make the node look fuller than it is.
 */
import { add, type ExactAmounts, type ReadAmounts, raise } from "./exact-amounts.ts";
import { fieldsOf, listOf, textOf } from "./json-fields.ts";
import type { KubeObject } from "./kube.ts";

/** Whatever the shape of the pod, only `read` may throw. */
export function podRequests(pod: KubeObject, read: ReadAmounts): ExactAmounts {
  const { resources, overhead } = fieldsOf(pod["spec"]);
  const requests = containerRequests(pod, read);
  for (const [name, amount] of read(fieldsOf(resources)["requests"], "requests")) {
    if (podLevel.has(name)) requests.set(name, amount);
  }
  add(requests, read(overhead, "overhead"));
  return requests;
}

/** Pod-level requests say nothing about disk or gpus; those stay the sum of the containers. */
const podLevel: ReadonlySet<string> = new Set(["cpu", "memory"]);

/** The greater of what runs at the end and what the hungriest moment of the start needs. */
function containerRequests(pod: KubeObject, read: ReadAmounts): Map<string, bigint> {
  const { containers, initContainers } = fieldsOf(pod["spec"]);
  const statuses = statusesByName(pod);
  const infeasible = resizeIsInfeasible(pod);
  const heldBy = (container: Fields) => heldAmounts(container, statuses, infeasible, read);

  const running = new Map<string, bigint>();
  for (const container of listOf(containers)) add(running, heldBy(fieldsOf(container)));
  const sidecars = new Map<string, bigint>();
  const starting = new Map<string, bigint>();
  for (const container of listOf(initContainers).map(fieldsOf)) {
    if (isSidecar(container)) {
      // A sidecar goes on running: it adds to everything that starts after it, and to the pod itself.
      const held = heldBy(container);
      add(running, held);
      add(sidecars, held);
      raise(starting, sidecars);
    } else {
      const moment = new Map(sidecars);
      add(moment, requestsOf(container, read));
      raise(starting, moment);
    }
  }
  raise(running, starting);
  return running;
}

type Fields = Readonly<Record<string, unknown>>;

/** Of an init container. */
export function isSidecar({ restartPolicy }: { readonly restartPolicy?: unknown }): boolean {
  return restartPolicy === "Always";
}

function requestsOf({ name, resources }: Fields, read: ReadAmounts): ExactAmounts {
  return read(fieldsOf(resources)["requests"], `requests of container ${name}`);
}

/**
 * A container that can be resized in place holds the most of what it asks for now, what the node has set aside and what
 * the runtime has set; what it asks for in vain does not count.
 */
function heldAmounts(
  container: Fields,
  statuses: ReadonlyMap<string, Fields>,
  infeasible: boolean,
  read: ReadAmounts,
): ExactAmounts {
  const asked = requestsOf(container, read);
  const name = textOf(container["name"]) ?? "";
  const { resources, allocatedResources } = statuses.get(name) ?? {};
  if (resources === undefined || resources === null) return asked;
  const held = new Map(read(fieldsOf(resources)["requests"], `requests in the status of container ${name}`));
  raise(held, read(allocatedResources, `allocatedResources of container ${name}`));
  if (!infeasible) raise(held, asked);
  return held;
}

function statusesByName(pod: KubeObject): ReadonlyMap<string, Fields> {
  const { containerStatuses, initContainerStatuses } = fieldsOf(pod["status"]);
  const statuses = new Map<string, Fields>();
  for (const list of [containerStatuses, initContainerStatuses]) {
    for (const status of listOf(list).map(fieldsOf)) statuses.set(textOf(status["name"]) ?? "", status);
  }
  return statuses;
}

function resizeIsInfeasible(pod: KubeObject): boolean {
  const conditions = listOf(fieldsOf(pod["status"])["conditions"]);
  const pending = conditions.find((condition) => fieldsOf(condition)["type"] === "PodResizePending");
  return fieldsOf(pending)["reason"] === "Infeasible";
}
