/** Wakes the loop that waits for it, or lets it go on by itself after a while. Rung while nobody waits, it is remembered. */
import type { Clock } from "../../runtime/clock.ts";

export interface Bell {
  ring(): void;
  /** Resolves when it is rung, after `mostMs`, or when the signal is aborted. */
  rung(mostMs: number, signal: AbortSignal): Promise<void>;
}

export function createBell(clock: Clock): Bell {
  let remembered = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      if (wake) wake();
      else remembered = true;
    },
    async rung(mostMs, signal) {
      if (!remembered && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = () => resolve();
        signal.addEventListener("abort", wake, { once: true });
        const timer = clock.timer(mostMs, wake);
        await promise;
        timer.cancel();
        signal.removeEventListener("abort", wake);
        wake = undefined;
      }
      remembered = false;
    },
  };
}
