/** What there is, what is promised and what is free, in sums: for the bus, the status and the metrics. */
import type { JsonObject } from "../../bus/topics.ts";
import { addTo } from "../../market/group-totals.ts";
import { showResource } from "../../market/quantity.ts";
import type { Amount, ClusterSnapshot } from "./inventory/feed.ts";
import { freeInAll, gpuAt, gpusLeft, kindsFor, nodeResources, type Room } from "./placement/room.ts";
import type { Book } from "./reservations/book.ts";

/** Storage classes, and models of gpus, that are told of one by one; a large cluster has a few dozen. */
const clusterStatusNames = 100;

export interface ResourceSum {
  /** "cpu", "memory", "storage-ephemeral", "gpu", "storage-beta3", "gpu nvidia/h100" */
  readonly resource: string;
  readonly allocatable: bigint;
  /** Promised, and in no picture yet. */
  readonly reserved: bigint;
  /** Of all nodes together; where one is overbooked, nothing of it. */
  readonly free: bigint;
}

/** How many of a node's resources are told of; how many volumes it attaches is nobody's capacity. */
const told = nodeResources.filter((resource) => resource !== "volumes");

export function resourceSums(book: Pick<Book, "room" | "snapshot" | "held">): ResourceSum[] {
  const { room, snapshot } = book;
  if (!snapshot) return [];
  const reserved = reservedSums(book);
  const allocatables = allocatablesOf(snapshot);
  const sums = told.map((resource, at) => ({
    resource,
    allocatable: allocatables[at] ?? 0n,
    reserved: reserved.get(resource) ?? 0n,
    free: freeInAll(room, at),
  }));
  const offered = snapshot.storage.filter(({ class: name }) => room.classes.has(name));
  const classes = offered.slice(0, clusterStatusNames).map(({ class: name, bytes }) => {
    const left = room.classes.get(name) ?? 0n;
    return {
      resource: `storage-${name}`,
      allocatable: limited(bytes),
      reserved: reserved.get(`storage-${name}`) ?? 0n,
      free: left > 0n ? left : 0n,
    };
  });
  return [...sums, ...classes, ...modelSums(room, reserved)];
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
  // There may be thousands of them: what all have is added up without looking for names.
  const ofNodes = told.map(() => 0n);
  for (const { claim } of held) {
    const { amounts, classes, cards } = claim;
    for (let at = 0; at < ofNodes.length; at += 1) ofNodes[at] = (ofNodes[at] ?? 0n) + (amounts[at] ?? 0n);
    for (const [name, bytes] of classes) addTo(sums, `storage-${room.classOf(name)}`, bytes);
    if (cards) addTo(sums, modelName(cards), amounts[gpuAt] ?? 0n);
  }
  for (const [at, resource] of told.entries()) addTo(sums, resource, ofNodes[at] ?? 0n);
  return sums;
}

function modelName({ vendor, model }: { readonly vendor: string; readonly model: string }): string {
  return `gpu ${vendor}/${model}`;
}

function modelSums(room: Room, reserved: ReadonlyMap<string, bigint>): ResourceSum[] {
  const models = new Map<string, { allocatable: bigint; free: bigint }>();
  for (const { cards, free } of room.nodes) {
    const gpusFree = free[gpuAt] ?? 0n;
    const names = cards.kinds.map(({ card }) => modelName(card));
    for (const [at, { card, count }] of cards.kinds.entries()) {
      const name = names[at] ?? "";
      const sum = models.get(name) ?? { allocatable: 0n, free: 0n };
      if (!models.has(name) && models.size >= clusterStatusNames) continue;
      models.set(name, sum);
      sum.allocatable += BigInt(count);
      // Cards of one model that differ in their memory are free together.
      if (names.indexOf(name) < at) continue;
      const left = BigInt(gpusLeft(cards, kindsFor(cards, { vendor: card.vendor, model: card.model })));
      if (gpusFree > 0n) sum.free += left < gpusFree ? left : gpusFree;
    }
  }
  const sorted = [...models].sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([resource, sum]) => ({ resource, reserved: reserved.get(resource) ?? 0n, ...sum }));
}

/** In the words of Kubernetes: "1500m", "4Gi", "2". */
export function sumJson({ resource, allocatable, reserved, free }: ResourceSum): JsonObject {
  const show = (amount: bigint) => showResource(resource, amount);
  return { resource, allocatable: show(allocatable), reserved: show(reserved), free: show(free) };
}
