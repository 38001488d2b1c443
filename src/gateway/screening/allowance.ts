/** So many at once and so many a minute, for each who asks: whoever wants more is told when to come again. */
import type { Clock } from "../../runtime/clock.ts";
import { createRecent } from "../../runtime/recent.ts";

interface Rate {
  readonly atOnce: number;
  readonly perMinute: number;
  /** Of so many it is remembered; of more, those are forgotten who asked longest ago. */
  readonly remembered: number;
}

/** Takes one for this key. How many seconds to wait instead, where there is none left. */
export type Allowance = (key: string) => number | undefined;

export function createAllowance({ atOnce, perMinute, remembered }: Rate, clock: Clock): Allowance {
  const perMs = perMinute / 60_000;
  const accounts = createRecent<{ readonly left: number; readonly atMs: number }>({ most: remembered });
  return (key) => {
    const nowMs = clock.monotonicMs();
    const before = accounts.get(key);
    const left = before ? Math.min(atOnce, before.left + (nowMs - before.atMs) * perMs) : atOnce;
    const isLeft = left >= 1;
    accounts.set(key, { left: isLeft ? left - 1 : left, atMs: nowMs });
    return isLeft ? undefined : Math.max(1, Math.ceil((1 - left) / perMs / 1_000));
  };
}
