/** What costs something to make, made when somebody asks and that from before is too old. */
import type { Clock } from "./clock.ts";

export function goodFor<T>(ms: number, clock: Clock, make: (before: T | undefined) => T): () => T {
  let current: { readonly value: T; readonly untilMs: number } | undefined;
  return () => {
    const nowMs = clock.monotonicMs();
    if (!current || nowMs >= current.untilMs) current = { value: make(current?.value), untilMs: nowMs + ms };
    return current.value;
  };
}
