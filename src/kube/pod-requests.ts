/** Requests and limits of a pod exactly as the scheduler of Kubernetes v1.34 counts them. An emptyDir in memory is no request. */
import { parseQuantity } from "../market/quantity.ts";
import { invariant } from "../runtime/invariant.ts";
import { fieldsOf, listOf, recordsOf, textOf } from "./json-fields.ts";
import type { KubeObject } from "./kube.ts";

/** In 10⁻⁹ths: Kubernetes sums exactly and rounds up once. */
export type ExactAmounts = ReadonlyMap<string, bigint>;

/** Reads a list of quantities; `what` names it in errors. */
export type ReadAmounts = (list: unknown, what: string) => ExactAmounts;

/** Every resource. Throws for an invalid quantity, which the API server does not accept. */
export const readAllAmounts: ReadAmounts = (list, what) => {
  const amounts = new Map<string, bigint>();
  for (const [name, value] of Object.entries(fieldsOf(list))) {
    const { nano } = parseQuantity(String(value));
    invariant(nano >= 0n, "a quantity is negative", { what, resource: name, value: String(value) });
    amounts.set(name, nano);
  }
  return amounts;
};

export function add(total: Map<string, bigint>, amounts: ExactAmounts): void {
  for (const [name, amount] of amounts) total.set(name, (total.get(name) ?? 0n) + amount);
}

/** To the maximum of both by resource. */
export function raise(total: Map<string, bigint>, least: ExactAmounts): void {
  for (const [name, amount] of least) if (amount > (total.get(name) ?? 0n)) total.set(name, amount);
}

const nanoPerMilli = 10n ** 6n;
const nanoPerOne = 10n ** 9n;

/** In thousandths of cpu, and in bytes or pieces of other resources, rounded up. */
export function wholeAmount(name: string, nano: bigint): bigint {
  const nanoPerUnit = name === "cpu" ? nanoPerMilli : nanoPerOne;
  return (nano + nanoPerUnit - 1n) / nanoPerUnit;
}

export function podRequests(pod: KubeObject, read: ReadAmounts): ExactAmounts {
  return podAmounts(pod, "requests", read);
}

/** The limit of the pod, or the sum of its containers where all have one. */
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

/** Resources that pod-level requests replace; others stay the sum of the containers. */
const podLevel: ReadonlySet<string> = new Set(["cpu", "memory"]);

/** The maximum of the running containers and of each step of the initialisation. */
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
      // A sidecar keeps running, so it adds to all that starts after it, and to the pod.
      const held = heldBy(container);
      add(running, held);
      add(sidecars, held);
      raise(starting, sidecars);
    } else {
      const moment = new Map(sidecars);
      add(moment, specAmounts(container, side, read));
      raise(starting, moment);
    }
  }
  raise(running, starting);
  return running;
}

type Fields = Readonly<Record<string, unknown>>;

function isSidecar({ restartPolicy }: { readonly restartPolicy?: unknown }): boolean {
  return restartPolicy === "Always";
}

function specAmounts({ name, resources }: Fields, side: Side, read: ReadAmounts): ExactAmounts {
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
  const spec = specAmounts(container, side, read);
  const name = textOf(container["name"]) ?? "";
  const { resources, allocatedResources } = statuses.get(name) ?? {};
  if (resources === undefined || resources === null) return spec;
  const held = new Map(read(fieldsOf(resources)[side], `${side} in the status of container ${name}`));
  if (side === "requests") raise(held, read(allocatedResources, `allocatedResources of container ${name}`));
  if (!infeasible) raise(held, spec);
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
