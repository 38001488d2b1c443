/** Decisions that are ended early: on an order that is gone, and of screenings when an order comes. */
import type { Decider } from "./decider.ts";
import type { Decision } from "./decision/decision.ts";
import type { BidRequest } from "./decision/inputs.ts";

export type DecisionsUnderWay = ReturnType<typeof createDecisionsUnderWay>;

export function createDecisionsUnderWay() {
  const underWay = new Map<string, AbortController>();
  return {
    /** The work ends early with the signal that it is given. */
    async during<T>(key: string, signal: AbortSignal, work: (until: AbortSignal) => Promise<T>): Promise<T> {
      const over = new AbortController();
      underWay.set(key, over);
      try {
        return await work(AbortSignal.any([signal, over.signal]));
      } finally {
        underWay.delete(key);
      }
    },
    gone: (key: string) => underWay.get(key)?.abort(new Error("the order is gone")),
  };
}

/** Screenings run only between the orders that we live on. */
export function createScreenings(screen: Decider["screen"]) {
  const running = new Set<AbortController>();
  return {
    /** Undefined where it was ended. */
    async screen(asked: BidRequest, signal: AbortSignal): Promise<Decision | undefined> {
      const ending = new AbortController();
      running.add(ending);
      try {
        const decision = await screen(asked, AbortSignal.any([signal, ending.signal]));
        // A price that could not be finished is a no, and not one that we mean.
        return ending.signal.aborted ? undefined : decision;
      } catch (thrown) {
        if (ending.signal.aborted) return undefined;
        throw thrown;
      } finally {
        running.delete(ending);
      }
    },
    giveWay(): void {
      for (const ending of running) ending.abort();
    },
  };
}
