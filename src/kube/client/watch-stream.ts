/** One watch request: each line of the response is an event. */
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { second } from "../../runtime/durations.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { type Kind, resourceOf } from "../kinds.ts";
import type { KubeObject, Selection } from "../kube.ts";
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
  const asked = { verb: "watch", resource: resourceOf(kind) };
  return requests.stream({ ...asked, path, signal, once: true, answerMs: kubeWatchOpenMs });
}

/** Undefined where the line is no event. */
export function parseEvent(line: string): WatchEvent | undefined {
  const event = parseJson(line);
  return isRecord(event) && "type" in event && "object" in event ? (event as unknown as WatchEvent) : undefined;
}
