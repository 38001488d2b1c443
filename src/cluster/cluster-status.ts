/** How the cluster stands: the document of the service, and what the bus is told of it. */
import type { JsonObject } from "../bus/topics.ts";
import type { CapacityKeeper } from "./capacity-keeper.ts";
import type { HealthKeeper } from "./health/health-keeper.ts";
import { countHealth, type HealthCounts } from "./health/health-metrics.ts";
import { resourceSums, sumJson } from "./inventory-status.ts";
import { healthConditions, type LeaseCondition, leaseConditions } from "./leases/lease-conditions.ts";
import type { LeaseKeeper } from "./leases/lease-keeper.ts";
import { countStates } from "./leases/lease-metrics.ts";
import type { LeaseState } from "./leases/lease-states.ts";
import { type DriftCondition, driftConditions } from "./reconcile/drift-conditions.ts";
import type { Reconciler } from "./reconcile/reconciler.ts";
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
  /** How many leases are in which state; those that are over and not gone yet among them. */
  readonly leaseStates: Readonly<Record<LeaseState["state"], number>>;
  /** Of those that run something. */
  readonly leaseHealth: HealthCounts;
  readonly conditions: readonly (Condition | LeaseCondition | DriftCondition)[];
}

interface Documented {
  readonly keeper: CapacityKeeper;
  readonly leaseKeeper: Pick<LeaseKeeper, "states" | "trouble">;
  readonly health: Pick<HealthKeeper, "all" | "alarms" | "brake">;
  readonly reconciler: Pick<Reconciler, "lasting" | "skipped">;
}

export function documentOf({ keeper, leaseKeeper, health, reconciler }: Documented): ClusterDocument {
  const { book, leases, picture } = keeper;
  const { ageMs, trouble } = picture;
  return {
    nodes: book.picture?.nodes.length ?? 0,
    leases,
    reservations: book.size,
    awaited: book.awaited,
    ageMs,
    trouble,
    resources: resourceSums(book).map(sumJson),
    leaseStates: countStates(leaseKeeper),
    leaseHealth: countHealth(health),
    conditions: clusterConditions({ keeper, leaseKeeper, health, reconciler }),
  };
}

export function clusterConditions({ keeper, leaseKeeper, health, reconciler }: Documented) {
  return [
    ...conditionsOf(keeper.book),
    ...leaseConditions(leaseKeeper),
    ...healthConditions(health),
    ...driftConditions(reconciler),
  ];
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

export function statusJson(document: ClusterDocument): JsonObject {
  const { leases, reservations, awaited, leaseStates, leaseHealth, trouble, conditions } = document;
  return {
    ...{ leases, reservations, awaited },
    lease_states: leaseStates,
    lease_health: leaseHealth,
    trouble: trouble ?? null,
    conditions: conditions.map(({ type, message }) => ({ type, message })),
  };
}
