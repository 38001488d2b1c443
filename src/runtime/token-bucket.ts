/** So many at once, and so many more with each second. */
import type { Clock } from "./clock.ts";

interface Rate {
  readonly atOnce: number;
  readonly perS: number;
}

/** Returns a function that takes one, and says whether there was one. */
export function createTokenBucket({ atOnce, perS }: Rate, clock: Pick<Clock, "monotonicMs">): () => boolean {
  let left = atOnce;
  let atMs = clock.monotonicMs();
  return () => {
    const nowMs = clock.monotonicMs();
    left = Math.min(atOnce, left + ((nowMs - atMs) / 1_000) * perS);
    atMs = nowMs;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
