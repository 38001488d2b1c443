/** Whether a group fits into the cluster: where each replica would go, or what is short and where. */
import type { UnitResources } from "./group-spec.ts";

export type Fit = Fits | PlacementFailure;

export interface Fits {
  readonly fits: true;
  /** One entry per replica, with the id of its unit. */
  readonly replicas: readonly { readonly unit: number; readonly node: string }[];
  /** What is offered for each unit, in their order: as asked for, with the attributes of a GPU narrowed to one model. */
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
  /** Disk of a node for a replica that asks for none. */
  readonly defaultDiskBytes: bigint;
}

/** What is sold beyond what the nodes have, and how much is set aside for what was asked. */
export const noOvercommit: Overcommit = {
  ...{ cpuPercent: 0, memoryPercent: 0, storagePercent: 0 },
  defaultDiskBytes: 1024n ** 3n,
};

/** Nothing besides what is asked for. */
export const exactRequests: Overcommit = { ...noOvercommit, defaultDiskBytes: 0n };

/** What a replica may fill of its node's disk: what it asks for or, as its container writes a log and files all the same, the default. */
export function diskBytesOf(asked: bigint, { defaultDiskBytes }: Overcommit): bigint {
  return asked > 0n ? asked : defaultDiskBytes;
}

/** Of 100 + percent sold, 100 exist. Rounded to nearest as the Go provider does, since requests identify units; never to zero. */
export function committed(asked: bigint, percent: number): bigint {
  const sold = 100n + BigInt(percent);
  const nearest = (asked * 200n + sold) / (sold * 2n);
  return nearest === 0n && asked > 0n ? 1n : nearest;
}
