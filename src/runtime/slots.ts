/** A semaphore: so many at once, the others wait in line, and those of low priority behind all others and at most so many at once. */
import { invariant } from "./invariant.ts";

interface Slots {
  /** Resolves with how to give the slot back; rejects with the signal's reason, and then holds none. */
  take(signal: AbortSignal, priority?: "normal" | "low"): Promise<() => void>;
  readonly taken: number;
  readonly waiting: number;
}

export function createSlots(most: number, mostLow = most): Slots {
  const lines = { normal: new Set<() => void>(), low: new Set<() => void>() };
  const taken = { normal: 0, low: 0 };

  function isFree(priority: "normal" | "low"): boolean {
    return taken.normal + taken.low < most && (priority === "normal" || taken.low < mostLow);
  }

  function slot(priority: "normal" | "low"): () => void {
    let held = true;
    return () => {
      invariant(held, "a slot is given back once");
      held = false;
      taken[priority] -= 1;
      // The slot goes to the next in line without being free in between.
      for (const next of ["normal", "low"] as const) {
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
      return taken.normal + taken.low;
    },
    get waiting() {
      return lines.normal.size + lines.low.size;
    },
  };
}
