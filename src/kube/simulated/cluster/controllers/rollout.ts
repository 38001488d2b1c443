/** The arithmetic of a rolling update: how many new and old replicas there may be right now. */
import type { Deployment, ReplicaSet, Share } from "../shapes/workload.ts";

export interface Bounds {
  readonly replicas: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

export function boundsOf({ spec }: Deployment): Bounds {
  const { replicas = 1, strategy } = spec;
  const { maxSurge = "25%", maxUnavailable = "25%" } = strategy?.rollingUpdate ?? {};
  if (strategy?.type === "Recreate") return { replicas, maxSurge: 0, maxUnavailable: 0 };
  const surge = amount(maxSurge, replicas, Math.ceil);
  const unavailable = amount(maxUnavailable, replicas, Math.floor);
  // Without room on either side nothing could ever move.
  return { replicas, maxSurge: surge, maxUnavailable: surge + unavailable === 0 ? 1 : Math.min(unavailable, replicas) };
}

/** A share of so many, rounded the given way. */
export function amount(share: Share, of: number, round: (value: number) => number): number {
  return typeof share === "number" ? share : round((Number.parseInt(share, 10) * of) / 100);
}

export function replicasOf(set: ReplicaSet): number {
  return set.spec.replicas ?? 1;
}

export function total(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, set) => sum + replicasOf(set), 0);
}

export function availableOf(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, set) => sum + (set.status?.availableReplicas ?? 0), 0);
}

/** How many replicas the new set may have, with so many pods there already. */
export function newReplicas({ replicas, maxSurge }: Bounds, all: readonly ReplicaSet[], current: number): number {
  if (current >= replicas) return replicas;
  const room = replicas + maxSurge - total(all);
  return room <= 0 ? current : current + Math.min(room, replicas - current);
}

export interface Scaling {
  readonly set: ReplicaSet;
  readonly to: number;
}

/** Which old sets shrink: first by what does not work anyway, then as far as enough stays available. */
export function shrinkOld(bounds: Bounds, newSet: ReplicaSet, old: readonly ReplicaSet[]): Scaling[] {
  const minAvailable = bounds.replicas - bounds.maxUnavailable;
  const newUnavailable = replicasOf(newSet) - availableOf([newSet]);
  let dispensable = total([...old, newSet]) - minAvailable - newUnavailable;
  if (dispensable <= 0) return [];
  const sizes = new Map(old.map((set) => [set, replicasOf(set)]));
  for (const set of old) {
    const unhealthy = Math.min(dispensable, Math.max(0, replicasOf(set) - availableOf([set])));
    sizes.set(set, replicasOf(set) - unhealthy);
    dispensable -= unhealthy;
  }
  let spare = availableOf([...old, newSet]) - minAvailable;
  for (const set of old) {
    const size = sizes.get(set) ?? 0;
    const fewer = Math.max(0, Math.min(size, spare));
    sizes.set(set, size - fewer);
    spare -= fewer;
  }
  return [...sizes].map(([set, to]) => ({ set, to })).filter(({ set, to }) => to !== replicasOf(set));
}

/** When a deployment is resized in the middle of a rollout, its sets keep their proportions. */
export function resize(bounds: Bounds, sets: readonly ReplicaSet[]): Scaling[] {
  const wanted = bounds.replicas === 0 ? 0 : bounds.replicas + bounds.maxSurge;
  const now = Math.max(1, total(sets));
  const bySize = [...sets].sort((a, b) => replicasOf(b) - replicasOf(a));
  let left = wanted - total(sets);
  const scaled = bySize.map((set) => {
    const exact = Math.round((replicasOf(set) * wanted) / now) - replicasOf(set);
    const change = left > 0 ? Math.min(left, Math.max(0, exact)) : Math.max(left, Math.min(0, exact));
    left -= change;
    return { set, to: replicasOf(set) + change };
  });
  // What rounding left over goes to the largest.
  return scaled.map(({ set, to }, index) => ({ set, to: Math.max(0, index === 0 ? to + left : to) }));
}
