/** Whether a group fits into the cluster: where each replica would go, or what is short and where. */
import type { UnitResources } from "./group-spec.ts";

export type Fit = Fits | Misfit;

export interface Fits {
  readonly fits: true;
  /** One entry per replica. */
  readonly replicas: readonly PlacedReplica[];
  /** What is offered for each unit, in their order: as asked for, with the attributes of a GPU narrowed to one model. */
  readonly offer: readonly UnitResources[];
  /** The same group with other GPU models, where units accept several. */
  readonly others?: readonly Fits[];
}

interface PlacedReplica {
  /** The id of its unit. */
  readonly unit: number;
  readonly node: string;
}

export interface Misfit {
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
