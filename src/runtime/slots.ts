/** So many at once, the others wait in line; who no longer wants to wait leaves it. */
import { invariant } from "./invariant.ts";

interface Slots {
  /** Resolves with how to give the slot back; rejects with the signal's reason, and then holds none. */
  take(signal: AbortSignal): Promise<() => void>;
  readonly taken: number;
  readonly waiting: number;
}

export function createSlots(most: number): Slots {
  const line = new Set<() => void>();
  let taken = 0;

  function slot(): () => void {
    let held = true;
    return () => {
      invariant(held, "a slot is given back once");
      held = false;
      const [next] = line;
      // The slot goes to the next in line without being free in between.
      if (next) next();
      else taken -= 1;
    };
  }

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (taken < most) {
        taken += 1;
        return slot();
      }
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          line.delete(enter);
          reject(signal.reason);
        };
        const enter = () => {
          line.delete(enter);
          signal.removeEventListener("abort", leave);
          resolve();
        };
        line.add(enter);
        signal.addEventListener("abort", leave, { once: true });
      });
      return slot();
    },
    get taken() {
      return taken;
    },
    get waiting() {
      return line.size;
    },
  };
}
