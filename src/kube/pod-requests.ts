/** Requests of a pod exactly as the scheduler of Kubernetes v1.34 counts them, and its limits. An emptyDir in memory is no request. */
import { add, type ExactAmounts, type ReadAmounts, raise } from "./exact-amounts.ts";
import { fieldsOf, listOf, recordsOf, textOf } from "./json-fields.ts";
import type { KubeObject } from "./kube.ts";

/** Whatever the shape of the pod, only `read` may throw. */
export function podRequests(pod: KubeObject, read: ReadAmounts): ExactAmounts {
  return podAmounts(pod, "requests", read);
}

/** The limit of the pod's cgroup. Without it every container and each moment of the start must have one. */
export function podMemoryLimit(pod: KubeObject, read: ReadAmounts): bigint | undefined {
  const { resources, containers, initContainers } = fieldsOf(pod["spec"]);
  const limits = [...listOf(containers), ...listOf(initContainers)].map((each) => fieldsOf(each)["resources"]);
  const isLimited = (list: unknown) => (read(fieldsOf(list)["limits"], "limits").get("memory") ?? 0n) > 0n;
  if (!isLimited(resources) && !limits.every(isLimited)) return undefined;
  return podAmounts(pod, "limits", read).get("memory");
}

type Side = "requests" | "limits";

function podAmounts(pod: KubeObject, side: Side, read: ReadAmounts): ExactAmounts {
  const { resources, overhead } = fieldsOf(pod["spec"]);
  const amounts = containerAmounts(pod, side, read);
  for (const [name, amount] of read(fieldsOf(resources)[side], side)) {
    if (podLevel.has(name)) amounts.set(name, amount);
  }
  add(amounts, read(overhead, "overhead"));
  return amounts;
}

/** What is said of the pod says nothing about disk or gpus; those stay the sum of the containers. */
const podLevel: ReadonlySet<string> = new Set(["cpu", "memory"]);

/** The greater of what runs at the end and what the hungriest moment of the start needs. */
function containerAmounts(pod: KubeObject, side: Side, read: ReadAmounts): Map<string, bigint> {
  const { containers, initContainers } = fieldsOf(pod["spec"]);
  const statuses = statusesByName(pod);
  const infeasible = resizeIsInfeasible(pod);
  const heldBy = (container: Fields) => heldAmounts(container, side, statuses, infeasible, read);

  const running = new Map<string, bigint>();
  for (const container of listOf(containers)) add(running, heldBy(fieldsOf(container)));
  const sidecars = new Map<string, bigint>();
  const starting = new Map<string, bigint>();
  for (const container of recordsOf(initContainers)) {
    if (isSidecar(container)) {
      // A sidecar goes on running: it adds to everything that starts after it, and to the pod itself.
      const held = heldBy(container);
      add(running, held);
      add(sidecars, held);
      raise(starting, sidecars);
    } else {
      const moment = new Map(sidecars);
      add(moment, askedAmounts(container, side, read));
      raise(starting, moment);
    }
  }
  raise(running, starting);
  return running;
}

type Fields = Readonly<Record<string, unknown>>;

/** Of an init container. */
function isSidecar({ restartPolicy }: { readonly restartPolicy?: unknown }): boolean {
  return restartPolicy === "Always";
}

function askedAmounts({ name, resources }: Fields, side: Side, read: ReadAmounts): ExactAmounts {
  return read(fieldsOf(resources)[side], `${side} of container ${name}`);
}

/** A container resized in place holds the largest of its spec, its allocation and its status; infeasible requests do not count. */
function heldAmounts(
  container: Fields,
  side: Side,
  statuses: ReadonlyMap<string, Fields>,
  infeasible: boolean,
  read: ReadAmounts,
): ExactAmounts {
  const asked = askedAmounts(container, side, read);
  const name = textOf(container["name"]) ?? "";
  const { resources, allocatedResources } = statuses.get(name) ?? {};
  if (resources === undefined || resources === null) return asked;
  const held = new Map(read(fieldsOf(resources)[side], `${side} in the status of container ${name}`));
  if (side === "requests") raise(held, read(allocatedResources, `allocatedResources of container ${name}`));
  if (!infeasible) raise(held, asked);
  return held;
}

function statusesByName(pod: KubeObject): ReadonlyMap<string, Fields> {
  const { containerStatuses, initContainerStatuses } = fieldsOf(pod["status"]);
  const statuses = new Map<string, Fields>();
  for (const list of [containerStatuses, initContainerStatuses]) {
    for (const status of recordsOf(list)) statuses.set(textOf(status["name"]) ?? "", status);
  }
  return statuses;
}

function resizeIsInfeasible(pod: KubeObject): boolean {
  const conditions = listOf(fieldsOf(pod["status"])["conditions"]);
  const pending = conditions.find((condition) => fieldsOf(condition)["type"] === "PodResizePending");
  return fieldsOf(pending)["reason"] === "Infeasible";
}
