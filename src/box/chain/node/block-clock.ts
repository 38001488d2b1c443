/** Makes a block every so often, without drifting and without hurrying after a pause. */
import type { Clock, Timer } from "../../../runtime/clock.ts";

interface BlockClock {
  /** A chain without a block cannot answer queries, so the first block may be made at once. */
  start(atOnce: boolean): void;
  stop(): void;
  /** Rejects when a block could not be made; no more are tried then. */
  readonly failed: Promise<never>;
}

export function createBlockClock(clock: Clock, blockMs: number, step: () => void): BlockClock {
  let timer: Timer | undefined;
  let dueMs = 0;
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  // Waiters race it against the end; without a waiter, its failure must not end the process.
  failed.catch(() => undefined);

  function tick(): void {
    try {
      step();
      schedule();
    } catch (thrown) {
      fail(thrown);
    }
  }

  function schedule(): void {
    const nowMs = clock.monotonicMs();
    dueMs = Math.max(dueMs + blockMs, nowMs);
    timer = clock.timer(dueMs - nowMs, tick);
  }

  return {
    start(atOnce) {
      if (blockMs <= 0) return;
      dueMs = clock.monotonicMs();
      if (atOnce) tick();
      else schedule();
    },
    stop: () => timer?.cancel(),
    failed,
  };
}
