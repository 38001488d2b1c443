/** Does a thing soon after it is asked for, and at most so often: what is asked for in one turn, or too soon, comes as one. */
import type { Clock, Timer } from "./clock.ts";

interface Paced {
  ask(): void;
  /** What is asked for after this is not done. */
  stop(): void;
}

export function atMostEvery(everyMs: number, clock: Clock, work: () => void): Paced {
  let timer: Timer | undefined;
  let restUntilMs = 0;
  let stopped = false;
  return {
    ask() {
      if (stopped) return;
      timer ??= clock.timer(Math.max(0, restUntilMs - clock.monotonicMs()), () => {
        timer = undefined;
        restUntilMs = clock.monotonicMs() + everyMs;
        work();
      });
    },
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
