/** A wait that a notification ends early. One that came before the wait ends it at once. */
import type { Clock, Timer } from "./clock.ts";

export interface WakeSignal {
  notify(): void;
  /** Resolves after this time, when notified, or when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function createWakeSignal(clock: Clock): WakeSignal {
  let notified = false;
  let wake: (() => void) | undefined;
  return {
    notify() {
      notified = true;
      wake?.();
    },
    async wait(ms, signal) {
      if (!notified && !signal.aborted) {
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
      notified = false;
    },
  };
}
