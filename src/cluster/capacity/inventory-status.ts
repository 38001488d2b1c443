/** What there is, what is promised and what is free, in sums: for the bus, the status and the metrics. */
import type { JsonObject } from "../../bus/topics.ts";
import type { GpuDemand } from "../../market/gpu-attributes.ts";
import { addTo } from "../../market/group-totals.ts";
import { showResource } from "../../market/quantity.ts";
import { largest, smallest } from "../../runtime/bigint.ts";
import type { Amount, ClusterSnapshot } from "./inventory/feed.ts";
import { freeInAll, gpuAt, nodeResources, type Room } from "./placement/room.ts";
import { freeGpus } from "./placement/task.ts";
import type { Book } from "./reservations/book.ts";

/** Storage classes and GPU models that are reported one by one; a large cluster has a few dozen. */
const clusterStatusNames = 100;

export interface ResourceSum {
  /** "cpu", "memory", "storage-ephemeral", "gpu", "storage-beta3", "gpu nvidia/h100" */
  readonly resource: string;
  readonly allocatable: bigint;
  /** Promised, and not in the snapshot yet. */
  readonly reserved: bigint;
  /** Of all nodes together; overbooked nodes count as 0. */
  readonly free: bigint;
}

/** The limit of volumes per node is no capacity to report. */
const reported = nodeResources.filter((resource) => resource !== "volumes");

export function resourceSums(book: Pick<Book, "room" | "snapshot" | "held">): ResourceSum[] {
  const { room, snapshot } = book;
  if (!snapshot) return [];
  const reserved = reservedSums(book);
  const allocatables = allocatablesOf(snapshot);
  const sumOf = (resource: string, allocatable: bigint, free: bigint): ResourceSum => {
    return { resource, allocatable, reserved: reserved.get(resource) ?? 0n, free };
  };
  const classes = snapshot.storage.filter(({ class: name }) => room.classes.has(name)).slice(0, clusterStatusNames);
  return [
    ...reported.map((resource, at) => sumOf(resource, allocatables[at] ?? 0n, freeInAll(room, at))),
    ...classes.map(({ class: name, bytes }) => {
      return sumOf(`storage-${name}`, limited(bytes), largest(room.classes.get(name) ?? 0n, 0n));
    }),
    ...modelSums(room).map(([name, { allocatable, free }]) => sumOf(name, allocatable, free)),
  ];
}

function limited({ allocatable }: Amount): bigint {
  return allocatable === "unlimited" ? 0n : allocatable;
}

function allocatablesOf({ nodes }: ClusterSnapshot): bigint[] {
  const sums = [0n, 0n, 0n, 0n];
  for (const { cpuMilli, memoryBytes, ephemeralBytes, gpus } of nodes) {
    for (const [at, amount] of [cpuMilli, memoryBytes, ephemeralBytes, gpus].entries()) {
      sums[at] = (sums[at] ?? 0n) + limited(amount);
    }
  }
  return sums;
}

function reservedSums({ held, room }: Pick<Book, "held" | "room">): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  // By index first: there may be thousands of holdings.
  const ofNodes = reported.map(() => 0n);
  for (const { claim } of held) {
    const { amounts, classes, gpus } = claim;
    for (let at = 0; at < ofNodes.length; at += 1) ofNodes[at] = (ofNodes[at] ?? 0n) + (amounts[at] ?? 0n);
    for (const [name, bytes] of classes) addTo(sums, `storage-${room.classOf(name)}`, bytes);
    if (gpus) addTo(sums, modelName(gpus), amounts[gpuAt] ?? 0n);
  }
  for (const [at, resource] of reported.entries()) addTo(sums, resource, ofNodes[at] ?? 0n);
  return sums;
}

function modelName({ vendor, model }: Pick<GpuDemand, "vendor" | "model">): string {
  return `gpu ${vendor}/${model}`;
}

function modelSums(room: Room) {
  const models = new Map<string, { allocatable: bigint; free: bigint }>();
  for (const node of room.nodes) {
    const gpusFree = largest(node.free[gpuAt] ?? 0n, 0n);
    // GPUs of one model that differ in their memory are free together.
    for (const [name, kinds] of Map.groupBy(node.gpus.kinds, ({ gpu }) => modelName(gpu))) {
      const sum = models.get(name) ?? { allocatable: 0n, free: 0n };
      if (!models.has(name) && models.size >= clusterStatusNames) continue;
      models.set(name, sum);
      sum.allocatable += BigInt(kinds.reduce((total, { count }) => total + count, 0));
      const [{ gpu } = { gpu: undefined }] = kinds;
      const left = gpu ? freeGpus(node, { vendor: gpu.vendor, model: gpu.model }) : 0;
      sum.free += smallest(BigInt(left), gpusFree);
    }
  }
  return [...models].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** As Kubernetes quantities: "1500m", "4Gi", "2". */
export function sumJson({ resource, allocatable, reserved, free }: ResourceSum): JsonObject {
  const show = (amount: bigint) => showResource(resource, amount);
  return { resource, allocatable: show(allocatable), reserved: show(reserved), free: show(free) };
}
