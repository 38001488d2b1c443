/** Runs work soon after it is asked for, at most once in `everyMs`; requests in between are merged. */
import type { Clock, Timer } from "./clock.ts";
import { second } from "./durations.ts";
import { jsonText } from "./json-text.ts";

export interface Throttled {
  ask(): void;
  /** What is asked for after this is not done. */
  stop(): void;
}

export function throttle(everyMs: number, clock: Clock, work: () => void): Throttled {
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

/** A status that has changed is told at once, the next one not before this. */
export const statusEveryMs = second;

/** Of statuses by name those that have changed, as plain JSON. */
export function changedStatuses<Name extends string>(
  clock: Clock,
  read: () => { readonly [N in Name]?: object },
  // biome-ignore lint/suspicious/noExplicitAny: what JSON holds
  tell: (name: Name, status: any) => void,
  /** Fields that change all the time, which alone is no news. */
  ignored: readonly string[] = [],
): Throttled {
  const told = new Map<string, string>();
  const omitted = Object.fromEntries(ignored.map((field) => [field, undefined]));
  return throttle(statusEveryMs, clock, () => {
    for (const [name, status] of Object.entries(read())) {
      const text = jsonText({ ...(status as object), ...omitted });
      if (text !== told.get(name)) tell(name as Name, JSON.parse(jsonText(status)));
      told.set(name, text);
    }
  });
}

/** A burst of `atOnce`, refilled by `perS` each second. */
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
