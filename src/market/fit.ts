/** Whether a group fits into the cluster: where each replica would go, or what is short and where. */
import type { UnitResources } from "./group-spec.ts";

export type Fit = Fits | PlacementFailure;

export interface Fits {
  readonly fits: true;
  /** One entry per replica, with the id of its unit. */
  readonly replicas: readonly { readonly unit: number; readonly node: string }[];
  /** What is offered for each unit, in their order: as requested, with the attributes of a GPU narrowed to one model. */
  readonly offer: readonly UnitResources[];
  /** The same group with other GPU models, where units accept several. */
  readonly others?: readonly Fits[];
}

export interface PlacementFailure {
  readonly fits: false;
  /** One sentence for people. */
  readonly reason: string;
  readonly shortages: readonly Shortage[];
  /** The search ended before it had tried everything. */
  readonly isLimited?: boolean;
}

/** What one unit lacks. */
export interface Shortage {
  readonly unit: number;
  /** "cpu", "memory", "gpu nvidia/h100", "storage-ephemeral", "storage-beta3", "volumes", "nodes with storage-beta3" … */
  readonly resource: string;
  /** By one replica; by all of the group together where the place is the cluster. */
  readonly wanted: bigint;
  /** The most that any one place has of it. */
  readonly available: bigint;
  /** The name of that node, or "cluster". */
  readonly where: string;
  /** How many nodes are too short of it. */
  readonly nodes: number;
}

/** In percent. GPUs and persistent volumes are never sold twice. */
export interface Overcommit {
  readonly cpuPercent: number;
  readonly memoryPercent: number;
  readonly storagePercent: number;
  /** Disk of a node for a replica that requests none. */
  readonly defaultDiskBytes: bigint;
}

/** No more is sold than the nodes have. */
export const noOvercommit: Overcommit = {
  ...{ cpuPercent: 0, memoryPercent: 0, storagePercent: 0 },
  defaultDiskBytes: 1024n ** 3n,
};

/** Nothing besides what is requested. */
export const exactRequests: Overcommit = { ...noOvercommit, defaultDiskBytes: 0n };

/** Disk of its node for a replica: requested, or the default for its log and files. */
export function diskBytesOf(requested: bigint, { defaultDiskBytes }: Overcommit): bigint {
  return requested > 0n ? requested : defaultDiskBytes;
}

/** Of 100 + percent sold, 100 exist. Rounded to nearest as the Go provider does, since requests identify units; never to zero. */
export function committed(requested: bigint, percent: number): bigint {
  const sold = 100n + BigInt(percent);
  const nearest = (requested * 200n + sold) / (sold * 2n);
  return nearest === 0n && requested > 0n ? 1n : nearest;
}
