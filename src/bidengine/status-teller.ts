/** Tells a status when something has changed, at most so often. */
import type { Clock, Timer } from "../runtime/clock.ts";
import { limits } from "../runtime/limits.ts";

export function createStatusTeller(clock: Clock, publish: () => void) {
  let timer: Timer | undefined;
  let restUntilMs = 0;
  let stopped = false;
  return {
    tell(): void {
      if (stopped) return;
      timer ??= clock.timer(Math.max(0, restUntilMs - clock.monotonicMs()), () => {
        timer = undefined;
        restUntilMs = clock.monotonicMs() + limits.bidengineStatusMs;
        publish();
      });
    },
    stop(): void {
      stopped = true;
      timer?.cancel();
    },
  };
}
