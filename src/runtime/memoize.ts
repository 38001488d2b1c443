/** Memoizes a value for so long; `make` is given the one before. */
import type { Clock } from "./clock.ts";

export function memoizeFor<T>(ms: number, clock: Clock, make: (before: T | undefined) => T): () => T {
  let current: { readonly value: T; readonly untilMs: number } | undefined;
  return () => {
    const nowMs = clock.monotonicMs();
    if (!current || nowMs >= current.untilMs) current = { value: make(current?.value), untilMs: nowMs + ms };
    return current.value;
  };
}

/** Memoizes a value for good. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
