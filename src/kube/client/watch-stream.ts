/** Watch requests, whose response has an event on each line; and when to relist although the watch works. */
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { hour, second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { jitter } from "../../runtime/random.ts";
import { type Kind, resourceOf } from "../kinds.ts";
import { isLaterVersion, type KubeObject, type Selection } from "../kube.ts";
import { presentVersion } from "./pages.ts";
import type { Requests } from "./requests.ts";
import type { ServedGroups } from "./served-groups.ts";
import { collectionPath, type KubeAnswer, selectionQuery, withQuery } from "./transport.ts";

/** Timeout of a watch, random in between. Servers send a bookmark once a minute and before the end of a watch. */
export const kubeWatchLeastMs = 25 * second;
export const kubeWatchMostMs = 35 * second;
/** A server accepts a watch at once, or after the three seconds that it may need to catch up. */
export const kubeWatchOpenMs = 8 * second;

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: KubeObject;
}

export interface WatchDeps extends RuntimeDeps {
  readonly requests: Requests;
  readonly served: ServedGroups;
  /** Aborted when the watch is closed. */
  readonly signal: AbortSignal;
}

export function openWatch(
  kind: Kind,
  selection: Selection,
  from: string,
  { requests, random, signal }: WatchDeps,
): Promise<KubeAnswer> {
  const lastsMs = kubeWatchLeastMs + random.next() * (kubeWatchMostMs - kubeWatchLeastMs);
  const path = withQuery(collectionPath(kind, selection.namespace), {
    ...selectionQuery(selection),
    watch: 1,
    allowWatchBookmarks: true,
    resourceVersion: from,
    timeoutSeconds: Math.round(lastsMs / 1_000),
  });
  const operation = { verb: "watch", resource: resourceOf(kind) };
  return requests.stream({ ...operation, path, signal, once: true, answerMs: kubeWatchOpenMs });
}

/** Undefined where the line is no event. */
export function parseEvent(line: string): WatchEvent | undefined {
  const event = parseJson(line);
  return isRecord(event) && "type" in event && "object" in event ? (event as unknown as WatchEvent) : undefined;
}

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
