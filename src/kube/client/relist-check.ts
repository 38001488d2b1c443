/** When to relist although the watch works: a server restored from a backup silently accepts a version that it has not reached. */
import { hour } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { jitter } from "../../runtime/random.ts";
import type { Kind } from "../kinds.ts";
import { isLaterVersion, type Selection } from "../kube.ts";
import { presentVersion } from "./pages.ts";
import { kubeWatchOpenMs, type WatchDeps } from "./watch-stream.ts";

/** Interval of relists, ±20 %: a restored server that has passed our version looks unchanged. */
export const kubeBelievedMs = hour;

export interface RelistReason {
  readonly reason: string;
  /** Equal versions need not be equal objects. */
  readonly serverRestored: boolean;
}

export function createRelistCheck(kind: Kind, selection: Selection, { requests, clock, random, signal }: WatchDeps) {
  /** Of the server that was listed. */
  let home: string | undefined;
  let relistAtMs = 0;

  async function address(): Promise<string> {
    return (await endedBy(requests.peer(), signal)).server.href;
  }

  return {
    /** Called before a list is read. */
    async listBegins(): Promise<void> {
      home = await address();
      relistAtMs = clock.monotonicMs() + jitter(random, kubeBelievedMs);
    },
    /** Why to begin a new list rather than to watch from this version, if there is a reason. */
    async reason(version: string | undefined, wasEmpty: boolean): Promise<RelistReason | undefined> {
      if (home === undefined) return undefined;
      if ((await address()) !== home) return { reason: "the server is at another address", serverRestored: true };
      if (version === undefined) return undefined;
      if (clock.monotonicMs() >= relistAtMs) return { reason: "the last list is long ago", serverRestored: false };
      if (!wasEmpty) return undefined;
      const untilMs = clock.monotonicMs() + kubeWatchOpenMs;
      const present = await presentVersion(requests, kind, { ...selection, signal, untilMs, once: true });
      const isBack = present !== undefined && isLaterVersion(version, present);
      return isBack ? { reason: "the server's versions went back", serverRestored: true } : undefined;
    },
  };
}

/** The version that a cache shows, and those who wait for a later one. */
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
    /** After a restore the versions waited for never come, so all waiters resolve. */
    set(version: string | undefined, serverRestored = false): void {
      now = version;
      for (const [waiter, wanted] of waiting) if (serverRestored || shows(wanted)) waiter.resolve();
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
