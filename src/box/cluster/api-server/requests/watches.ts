/** Watches: changes since a version, then further changes as they happen, with regular bookmarks. */
import { Readable } from "node:stream";
import { apiVersionOf, kinds, resourceOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import type { Clock, Timer } from "../../../../runtime/clock.ts";
import { minute, second } from "../../../../runtime/durations.ts";
import type { Test } from "../objects/label-selector.ts";
import { badRequest } from "../objects/rejections.ts";
import { StatusError, statusOf } from "../objects/status-error.ts";
import type { Served } from "../served-kinds.ts";
import type { Store, StoredChange } from "../store.ts";
import type { FaultState, WatchFaults } from "./faults.ts";

/** What one watch may have waiting; a reader that is further behind is cut off, as by a real server. */
export const simulatedWatchBytes = 64 * 1024 * 1024;
/** Interval of bookmarks, as of a real server. */
const simulatedBookmarkMs = minute;
/** The last bookmark comes this long before the end. */
const simulatedLastBookmarkMs = 2 * second;

interface WatchRequest {
  readonly served: Served;
  readonly wanted: Test<KubeObject>;
  /** Undefined or "0": existing objects come first. */
  readonly from: string | undefined;
  readonly lastsMs: number;
  readonly bookmarks: boolean;
}

export interface Watches extends WatchFaults {
  open(request: WatchRequest): Readable;
  readonly size: number;
}

interface OpenWatch {
  readonly resource: string;
  readonly body: Readable;
  onChange(change: StoredChange): void;
  silent: boolean;
  /** Events until it is cut. */
  left: number;
  /** The version that the client has seen; changes up to it are not sent, even after a restore. */
  readonly seen: number;
  /** Until when earlier events are delayed. */
  busyUntilMs: number;
  /** Events that wait until then. */
  late: number;
}

interface WatchesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly faults: FaultState;
}

export function createWatches({ store, clock, faults }: WatchesDeps): Watches {
  const open = new Set<OpenWatch>();
  /** The last object as JSON, shared by all watches of a change. */
  let written: { readonly object: KubeObject; readonly text: string } | undefined;

  store.subscribe((change) => {
    const resource = resourceOf(change.served.kind);
    for (const watch of open) if (watch.resource === resource) watch.onChange(change);
    written = undefined;
    // A watch of a removed kind ends, so that the client's next request gets 404.
    if (change.served.kind === kinds.customResourceDefinition && change.type === "deleted") {
      for (const watch of open) if (watch.resource === change.object.metadata.name) end(watch);
    }
  });

  function textOf(object: KubeObject): string {
    if (written?.object !== object) written = { object, text: JSON.stringify(object) };
    return written.text;
  }

  /** In order, also where it comes late. */
  function send(watch: OpenWatch, type: string, text: string): void {
    const now = clock.monotonicMs();
    watch.busyUntilMs = Math.max(watch.busyUntilMs, now + faults.watchLagMs);
    // At the very moment when those before it are due, it still comes after them.
    if (watch.busyUntilMs <= now && watch.late === 0) {
      deliver(watch, type, text);
      return;
    }
    watch.late += 1;
    clock.timer(watch.busyUntilMs - now, () => {
      watch.late -= 1;
      deliver(watch, type, text);
    });
  }

  function deliver(watch: OpenWatch, type: string, text: string): void {
    if (watch.silent || !open.has(watch)) return;
    watch.body.push(`{"type":"${type}","object":${text}}\n`);
    if (type === "BOOKMARK") return;
    watch.left -= 1;
    if (watch.left <= 0) cut(watch);
    else if (watch.body.readableLength > simulatedWatchBytes) end(watch);
  }

  function end(watch: OpenWatch): void {
    open.delete(watch);
    if (!watch.silent) watch.body.push(null);
  }

  function cut(watch: OpenWatch): void {
    open.delete(watch);
    watch.body.push('{"type":"MODIF');
    watch.body.push(null);
  }

  /** With a selector, an object that no longer matches is deleted, and one that matches now is added. */
  function sendChange(
    watch: OpenWatch,
    { wanted }: WatchRequest,
    { type, object, before, version }: StoredChange,
  ): void {
    if (version <= watch.seen) return;
    const was = before !== undefined && wanted(before);
    const is = type !== "deleted" && wanted(object);
    if (is) send(watch, was ? "MODIFIED" : "ADDED", textOf(object));
    else if (was) send(watch, "DELETED", textOf(goneAs(before, object)));
  }

  function catchUp(watch: OpenWatch, request: WatchRequest): void {
    const { from, served, wanted } = request;
    if (!isVersion(from)) {
      for (const object of store.list(served)) if (wanted(object)) send(watch, "ADDED", textOf(object));
      return;
    }
    const since = faults.remembersNothing ? undefined : store.changesAfter(watch.seen);
    if (!since) {
      const message = `too old resource version: ${from} (${store.version})`;
      send(watch, "ERROR", JSON.stringify(statusOf(new StatusError(410, "Expired", message))));
      end(watch);
      return;
    }
    for (const change of since)
      if (resourceOf(change.served.kind) === watch.resource) sendChange(watch, request, change);
  }

  function schedule(watch: OpenWatch, { served, lastsMs, bookmarks }: WatchRequest): void {
    const endMs = clock.monotonicMs() + lastsMs;
    let bookmark: Timer | undefined;
    const { kind } = served;
    function next(): void {
      const last = endMs - simulatedLastBookmarkMs - clock.monotonicMs();
      if (last <= 0) return;
      bookmark = clock.timer(Math.min(simulatedBookmarkMs, last), () => {
        const metadata = { resourceVersion: String(store.version), creationTimestamp: null };
        if (store.version >= watch.seen)
          send(watch, "BOOKMARK", JSON.stringify({ kind: kind.kind, apiVersion: apiVersionOf(kind), metadata }));
        next();
      });
    }
    if (bookmarks) next();
    const timeout = clock.timer(lastsMs, () => end(watch));
    watch.body.on("close", () => {
      open.delete(watch);
      bookmark?.cancel();
      timeout.cancel();
    });
  }

  return {
    open(request) {
      const body = new Readable({ read: () => undefined });
      // A reader gets the error from its read; without a reader it must not end the process.
      body.on("error", () => undefined);
      const watch: OpenWatch = {
        resource: resourceOf(request.served.kind),
        body,
        onChange: (change) => sendChange(watch, request, change),
        silent: false,
        left: faults.cutAfterEvents ?? Number.POSITIVE_INFINITY,
        seen: isVersion(request.from) ? readVersion(request.from) : 0,
        busyUntilMs: 0,
        late: 0,
      };
      open.add(watch);
      schedule(watch, request);
      catchUp(watch, request);
      return body;
    },
    get size() {
      return open.size;
    },
    end: () => open.forEach(end),
    cut: () => open.forEach(cut),
    silence() {
      for (const watch of open) watch.silent = true;
    },
    cutAfter(events) {
      for (const watch of open) watch.left = events;
    },
  };
}

/** A deleted object as it last was, with the version of its deletion. */
function goneAs(before: KubeObject, now: KubeObject): KubeObject {
  const { resourceVersion } = now.metadata;
  return { ...before, metadata: { ...before.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) } };
}

function isVersion(from: string | undefined): from is string {
  return from !== undefined && from !== "" && from !== "0";
}

function readVersion(text: string): number {
  if (!/^\d+$/.test(text))
    throw badRequest(`Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`);
  return Number(text);
}
