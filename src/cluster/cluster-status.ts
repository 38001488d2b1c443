/** How the cluster stands: the document of the service, and what the bus is told of it. */
import type { JsonObject } from "../bus/topics.ts";
import type { CapacityKeeper } from "./capacity-keeper.ts";
import { resourceSums, sumJson } from "./inventory-status.ts";
import { type Condition, conditionsOf } from "./reservations/resettle.ts";

export interface ClusterDocument {
  readonly nodes: number;
  /** Of ours that run. */
  readonly leases: number;
  readonly reservations: number;
  /** Replicas that run and are in no picture yet. */
  readonly awaited: number;
  readonly ageMs: number | undefined;
  /** Why nothing may be promised now. */
  readonly trouble: string | undefined;
  readonly resources: readonly JsonObject[];
  readonly conditions: readonly Condition[];
}

export function documentOf({ book, leases, picture }: CapacityKeeper): ClusterDocument {
  const { ageMs, trouble } = picture;
  return {
    nodes: book.picture?.nodes.length ?? 0,
    leases,
    reservations: book.size,
    awaited: book.awaited,
    ageMs,
    trouble,
    resources: resourceSums(book).map(sumJson),
    conditions: conditionsOf(book),
  };
}

export function inventoryJson({ nodes, ageMs, trouble, resources, conditions }: ClusterDocument): JsonObject {
  return {
    nodes,
    resources,
    age_ms: ageMs === undefined ? null : Math.round(ageMs),
    trouble: trouble ?? null,
    conditions: conditions.map(({ type, message }) => ({ type, message })),
  };
}

export function statusJson({ leases, reservations, awaited, trouble }: ClusterDocument): JsonObject {
  return { leases, reservations, awaited, trouble: trouble ?? null };
}
