/** Tells the bus how things stand: a change at once, the next one a moment later, and nothing while nothing changes. */
import type { Clock, Timer } from "../runtime/clock.ts";
import { limits } from "../runtime/limits.ts";

export function createStatusPublisher(publish: () => void, clock: Clock) {
  let timer: Timer | undefined;
  let isOwed = false;

  function tell(): void {
    isOwed = false;
    publish();
    timer = clock.timer(limits.clusterStatusEveryMs, () => {
      timer = undefined;
      if (isOwed) tell();
    });
  }

  return {
    changed(): void {
      isOwed = true;
      // After the turn in which it changed: several changes of one turn are one.
      timer ??= clock.timer(0, tell);
    },
    stop: () => timer?.cancel(),
  };
}
