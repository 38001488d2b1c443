/** A wait that a bell can end early. A ring that came before the wait ends it at once. */
import type { Clock, Timer } from "./clock.ts";

export interface Pause {
  ring(): void;
  /** Resolves after this time, at a ring, or when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function createPause(clock: Clock): Pause {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      rung = true;
      wake?.();
    },
    async wait(ms, signal) {
      if (!rung && !signal.aborted) {
        let timer: Timer | undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
          timer = clock.timer(ms, resolve);
          signal.addEventListener("abort", wake, { once: true });
        });
        timer?.cancel();
        if (wake) signal.removeEventListener("abort", wake);
        wake = undefined;
      }
      rung = false;
    },
  };
}
