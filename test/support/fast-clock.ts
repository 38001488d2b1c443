/**
 * Loaded into a program before anything else: its clock runs up to twenty times as fast. It moves by steps, not by the real
 * clock, so that a program for which the machine has no time does not miss its deadlines.
 */
import { realClock } from "../../src/runtime/clock.ts";
import { createVirtualClock } from "./virtual-clock.ts";

const stepMs = 100;
const clock = createVirtualClock(realClock.now());
let next = setTimeout(step);
Object.assign(realClock, {
  ...clock,
  timer(delayMs: number, fire: () => void) {
    next.ref();
    return clock.timer(delayMs, fire);
  },
});

async function step(): Promise<void> {
  await clock.advance(stepMs);
  next = setTimeout(step, stepMs / 20);
  // As a real timer would, only one that is pending keeps the program from its end.
  if (clock.pendingTimers === 0) next.unref();
}
