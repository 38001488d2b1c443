/** One node's inventory, a pure function. What does not add up becomes a condition. */
import { formatBytes, formatCount, formatCpuMilli } from "../../../market/quantity.ts";
import { largest } from "../../../runtime/bigint.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { excludedBy, type InventoryConfig } from "../configuration/inventory-config.ts";
import type { Hardware } from "../hardware.ts";
import { assertSound, type NamedGpu, type NodeInventory, type NotOffered, type ResourceAmounts } from "../inventory.ts";
import { gpuVendors, type SoldResources } from "./resources.ts";
import { gpuText, soldGpus } from "./sold-gpus.ts";
import { noAttachedVolumes, type ProjectedNode, type VolumesByDriver, volumeAmounts } from "./watched-node.ts";
import type { NodeAllocation, WatchedPod } from "./watched-pod.ts";

/** The largest pods of an overbooked node. */
const inventoryPodsNamed = 3;

export interface NodeInputs {
  readonly node: ProjectedNode;
  readonly allocation: NodeAllocation;
  readonly config: InventoryConfig;
  readonly storageClasses: readonly string[];
  readonly namedGpus: readonly NamedGpu[];
  readonly disk?: DiskUse;
  readonly volumeLimits?: VolumesByDriver | undefined;
  readonly hardware?: Hardware | undefined;
  readonly hardwareAtMs?: number | undefined;
  readonly usage?: NodeInventory["usage"];
  readonly conditions?: readonly Condition[];
}

export function nodeInventory(inputs: NodeInputs): NodeInventory {
  const { node, allocation, config, hardware, hardwareAtMs, usage } = inputs;
  const lasting = [...node.notOffered, ...excluded(node, config)];
  const notOffered = [...lasting, ...fullOfPods(node, allocation.pods.length)];
  const { gpus, conditions: ofGpus } = soldGpus(node, inputs.namedGpus);
  const amountsOf = (name: keyof SoldResources): ResourceAmounts => ({
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
    volumes: volumeAmounts(node.attached, inputs.volumeLimits ?? noAttachedVolumes),
  };
  const pluginVendors = gpuVendors.filter((vendor) => node.gpuDevicesCounted[vendor] > 0n);
  const conditions = [
    ...missingStatus(node),
    ...unreadable(node, allocation),
    ...overbooked(amounts, allocation.pods, disk.debt),
    ...unhealthyGpus(amounts.gpus, gpus),
    ...ofGpus,
    ...unknownGpus(pluginVendors, gpus),
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
    namedGpus: gpus,
    ...(hardware && { hardware }),
    ...(hardwareAtMs !== undefined && { hardwareAtMs }),
    ...(usage && { usage }),
    conditions,
  };
}

function excluded({ name }: ProjectedNode, config: InventoryConfig): NotOffered[] {
  const pattern = excludedBy(config, name);
  return pattern === undefined ? [] : [{ type: "Excluded", message: `excluded by the configuration (${pattern})` }];
}

function fullOfPods({ podLimit }: ProjectedNode, pods: number): NotOffered[] {
  if (podLimit === undefined || pods < podLimit) return [];
  return [{ type: "Full", message: `full: it has ${pods} pods and takes ${podLimit}` }];
}

export interface DiskUse {
  readonly volumesBytes: bigint;
  readonly classes: number;
}

/**
 * Pods and local-path volumes share a node's disk, and the scheduler ignores the volumes: what is free is divided
 * between pods and classes. `debt` is the evidence where both together hold more than there is.
 */
export function sharedDisk(whole: ResourceAmounts, { volumesBytes, classes }: DiskUse) {
  const { capacity, allocatable, allocated } = whole;
  const left = allocatable - allocated - volumesBytes;
  if (left >= 0n) return { amounts: { capacity, allocatable: allocated + left / BigInt(1 + classes), allocated } };
  // The pods alone hold too much, which their sum shows.
  if (volumesBytes === 0n) return { amounts: whole };
  const [pods, volumes, disk] = [allocated, volumesBytes, allocatable].map((bytes) => formatBytes(bytes));
  return {
    amounts: { capacity, allocatable: largest(0n, allocatable - volumesBytes), allocated },
    debt: `disk: pods hold ${pods} and local-path volumes ${volumes} of its ${disk}`,
  };
}

const shown = {
  cpuMilli: { word: "cpu", format: formatCpuMilli },
  memoryBytes: { word: "memory", format: formatBytes },
  ephemeralBytes: { word: "ephemeral storage", format: formatBytes },
  gpus: { word: "gpus", format: formatCount },
} as const satisfies Record<keyof SoldResources, unknown>;

function overbooked(
  amounts: Readonly<Record<keyof SoldResources | "volumes", ResourceAmounts>>,
  pods: readonly WatchedPod[],
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

function isOver({ allocatable, allocated }: ResourceAmounts): boolean {
  return allocated > allocatable;
}

/** "cpu: 10 of 8 allocatable are taken by 3 pods: a/web-0 6, b/web-0 3, c/job 1" */
function sumText(
  name: keyof SoldResources,
  { allocatable, allocated }: ResourceAmounts,
  pods: readonly WatchedPod[],
): string {
  const { word, format } = shown[name];
  const takers = pods
    .filter((pod) => pod[name] > 0n)
    .sort((a, b) => Number(b[name] - a[name]) || (a.name < b.name ? -1 : 1));
  const named = takers.slice(0, inventoryPodsNamed).map((pod) => `${pod.name} ${format(pod[name])}`);
  const rest = takers.length - named.length;
  const list = rest > 0 ? [...named, `and ${rest} more`] : named;
  const noun = takers.length === 1 ? "pod" : "pods";
  return `${word}: ${format(allocated)} of ${format(allocatable)} allocatable are taken by ${takers.length} ${noun}: ${list.join(", ")}`;
}

function missingStatus({ hasStatus }: ProjectedNode): Condition[] {
  if (hasStatus) return [];
  return [condition("StatusMissing", "the node has no status; nothing of it is offered")];
}

function unreadable(node: ProjectedNode, { pods }: NodeAllocation): Condition[] {
  const [pod, ...others] = pods.filter(({ problem }) => problem !== undefined);
  const more = others.length > 0 ? `, and of ${others.length} more pods` : "";
  const problems = [node.problem, pod && `of pod ${pod.name}, ${pod.problem}${more}`];
  return problems.flatMap((problem) =>
    problem === undefined ? [] : condition("QuantityMalformed", `counted as nothing: ${problem}`),
  );
}

/** The device plugin's count already excludes unhealthy GPUs. */
function unhealthyGpus({ capacity, allocatable }: ResourceAmounts, gpus: readonly NamedGpu[]): Condition[] {
  const evidence = gpus
    .filter(({ health }) => health?.healthy === false)
    .map((gpu) => `${gpuText(gpu)}: ${gpu.health?.reason ?? "unhealthy"}`);
  if (capacity > allocatable)
    evidence.unshift(`the device plugin reports ${capacity - allocatable} of ${capacity} unhealthy`);
  return evidence.length === 0 ? [] : [condition("UnhealthyGpu", evidence.join("; "))];
}

/** An unnamed AMD GPU without a device plugin is taken for the graphics of a processor. */
function unknownGpus(pluginVendors: readonly string[], gpus: readonly NamedGpu[]): Condition[] {
  const unknown = gpus.filter(
    ({ name, vendor, notSold }) =>
      name === undefined && notSold === undefined && (vendor !== "amd" || pluginVendors.includes(vendor)),
  );
  const kinds = new Map(unknown.map((gpu) => [`${gpu.vendorId}:${gpu.deviceId}`, gpu]));
  return [...kinds].map(([ids, { vendor, registryLine }]) => {
    const remedy = `this line would add it: ${registryLine}`;
    return condition("UnknownGpu", `the registry has no name for the ${vendor} GPU ${ids}; ${remedy}`);
  });
}
