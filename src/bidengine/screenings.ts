/** What strangers ask us to decide on, between the orders that we live on: one that comes ends them, wherever they are. */
import type { Decider } from "./decider.ts";
import type { Decision } from "./decision/decision.ts";
import type { Asked } from "./decision/inputs.ts";

export function createScreenings(screen: Decider["screen"]) {
  const running = new Set<AbortController>();
  return {
    /** Undefined where it was ended. */
    async screen(asked: Asked, signal: AbortSignal): Promise<Decision | undefined> {
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
