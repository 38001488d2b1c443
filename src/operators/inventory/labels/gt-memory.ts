/**
 * Remembers for a while that a storage class label was selected with `Gt`. A workload that restarts has no pod for a
 * moment; without this every such moment would rewrite the label on all nodes, twice.
 */
import type { Clock } from "../../../runtime/clock.ts";
import { limits } from "../../../runtime/limits.ts";

export interface GtMemory {
  /** What pods select now. Returns what counts as selected, those of a while ago included. */
  update(selected: ReadonlySet<string>): ReadonlySet<string>;
}

export function createGtMemory(clock: Pick<Clock, "monotonicMs">, keptMs: number = limits.inventoryGtKeptMs): GtMemory {
  const lastSeenMs = new Map<string, number>();
  return {
    update(selected) {
      const nowMs = clock.monotonicMs();
      for (const key of selected) lastSeenMs.set(key, nowMs);
      for (const [key, seenMs] of lastSeenMs) if (nowMs - seenMs >= keptMs) lastSeenMs.delete(key);
      return new Set(lastSeenMs.keys());
    },
  };
}
