/** Small clusters and groups for tests of placement: what is not named is ample, or nothing. */
import {
  type ClusterRoom,
  type GpuCount,
  type NodeRoom,
  unknownGpus,
} from "../../../src/cluster/capacity/placement/room.ts";
import { decCoinOf } from "../../../src/market/coin.ts";
import { decimalOf } from "../../../src/market/decimal.ts";
import { type Gpu, gpuOf } from "../../../src/market/gpu-attributes.ts";
import type { ResourceUnit, Volume } from "../../../src/market/group-spec.ts";

export const gi = 2n ** 30n;

export function sampleGpu(model: string, memorySize = "80Gi", kind = "PCIe", vendor = "nvidia"): Gpu {
  return gpuOf({ vendor, name: model, memorySize, interface: kind });
}

/** A node with all its GPUs free, but those of which a number is said to be taken. */
export function sampleNode(name: string, some: Partial<NodeRoom> & { takenGpus?: bigint } = {}): NodeRoom {
  const { takenGpus = 0n, ...given } = some;
  const gpuCounts = given.gpuCounts ?? [];
  const listed = gpuCounts.reduce((sum, { count }) => sum + count, 0n);
  const gpus = given.gpus ?? listed - takenGpus;
  return {
    name,
    cpuMilli: 64_000n,
    memoryBytes: 512n * gi,
    ephemeralBytes: 1024n * gi,
    gpus,
    gpuCounts,
    unknownGpus: unknownGpus(listed, listed, gpus),
    volumes: undefined,
    storageClasses: [],
    ...given,
  };
}

export function cluster(nodes: readonly NodeRoom[], classes: Record<string, bigint | undefined> = {}): ClusterRoom {
  return { nodes, classes: new Map(Object.entries(classes)) };
}

export function gpuCount(model: string, count: bigint, memorySize?: string, kind?: string): GpuCount {
  return { gpu: sampleGpu(model, memorySize, kind), count };
}

export interface SampleUnit {
  readonly id?: number;
  readonly count?: number;
  readonly cpuMilli?: bigint;
  readonly memoryBytes?: bigint;
  /** One volume of ephemeral storage. */
  readonly ephemeralBytes?: bigint;
  readonly gpus?: bigint;
  /** What follows "vendor/", for instance "nvidia/model/a100". */
  readonly models?: readonly string[];
  readonly volumes?: readonly Volume[];
}

export function sampleUnit(some: SampleUnit = {}): ResourceUnit {
  const { id = 1, count = 1, cpuMilli = 1_000n, memoryBytes = gi, ephemeralBytes = gi, gpus = 0n, models = [] } = some;
  return {
    id,
    count,
    cpu: { milli: cpuMilli, attributes: [] },
    memory: { bytes: memoryBytes, attributes: [] },
    gpu: { count: gpus, attributes: models.map((model) => ({ key: `vendor/${model}`, value: "true" })) },
    storage: [{ name: "default", bytes: ephemeralBytes, attributes: [] }, ...(some.volumes ?? [])],
    endpoints: [],
    price: decCoinOf(decimalOf(1n), "uakt"),
  };
}

export function volume(storageClass: string | undefined, bytes: bigint, persistent = true): Volume {
  const attributes = [{ key: "persistent", value: String(persistent) }];
  if (storageClass !== undefined) attributes.unshift({ key: "class", value: storageClass });
  return { name: "data", bytes, attributes };
}
