/** How the cluster stands: the document of the service, and what the bus is told of it. */
import type { JsonObject } from "../bus/topics.ts";
import type { Condition } from "../runtime/condition.ts";
import { resourceSums, sumJson } from "./capacity/inventory-status.ts";
import { type ClusterParts, clusterConditions } from "./conditions.ts";
import { countHealth, type HealthCounts } from "./health/health-metrics.ts";
import { countStates } from "./leases/lease-metrics.ts";
import type { LeaseState } from "./leases/lease-states.ts";

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
  /** How many leases are in which state; those that are over and not gone yet among them. */
  readonly leaseStates: Readonly<Record<LeaseState["state"], number>>;
  /** Of those that run something. */
  readonly leaseHealth: HealthCounts;
  readonly conditions: readonly Condition[];
}

export function documentOf(parts: ClusterParts): ClusterDocument {
  const { book, leases, picture } = parts.keeper;
  const { ageMs, trouble } = picture;
  return {
    nodes: book.picture?.nodes.length ?? 0,
    leases,
    reservations: book.size,
    awaited: book.awaited,
    ageMs,
    trouble,
    resources: resourceSums(book).map(sumJson),
    leaseStates: countStates(parts.leaseKeeper),
    leaseHealth: countHealth(parts.health),
    conditions: [...clusterConditions(parts)],
  };
}

export function inventoryJson({ nodes, ageMs, trouble, resources, conditions }: ClusterDocument): JsonObject {
  return {
    nodes,
    resources,
    age_ms: ageMs === undefined ? null : Math.round(ageMs),
    trouble: trouble ?? null,
    conditions: conditions.map((each) => ({ ...each })),
  };
}

export function statusJson(document: ClusterDocument): JsonObject {
  const { leases, reservations, awaited, leaseStates, leaseHealth, trouble, conditions } = document;
  return {
    ...{ leases, reservations, awaited },
    lease_states: leaseStates,
    lease_health: leaseHealth,
    trouble: trouble ?? null,
    conditions: conditions.map((each) => ({ ...each })),
  };
}
