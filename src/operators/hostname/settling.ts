/**
 * How long ago something was written. Controllers gather changes before they act, and Traefik those of each kind apart: an
 * Ingress may be in force before the Middleware that it names, and then its host name leads nowhere. So what is named has to
 * be there for a while before, and what nobody names any more, or a route that another one replaces, for a while after.
 */
import type { Clock } from "../../runtime/clock.ts";
import { limits } from "../../runtime/limits.ts";

/** What was written before this copy had the lead, nobody knows: until then all of it counts as written at that moment. */
export function createSettling(clock: Clock, ledSinceMs: () => number) {
  const wroteAtMs = new Map<string, number>();
  return {
    wrote(key: string): void {
      wroteAtMs.set(key, clock.monotonicMs());
    },
    /** Until what was written for a key last is in force; 0 when it is. */
    leftMs(key: string): number {
      const atMs = wroteAtMs.get(key) ?? ledSinceMs();
      const leftMs = atMs + limits.hostnameSettleMs - clock.monotonicMs();
      if (leftMs <= 0) wroteAtMs.delete(key);
      return Math.max(0, leftMs);
    },
    forget: (key: string): void => void wroteAtMs.delete(key),
  };
}
