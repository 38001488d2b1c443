/**
 * One node's inventory, folded from what is known of it. Nothing is remembered here, so it can be made anew at any time
 * and is the same. What does not add up becomes a condition; no number is ever bent to fit.
 */

import { formatBytes, formatCount, formatCpuMilli } from "../../../market/quantity.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { excludedBy, type InventoryConfig } from "../configuration/inventory-config.ts";
import type { Hardware } from "../hardware.ts";
import { type Amounts, assertSound, type NamedGpu, type NodeInventory, type NotOffered } from "../inventory.ts";
import type { NodeAllocation } from "./allocations.ts";
import { gpuVendors, type SoldResources } from "./resources.ts";
import { cardText, soldCards } from "./sold-cards.ts";
import { noVolumes, type VolumesByDriver, volumeAmounts, type WatchedNode } from "./watched-node.ts";
import type { WatchedPod } from "./watched-pod.ts";

/** Pods named in the evidence of an overbooked node: the largest ones explain it. */
const inventoryPodsTold = 3;

export interface NodeInputs {
  readonly node: WatchedNode;
  readonly allocation: NodeAllocation;
  readonly config: InventoryConfig;
  /** The classes whose volumes it can mount. */
  readonly storageClasses: readonly string[];
  readonly namedGpus: readonly NamedGpu[];
  /** What volumes take of its disk; without it, nothing. */
  readonly disk?: DiskUse;
  /** From its CSINode, where there is one. */
  readonly volumeLimits?: VolumesByDriver | undefined;
  /** The last good answer of discovery, and when it came. */
  readonly hardware?: Hardware | undefined;
  readonly hardwareAtMs?: number | undefined;
  readonly usage?: NodeInventory["usage"];
  /** What others have to say about the node. */
  readonly conditions?: readonly Condition[];
}

export function nodeInventory(inputs: NodeInputs): NodeInventory {
  const { node, allocation, config, hardware, hardwareAtMs, usage } = inputs;
  const lasting = [...node.notOffered, ...excluded(node, config)];
  const notOffered = [...lasting, ...fullOfPods(node, allocation.pods.size)];
  const { cards, conditions: ofCards } = soldCards(node, inputs.namedGpus);
  const amountsOf = (name: keyof SoldResources): Amounts => ({
    capacity: node.capacity[name],
    allocatable: node.allocatable[name],
    allocated: allocation.sum[name],
  });
  const disk = sharedDisk(amountsOf("ephemeralBytes"), inputs.disk ?? { volumesBytes: 0n, classes: 0 });
  const amounts = {
    cpuMilli: amountsOf("cpuMilli"),
    memoryBytes: amountsOf("memoryBytes"),
    ephemeralBytes: disk.amounts,
    gpus: amountsOf("gpus"),
    volumes: volumeAmounts(node.attached, inputs.volumeLimits ?? noVolumes),
  };
  const pluginVendors = gpuVendors.filter((vendor) => node.gpuDevicesCounted[vendor] > 0n);
  const conditions = [
    ...missingStatus(node),
    ...unreadable(node, allocation),
    ...overbooked(amounts, allocation.pods, disk.debt),
    ...unhealthyGpus(amounts.gpus, cards),
    ...ofCards,
    ...unknownGpus(pluginVendors, cards),
    ...(inputs.conditions ?? []),
  ];
  assertSound(node.name, Object.values(amounts), conditions);
  return {
    name: node.name,
    offered: notOffered.length === 0,
    notOffered,
    ...amounts,
    pluginVendors,
    storageClasses: lasting.length === 0 ? inputs.storageClasses : [],
    ...(hardware && { hardware }),
    ...(hardwareAtMs !== undefined && { hardwareAtMs }),
    namedGpus: cards,
    ...(usage && { usage }),
    conditions,
  };
}

function excluded({ name }: WatchedNode, config: InventoryConfig): NotOffered[] {
  const pattern = excludedBy(config, name);
  return pattern === undefined ? [] : [{ type: "Excluded", message: `excluded by the configuration (${pattern})` }];
}

/** Where no further pod fits, nothing can run, however much is left of the rest. */
function fullOfPods({ podLimit }: WatchedNode, pods: number): NotOffered[] {
  if (podLimit === undefined || pods < podLimit) return [];
  return [{ type: "Full", message: `full: it has ${pods} pods and takes ${podLimit}` }];
}

export interface DiskUse {
  /** What volumes of local-path hold, of whatever class. */
  readonly volumesBytes: bigint;
  /** How many classes of it are sold on this node. */
  readonly classes: number;
}

/**
 * Of a node's disk pods take ephemeral storage and local-path makes folders for its volumes. The scheduler knows nothing
 * of the folders, so what is not kept apart here is sold both ways. What is free of the amounts is also what each class
 * is offered of this disk; the debt is the evidence, where volumes and pods together hold more than there is.
 */
export function sharedDisk(
  whole: Amounts,
  { volumesBytes, classes }: DiskUse,
): { readonly amounts: Amounts; readonly debt?: string } {
  const { capacity, allocatable, allocated } = whole;
  const left = allocatable - allocated - volumesBytes;
  if (left >= 0n) return { amounts: { capacity, allocatable: allocated + left / BigInt(1 + classes), allocated } };
  // Without volumes it is the pods that hold too much, which their sum shows.
  if (volumesBytes === 0n) return { amounts: whole };
  const besideVolumes = allocatable > volumesBytes ? allocatable - volumesBytes : 0n;
  return {
    amounts: { capacity, allocatable: besideVolumes, allocated },
    debt: `disk: pods hold ${formatBytes(allocated)} and local-path volumes ${formatBytes(volumesBytes)} of its ${formatBytes(allocatable)}`,
  };
}

const shown = {
  cpuMilli: { word: "cpu", format: formatCpuMilli },
  memoryBytes: { word: "memory", format: formatBytes },
  ephemeralBytes: { word: "ephemeral storage", format: formatBytes },
  gpus: { word: "gpus", format: formatCount },
} as const satisfies Record<keyof SoldResources, unknown>;

/** The evidence when more of the node is taken than it has: how much, and by which pods. */
function overbooked(
  amounts: Readonly<Record<keyof SoldResources | "volumes", Amounts>>,
  pods: Iterable<WatchedPod>,
  diskDebt: string | undefined,
): Condition[] {
  const resources = Object.keys(shown) as (keyof SoldResources)[];
  const evidence = resources.filter((name) => isOver(amounts[name])).map((name) => sumText(name, amounts[name], pods));
  if (diskDebt !== undefined) evidence.push(diskDebt);
  const { volumes } = amounts;
  if (isOver(volumes))
    evidence.push(`volumes: ${volumes.allocated} are attached, ${volumes.allocatable} are allocatable`);
  return evidence.length === 0 ? [] : [condition("Overbooked", evidence.join("; "))];
}

function isOver({ allocatable, allocated }: Amounts): boolean {
  return allocated > allocatable;
}

/** "cpu: 10 of 8 allocatable are taken by 3 pods: a/web-0 6, b/web-0 3, c/job 1" */
function sumText(name: keyof SoldResources, { allocatable, allocated }: Amounts, pods: Iterable<WatchedPod>): string {
  const { word, format } = shown[name];
  const takers = [...pods]
    .filter((pod) => pod[name] > 0n)
    .sort((a, b) => Number(b[name] - a[name]) || (a.name < b.name ? -1 : 1));
  const named = takers.slice(0, inventoryPodsTold).map((pod) => `${pod.name} ${format(pod[name])}`);
  const rest = takers.length - named.length;
  const list = rest > 0 ? [...named, `and ${rest} more`] : named;
  const noun = takers.length === 1 ? "pod" : "pods";
  return `${word}: ${format(allocated)} of ${format(allocatable)} allocatable are taken by ${takers.length} ${noun}: ${list.join(", ")}`;
}

function missingStatus({ hasStatus }: WatchedNode): Condition[] {
  if (hasStatus) return [];
  return [condition("StatusMissing", "the node does not say what it has; nothing of it is offered")];
}

function unreadable(node: WatchedNode, allocation: NodeAllocation): Condition[] {
  const found: Condition[] = [];
  const add = (what: string) => found.push(condition("QuantityMalformed", `counted as nothing: ${what}`));
  if (node.problem !== undefined) add(node.problem);
  if (allocation.unreadable > 0) {
    // Only then are the pods looked at one by one: the fold must not cost more the more pods there are.
    const pod = [...allocation.pods].find(({ problem }) => problem !== undefined);
    const more = allocation.unreadable > 1 ? `, and of ${allocation.unreadable - 1} more pods` : "";
    add(`of pod ${pod?.name}, ${pod?.problem}${more}`);
  }
  return found;
}

/**
 * How many gpus there are is what the device plugins say: one that they hold for unhealthy is no longer allocatable.
 * What discovery sees of a card's health takes away its name in the market, and nothing from that count a second time.
 */
function unhealthyGpus({ capacity, allocatable }: Amounts, cards: readonly NamedGpu[]): Condition[] {
  const evidence = cards
    .filter(({ health }) => health?.healthy === false)
    .map((card) => `${cardText(card)}: ${card.health?.reason ?? "unhealthy"}`);
  if (capacity > allocatable) evidence.unshift(`the device plugin holds ${capacity - allocatable} of ${capacity} back`);
  return evidence.length === 0 ? [] : [condition("UnhealthyGpu", evidence.join("; "))];
}

/**
 * A processor of AMD may have graphics of its own, which nobody sells and no registry will name. Without a device plugin
 * that counts cards of AMD, one without a name is taken for that; NVIDIA makes nothing of the kind.
 */
function unknownGpus(pluginVendors: readonly string[], cards: readonly NamedGpu[]): Condition[] {
  const unknown = cards.filter(
    ({ name, vendor, notSold }) =>
      name === undefined && notSold === undefined && (vendor !== "amd" || pluginVendors.includes(vendor)),
  );
  const kinds = new Map(unknown.map((card) => [`${card.vendorId}:${card.deviceId}`, card]));
  return [...kinds].map(([ids, { vendor, registryLine }]) => {
    const remedy = `this line would give it one: ${registryLine}`;
    return condition("UnknownGpu", `the registry has no name for the ${vendor} card ${ids}; ${remedy}`);
  });
}
