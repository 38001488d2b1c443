/** A semaphore: so many at once, the others wait in line by priority, and all below "normal" are at most so many at once. */
import { invariant } from "./invariant.ts";

const priorities = ["normal", "later", "low"] as const;
export type SlotPriority = (typeof priorities)[number];

interface Slots {
  /** Resolves with how to give the slot back; rejects with the signal's reason, and then holds none. */
  take(signal: AbortSignal, priority?: SlotPriority): Promise<() => void>;
  readonly taken: number;
  readonly waiting: number;
}

export function createSlots(most: number, mostLow = most): Slots {
  const lines = { normal: new Set<() => void>(), later: new Set<() => void>(), low: new Set<() => void>() };
  const taken = { normal: 0, later: 0, low: 0 };

  function isFree(priority: SlotPriority): boolean {
    const below = taken.later + taken.low;
    return taken.normal + below < most && (priority === "normal" || below < mostLow);
  }

  function slot(priority: SlotPriority): () => void {
    let held = true;
    return () => {
      invariant(held, "a slot is given back once");
      held = false;
      taken[priority] -= 1;
      // The slot goes to the next in line without being free in between.
      for (const next of priorities) {
        const [enter] = lines[next];
        if (enter && isFree(next)) return enter();
      }
    };
  }

  return {
    async take(signal, priority = "normal") {
      signal.throwIfAborted();
      const line = lines[priority];
      if (isFree(priority)) {
        taken[priority] += 1;
        return slot(priority);
      }
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          line.delete(enter);
          reject(signal.reason);
        };
        const enter = () => {
          line.delete(enter);
          taken[priority] += 1;
          signal.removeEventListener("abort", leave);
          resolve();
        };
        line.add(enter);
        signal.addEventListener("abort", leave, { once: true });
      });
      return slot(priority);
    },
    get taken() {
      return taken.normal + taken.later + taken.low;
    },
    get waiting() {
      return lines.normal.size + lines.later.size + lines.low.size;
    },
  };
}
