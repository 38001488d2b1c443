/** When to relist although the watch works: a server restored from a backup accepts a version that it has not reached, silently. */
import { hour } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { jitter } from "../../runtime/random.ts";
import type { Kind } from "../kinds.ts";
import type { Selection } from "../kube.ts";
import { isLaterVersion } from "../kube.ts";
import { presentVersion } from "./pages.ts";
import { kubeWatchOpenMs, type WatchDeps } from "./watch-stream.ts";

/** How long a list and its watch are trusted, ±20 %: a restored server that is past our version looks unchanged. */
export const kubeBelievedMs = hour;

export interface RelistReason {
  /** For people. */
  readonly reason: string;
  /** The server has another past than ours: even where versions are equal, objects need not be. */
  readonly serverRestored: boolean;
}

export function createRelistCheck(kind: Kind, selection: Selection, { requests, clock, random, signal }: WatchDeps) {
  let home: string | undefined;
  let believedUntilMs = 0;

  async function address(): Promise<string> {
    return (await endedBy(requests.peer(), signal)).server.href;
  }

  return {
    /** Before a list is read: what it shows is believed for a while. */
    async listBegins(): Promise<void> {
      home = await address();
      believedUntilMs = clock.monotonicMs() + jitter(random, kubeBelievedMs);
    },
    /** Why to begin a list, rather than to go on with the one at hand or from this version, if there is a reason. */
    async reason(version: string | undefined, watchToldNothing: boolean): Promise<RelistReason | undefined> {
      if (home === undefined) return undefined;
      if ((await address()) !== home) return { reason: "the server is at another address", serverRestored: true };
      if (version === undefined) return undefined;
      if (clock.monotonicMs() >= believedUntilMs) return { reason: "the last list is long ago", serverRestored: false };
      if (!watchToldNothing) return undefined;
      const untilMs = clock.monotonicMs() + kubeWatchOpenMs;
      const present = await presentVersion(requests, kind, { ...selection, signal, untilMs, once: true });
      const isBack = present !== undefined && isLaterVersion(version, present);
      return isBack ? { reason: "the server's versions went back", serverRestored: true } : undefined;
    },
  };
}

/** Up to which version of the server a cache shows what happened, and who waits until it shows more. */
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
