/** Hands values from callbacks to one reader, who takes them one at a time. */
import { endedBy } from "./ended-by.ts";

interface Handoff<T> {
  /** Resolves when the value was read and the next is wanted; until then no other may be given. */
  give(value: T): Promise<void>;
  /** Ends when the signal is aborted, with its reason. */
  values(signal: AbortSignal): AsyncGenerator<T>;
}

export function createHandoff<T>(): Handoff<T> {
  let next = Promise.withResolvers<T>();
  let taken = Promise.withResolvers<void>();
  return {
    give(value) {
      next.resolve(value);
      return taken.promise;
    },
    async *values(signal) {
      for (;;) {
        yield await endedBy(next.promise, signal);
        next = Promise.withResolvers();
        taken.resolve();
        taken = Promise.withResolvers();
      }
    },
  };
}
