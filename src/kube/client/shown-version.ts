/** Up to which version of the server a cache shows what happened, and who waits until it shows more. */
import { endedBy } from "../../runtime/ended-by.ts";
import { isLaterVersion } from "../object-version.ts";

export function createShownVersion() {
  const waiting = new Map<PromiseWithResolvers<void>, string>();
  let now: string | undefined;

  function shows(version: string): boolean {
    return now !== undefined && (now === version || isLaterVersion(now, version));
  }

  return {
    get now() {
      return now;
    },
    /** The versions of another past, for which somebody may wait still, never come; what the server has now is there. */
    set(version: string | undefined, otherPast = false): void {
      now = version;
      for (const [waiter, wanted] of waiting) if (otherPast || shows(wanted)) waiter.resolve();
    },
    async until(version: string, signal: AbortSignal): Promise<void> {
      if (shows(version)) return;
      const waiter = Promise.withResolvers<void>();
      waiting.set(waiter, version);
      try {
        await endedBy(waiter.promise, signal);
      } finally {
        waiting.delete(waiter);
      }
    },
  };
}
