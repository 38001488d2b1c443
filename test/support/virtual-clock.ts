/** A clock that tests move. */
import type { Clock, Timer } from "../../src/runtime/clock.ts";
import { createHeap } from "./binary-heap.ts";

export interface VirtualClock extends Clock {
  /** Moves time forward, firing every timer that comes due, in order, each at its own time. */
  advance(ms: number): Promise<void>;
  /** Advances to the next timer until `condition` holds; throws when nothing is left to wait for. */
  advanceUntil(condition: () => boolean, limitMs?: number): Promise<void>;
  /** Lets everything that is ready now run to its next wait, without moving time. */
  settle(): Promise<void>;
  /** Shifts the wall clock only, as an administrator or NTP would. */
  jump(ms: number): void;
  readonly pendingTimers: number;
}

interface VirtualTimer {
  atMs: number;
  order: number;
  fire: (() => void) | undefined;
}

/** Turns of the event loop that `settle` takes without news before it believes that nothing more will come. */
const quietTurns = 3;

export function createVirtualClock(startMs = Date.UTC(2026, 0, 1)): VirtualClock {
  let monotonicMs = 0;
  let offsetMs = startMs;
  let orders = 0;
  let live = 0;
  let activity = 0;
  const timers = createHeap<VirtualTimer>((a, b) => a.atMs - b.atMs || a.order - b.order);

  function schedule(delayMs: number, fire: () => void): Timer {
    // Whole milliseconds, as real timers have: so the time of day has no fraction either.
    const entry: VirtualTimer = { atMs: Math.ceil(monotonicMs + Math.max(0, delayMs)), order: orders++, fire };
    timers.push(entry);
    live += 1;
    activity += 1;
    return {
      cancel() {
        if (entry.fire) live -= 1;
        entry.fire = undefined;
      },
    };
  }

  function fireNext(limitMs: number): boolean {
    for (;;) {
      const next = timers.peek();
      if (!next || next.atMs > limitMs) return false;
      timers.pop();
      if (!next.fire) continue;
      const { fire } = next;
      next.fire = undefined;
      live -= 1;
      monotonicMs = Math.max(monotonicMs, next.atMs);
      fire();
      return true;
    }
  }

  async function settle(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns; ) {
      const before = activity;
      await new Promise((resolve) => setImmediate(resolve));
      quiet = activity === before ? quiet + 1 : 0;
    }
  }

  return {
    now: () => offsetMs + monotonicMs,
    monotonicMs: () => monotonicMs,
    timer: schedule,
    yield() {
      activity += 1;
      return new Promise((resolve) =>
        setImmediate(() => {
          activity += 1;
          resolve();
        }),
      );
    },
    async advance(ms) {
      const targetMs = monotonicMs + ms;
      await settle();
      while (fireNext(targetMs)) await settle();
      monotonicMs = targetMs;
    },
    async advanceUntil(condition, limitMs = 24 * 3_600_000) {
      const deadlineMs = monotonicMs + limitMs;
      await settle();
      while (!condition()) {
        if (!fireNext(deadlineMs)) throw new Error(`nothing more happens within ${limitMs} ms of virtual time`);
        await settle();
      }
    },
    settle,
    jump(ms) {
      offsetMs += ms;
    },
    get pendingTimers() {
      return live;
    },
  };
}
