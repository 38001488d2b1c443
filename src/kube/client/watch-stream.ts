/** One watch as the API writes it: a line for every event. */
import { limits } from "../../runtime/limits.ts";
import type { Random } from "../../runtime/random.ts";
import { type Kind, resourceOf } from "../kinds.ts";
import type { KubeObject, Selection } from "../kube.ts";
import { collectionPath, selectionQuery, withQuery } from "./paths.ts";
import type { Requests } from "./requests.ts";
import type { Answer } from "./transport.ts";

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: KubeObject;
}

export interface WatchStreamDeps {
  readonly requests: Requests;
  readonly random: Random;
  readonly signal: AbortSignal;
}

export function openWatch(
  kind: Kind,
  selection: Selection,
  from: string,
  { requests, random, signal }: WatchStreamDeps,
): Promise<Answer> {
  const lastsMs = limits.kubeWatchLeastMs + random.next() * (limits.kubeWatchMostMs - limits.kubeWatchLeastMs);
  const path = withQuery(collectionPath(kind, selection.namespace), {
    ...selectionQuery(selection),
    watch: 1,
    allowWatchBookmarks: true,
    resourceVersion: from,
    timeoutSeconds: Math.round(lastsMs / 1_000),
  });
  const asked = { verb: "watch", resource: resourceOf(kind) };
  return requests.stream({ ...asked, path, signal, once: true, answerMs: limits.kubeWatchOpenMs });
}

/** Undefined when it is none. */
export function parseEvent(line: string): WatchEvent | undefined {
  try {
    const event: unknown = JSON.parse(line);
    const sound = typeof event === "object" && event !== null && "type" in event && "object" in event;
    return sound ? (event as WatchEvent) : undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}
