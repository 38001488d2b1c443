/** Does a thing soon after it is asked for, and at most so often: what is asked for in one turn, or too soon, comes as one. */
import type { Clock, Timer } from "./clock.ts";
import { second } from "./durations.ts";
import { jsonText } from "./json-text.ts";

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

/** A status that has changed is told at once, the next one not before this. */
export const statusEveryMs = second;

/** Of documents by name those that have changed, as plain JSON. */
export function changedStatuses<Name extends string>(
  clock: Clock,
  read: () => { readonly [N in Name]?: object },
  // biome-ignore lint/suspicious/noExplicitAny: what JSON holds
  tell: (name: Name, document: any) => void,
  /** Fields that change all the time, which alone is no news. */
  ignored: readonly string[] = [],
): Paced {
  const told = new Map<string, string>();
  const omitted = Object.fromEntries(ignored.map((field) => [field, undefined]));
  return atMostEvery(statusEveryMs, clock, () => {
    for (const [name, document] of Object.entries(read())) {
      const text = jsonText({ ...(document as object), ...omitted });
      if (text !== told.get(name)) tell(name as Name, JSON.parse(jsonText(document)));
      told.set(name, text);
    }
  });
}
