/**
 * Keeps a cache of one kind of objects: reads the list, then follows the watch from the list's version, through cut
 * connections, silent ones and versions that are gone. What it cannot do now it does later, and says so meanwhile.
 */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import type { Random } from "../../runtime/random.ts";
import { apiVersionOf, resourceOf } from "../kinds.ts";
import type { Change, KubeObject, WatchCache, WatchCounts, WatchOptions } from "../kube.ts";
import { backOffMs } from "./back-off.ts";
import { createCache, type Sight } from "./cache.ts";
import { createHandOver } from "./hand-over.ts";
import { linesOf, Silence } from "./lines.ts";
import { listPages } from "./pages.ts";
import { collectionPath, selectionQuery, withQuery } from "./paths.ts";
import { connectionError, malformed, type Peer, statusEventError } from "./refusal.ts";
import type { Requests } from "./requests.ts";

export interface ListWatchDeps {
  readonly requests: Requests;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called when it has been closed. */
  readonly onClosed?: () => void;
}

export function createListWatch<T>(options: WatchOptions<T>, deps: ListWatchDeps): WatchCache<T> {
  const { requests, clock, random } = deps;
  const { kind } = options;
  const resource = resourceOf(kind);
  const log = deps.log.with({ resource });
  const asked = { verb: "watch", resource };
  const counts: WatchCounts = {
    events: 0,
    bookmarks: 0,
    lists: 0,
    relists: 0,
    connections: 0,
    silences: 0,
    errors: 0,
    handlerErrors: 0,
  };
  const cache = createCache<T>();
  const ending = new AbortController();
  const { signal } = ending;
  const firstList = Promise.withResolvers<void>();
  /** Where the next watch begins; without one, with a list. */
  let version: string | undefined;
  let heardMs = clock.monotonicMs();
  let trouble: Error | undefined;
  let ready = false;
  /** When the watch of now was accepted, if it was, and whether it brought anything. */
  let opened: { readonly atMs: number; brought: boolean } | undefined;

  function heard(): void {
    heardMs = clock.monotonicMs();
    if (trouble) log.info("the watch goes on");
    trouble = undefined;
  }

  /** An object that cannot be made small is reported and left as it was known. */
  function sightOf(object: KubeObject): Sight<T> | undefined {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    try {
      return { name, namespace, uid, version: resourceVersion, value: options.project(slim(object)) };
    } catch (thrown) {
      counts.handlerErrors += 1;
      log.error("an object could not be read", { name, namespace, error: ProviderError.from(thrown) });
      return undefined;
    }
  }

  function slim(object: KubeObject): KubeObject {
    if (options.withManagedFields || !object.metadata.managedFields) return object;
    const { managedFields: _, ...metadata } = object.metadata;
    return { ...object, metadata };
  }

  const onFailure = () => {
    counts.handlerErrors += 1;
  };
  const handOver = createHandOver<T>({ handle: options.handle, onFailure, clock, random, log, signal });

  async function list(): Promise<string> {
    const sights: Sight<T>[] = [];
    const selection = { ...options, signal, once: true };
    const listed = await listPages(requests, kind, selection, (object) => {
      // What cannot be read is not gone: it stays as it was known.
      const sight = sightOf(object) ?? cache.get(object.metadata);
      if (sight) sights.push(sight);
    });
    counts.lists += 1;
    if (counts.lists > 1) counts.relists += 1;
    heard();
    await handOver(cache.replaced(sights));
    ready = true;
    firstList.resolve();
    return listed;
  }

  /** Follows one watch to its end. Every event moves `version`, so the next one begins where this one broke off. */
  async function follow(from: string): Promise<void> {
    const seconds = Math.round(
      (limits.kubeWatchLeastMs + random.next() * (limits.kubeWatchMostMs - limits.kubeWatchLeastMs)) / 1_000,
    );
    const query = {
      ...selectionQuery(options),
      watch: 1,
      allowWatchBookmarks: true,
      resourceVersion: from,
      timeoutSeconds: seconds,
    };
    const path = withQuery(collectionPath(kind, options.namespace), query);
    const { body, peer } = await requests.stream({ ...asked, path, signal, once: true, answerMs });
    counts.connections += 1;
    opened = { atMs: clock.monotonicMs(), brought: false };
    heard();
    try {
      for await (const lines of linesOf(body, { clock, ...lineBounds })) {
        heard();
        for (const line of lines) if (line !== "") await take(line, peer);
      }
    } catch (thrown) {
      throw thrown instanceof Silence ? thrown : connectionError(thrown, asked, peer);
    }
  }

  async function take(line: string, peer: Peer): Promise<void> {
    const event = parseEvent(line);
    // A connection cut in the middle of a line looks like this too; what it held comes again.
    if (!event) throw malformed("half an event", asked, peer);
    const { type, object } = event;
    if (type === "ERROR") throw statusEventError(object, asked, peer);
    if (opened) opened.brought = true;
    if (type === "BOOKMARK") {
      counts.bookmarks += 1;
    } else {
      counts.events += 1;
      await handOver(changesOf(type, object));
    }
    version = object.metadata.resourceVersion ?? version;
  }

  function changesOf(type: WatchEvent["type"], object: KubeObject): Iterable<Change<T>> {
    if (type === "DELETED") return cache.gone(object.metadata);
    const sight = sightOf({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object });
    return sight ? cache.seen(sight) : [];
  }

  function note(thrown: unknown): void {
    if (thrown instanceof Silence) {
      counts.silences += 1;
      return;
    }
    const error = ProviderError.from(thrown);
    counts.errors += 1;
    if (error.code === "AKP_KUBE_GONE") version = undefined;
    if (trouble?.message !== error.message) log.info("the watch is interrupted", { error });
    trouble = error;
  }

  /** A watch that brought something, or stood for a moment, is taken up again at once when it ends. */
  function worked(): boolean {
    return opened !== undefined && (opened.brought || clock.monotonicMs() - opened.atMs >= limits.kubeWatchWorthMs);
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      let failed: unknown;
      opened = undefined;
      try {
        version ??= await list();
        await follow(version);
      } catch (thrown) {
        if (signal.aborted) return;
        failed = thrown;
        note(thrown);
      }
      failures = worked() ? 0 : failures + 1;
      if (failures === 0) continue;
      if (failures % limits.kubeDoubts === 0 && !ProviderError.is(failed, "AKP_KUBE_UNREACHABLE")) version = undefined;
      // Closing ends the pause too, and is looked at next.
      await sleep(clock, backOffMs(random, failures, failed), signal).catch(() => undefined);
    }
  }

  const running = run().catch((thrown) => {
    // Nothing in the loop should get here; a watch that ended in silence would be the worst of all faults.
    trouble = ProviderError.from(thrown);
    log.error("the watch ended by a fault of ours", { error: trouble });
  });

  return {
    resource: resourceOf(kind),
    get: (at) => cache.get(at)?.value,
    list: cache.values,
    get size() {
      return cache.size;
    },
    get ready() {
      return ready;
    },
    synced: (stop) => endedBy(firstList.promise, stop ? AbortSignal.any([stop, signal]) : signal),
    get trouble() {
      return trouble;
    },
    get ageMs() {
      return clock.monotonicMs() - heardMs;
    },
    counts,
    async close() {
      ending.abort(new Error("closed"));
      await running;
      deps.onClosed?.();
    },
  };
}

const answerMs = limits.kubeWatchOpenMs;
const lineBounds = { silenceMs: limits.kubeSilenceMs, mostBytes: limits.kubeEventBytes, tooLong: "fail" } as const;

interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: KubeObject;
}

function parseEvent(line: string): WatchEvent | undefined {
  try {
    const event: unknown = JSON.parse(line);
    const sound = typeof event === "object" && event !== null && "type" in event && "object" in event;
    return sound ? (event as WatchEvent) : undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/** The promise, unless the signal comes first. */
function endedBy(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  const stopped = Promise.withResolvers<void>();
  const onAbort = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([promise, stopped.promise]).finally(() => signal.removeEventListener("abort", onAbort));
}
