/**
 * How often and how recently an object was written. Two programs that both want it their way would write it as fast as the
 * server lets them: what is written too often within a short time is left for a while, and a condition says so.
 */
import type { Clock } from "../runtime/clock.ts";
import { minute } from "../runtime/durations.ts";

/**
 * Writes of one object within that time, after which it is left as somebody else wants it for as long: a lease that is
 * changed by a person or a script comes to one or two, and a rival that changes it back to one for each of ours.
 */
export const contestedWrites = 10;
export const contestedWithinMs = minute;

export type WritePace = ReturnType<typeof createWritePace>;

export function createWritePace(clock: Pick<Clock, "monotonicMs">) {
  /** When each object was written of late, the one written last at the end. */
  const written = new Map<string, readonly number[]>();

  const recent = (object: string): readonly number[] => {
    const sinceMs = clock.monotonicMs() - contestedWithinMs;
    return (written.get(object) ?? []).filter((atMs) => atMs > sinceMs);
  };

  /** Of what is left alone nothing is kept. */
  function forget(): void {
    for (const object of written.keys()) {
      if (recent(object).length > 0) return;
      written.delete(object);
    }
  }

  return {
    wrote(object: string): void {
      const times = [...recent(object), clock.monotonicMs()];
      written.delete(object);
      written.set(object, times);
      forget();
    },
    /** How long it is to be left as it is; 0 where it may be written. */
    pauseMs(object: string): number {
      const [oldest = 0, ...others] = recent(object).slice(-contestedWrites);
      const isContested = others.length + 1 >= contestedWrites;
      return isContested ? oldest + contestedWithinMs - clock.monotonicMs() : 0;
    },
    /** Until it was not written for so long, a minute at most; 0 when it was not. */
    unsettledMs(object: string, forMs: number, sinceMs = Number.NEGATIVE_INFINITY): number {
      return Math.max(0, (recent(object).at(-1) ?? sinceMs) + forMs - clock.monotonicMs());
    },
    /** Objects of which something is kept. */
    get size(): number {
      return written.size;
    },
  };
}
