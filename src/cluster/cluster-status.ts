/** How the cluster stands: the status of the service, and what the bus is reported of it. */
import type { Bus } from "../bus/bus.ts";
import type { Clock, Timer } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";
import { changedStatuses } from "../runtime/throttle.ts";
import { resourceSums, sumJson } from "./capacity/inventory-status.ts";
import { type ClusterStatusParts, clusterConditions } from "./conditions.ts";
import type { HealthKeeper } from "./health/health-keeper.ts";
import type { LeaseKeeper } from "./leases/lease-loop.ts";
import { leaseStates } from "./leases/lease-states.ts";

export type ClusterStatus = ReturnType<typeof clusterStatus>;

/** How many there are of each, also of those that there are none of. */
export function countEach<Key extends string, T>(
  keys: readonly Key[],
  items: Iterable<T>,
  keyOf: (item: T) => Key,
): Record<Key, number> {
  const counts = Object.fromEntries(keys.map((key) => [key, 0])) as Record<Key, number>;
  for (const item of items) counts[keyOf(item)] += 1;
  return counts;
}

export function countStates({ states }: Pick<LeaseKeeper, "states">) {
  return countEach(leaseStates, states.all(), ([, { state }]) => state);
}

export function countHealth({ all }: Pick<HealthKeeper, "all">) {
  return countEach(["healthy", "unhealthy", "unknown"], all(), ([, { state }]) => state);
}

export function clusterStatus(parts: ClusterStatusParts) {
  const { book, leases, inventory } = parts.keeper;
  const { ageMs, error: trouble } = inventory;
  return {
    ...{ nodes: book.snapshot?.nodes.length ?? 0, leases, reservations: book.size, ageMs },
    /** Replicas that run and are in no snapshot yet. */
    awaited: book.awaited,
    /** Why nothing may be promised now. */
    trouble,
    resources: resourceSums(book).map(sumJson),
    /** Those that are over and not gone yet among them. */
    leaseStates: countStates(parts.leaseKeeper),
    leaseHealth: countHealth(parts.health),
    conditions: [...clusterConditions(parts)],
  };
}

/** How often the age of the snapshot is checked, for which there is no event: two minutes are the bound. */
export const clusterStatusLookMs = 10 * second;

/** Publishes on the bus what has changed of the status. */
export function createStatusPublisher(read: () => ClusterStatus, bus: Bus, clock: Clock) {
  const topics = () => {
    const { nodes, ageMs, resources, leases, reservations, awaited, leaseStates, leaseHealth, ...status } = read();
    const { trouble = null, conditions } = status;
    return {
      "akash.provider.inventory.status": {
        ...{ nodes, resources, age_ms: ageMs === undefined ? null : Math.round(ageMs), trouble, conditions },
      },
      "akash.provider.cluster.status": {
        ...{ leases, reservations, awaited, lease_states: leaseStates, lease_health: leaseHealth, trouble, conditions },
      },
    };
  };
  const paced = changedStatuses(clock, topics, bus.publish, ["age_ms"]);
  let timer = checkLater();

  function checkLater(): Timer {
    return clock.timer(clusterStatusLookMs, () => {
      paced.ask();
      timer = checkLater();
    });
  }

  return {
    changed: paced.ask,
    stop(): void {
      paced.stop();
      timer.cancel();
    },
  };
}
