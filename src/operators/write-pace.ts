/**
 * How often and how recently an object was written. Two programs that both want it their way would write it as fast as the
 * server lets them: what is written too often within a short time is left for a while, and a condition says so.
 */
import type { Clock } from "../runtime/clock.ts";
import { limits } from "../runtime/limits.ts";

export type WritePace = ReturnType<typeof createWritePace>;

export function createWritePace(clock: Pick<Clock, "monotonicMs">) {
  /** When each object was written of late, the one written last at the end. */
  const written = new Map<string, readonly number[]>();

  const recent = (object: string): readonly number[] => {
    const sinceMs = clock.monotonicMs() - limits.contestedWithinMs;
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
      const [oldest = 0, ...others] = recent(object).slice(-limits.contestedWrites);
      const isContested = others.length + 1 >= limits.contestedWrites;
      return isContested ? oldest + limits.contestedWithinMs - clock.monotonicMs() : 0;
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
