/** Those who want to know how an intent ended. */
import type { Settled } from "./settlement.ts";

export interface Waiters {
  wait(id: number): Promise<Settled>;
  listen(listener: (settled: Settled) => void): () => void;
  tell(settled: Settled): void;
}

export function createWaiters(): Waiters {
  const waiting = new Map<number, PromiseWithResolvers<Settled>>();
  const listeners = new Set<(settled: Settled) => void>();
  return {
    wait(id) {
      const known = waiting.get(id) ?? Promise.withResolvers<Settled>();
      waiting.set(id, known);
      return known.promise;
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tell(settled) {
      waiting.get(settled.id)?.resolve(settled);
      waiting.delete(settled.id);
      for (const listener of [...listeners]) listener(settled);
    },
  };
}
