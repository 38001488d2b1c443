/** Hands changes to whoever wants to know of them: one after the other, and again when that failed. */
import { sleep, withDeadline } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Change, WatchOptions } from "../kube.ts";
import { backOffMs } from "./back-off.ts";
import type { WatchDeps } from "./watch-stream.ts";

/** Events handed over between two breaths of the event loop. */
const kubeSliceEvents = 128;
/** An event whose handler fails is handed over so often; then it is left to the next look at its key. */
const kubeHandlerTries = 3;
/** A handler puts a key into a queue; one that waits for something must not make the cache old (kubeStaleMs). */
export const kubeHandlerMs = 20 * second;

class TooLate extends Error {}

function tooLate(): never {
  throw new TooLate(`its handler did not end within ${kubeHandlerMs} ms`);
}

export function createHandOver<T>(
  handle: WatchOptions<T>["handle"],
  onFailure: () => void,
  { clock, random, log, signal }: WatchDeps,
) {
  let handedOver = 0;

  async function one(change: Change<T>): Promise<void> {
    for (let tries = 1; handle && !signal.aborted; tries += 1) {
      try {
        const handling = handle(change);
        // Most are done by now, and a timer for each would be most of the work.
        if (handling instanceof Promise) await inTime(handling);
        return;
      } catch (thrown) {
        signal.throwIfAborted();
        onFailure();
        const { type, name, namespace } = change;
        log.error("failed to handle a change", { type, name, namespace, tries, error: ProviderError.from(thrown) });
        // One that still runs is not called a second time for the same change.
        if (thrown instanceof TooLate || tries >= kubeHandlerTries) return;
        await sleep(clock, backOffMs(random, tries), signal);
      }
    }
  }

  function inTime(handling: Promise<void>): Promise<void> {
    return endedBy(withDeadline(clock, kubeHandlerMs, handling, tooLate), signal);
  }

  /** A flood is interrupted now and then, for those who share the event loop. */
  return async (changes: Iterable<Change<T>>): Promise<void> => {
    for (const change of changes) {
      await one(change);
      signal.throwIfAborted();
      handedOver += 1;
      if (handedOver % kubeSliceEvents === 0) await clock.yield();
    }
  };
}
