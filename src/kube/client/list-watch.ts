/**
 * Keeps a cache of one kind of objects: reads the list, then follows the watch from the list's version, through cut
 * connections, silent ones and versions that are gone. What it cannot do now it does later, and says so meanwhile.
 */
import type { Readable } from "node:stream";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { apiVersionOf, resourceOf } from "../kinds.ts";
import type { Change, KubeObject, WatchCache, WatchCounts, WatchOptions } from "../kube.ts";
import { type CachedObject, createCache, createHandOver, createPassage } from "./cache.ts";
import { linesOf, Silence, TooLong } from "./lines.ts";
import { createListing, type Listing } from "./pages.ts";
import {
  backOffMs,
  connectionError,
  isPassing,
  malformedAnswer,
  type Peer,
  statusEventError,
  tooLarge,
} from "./refusal.ts";
import { createRelistCheck, createShownVersion, type RelistReason } from "./relist-check.ts";
import { openWatch, parseEvent, type WatchDeps, type WatchEvent } from "./watch-stream.ts";

/** A watch that is silent beyond its end is dead; with two tries to open the next one this stays within a minute. */
export const kubeSilenceMs = 40 * second;
/** A watch that ended sooner was no success, and is not taken up again without a pause. */
const kubeWatchWorthMs = second;
/** Answers in a row that were failures; then the version is doubted, as after a cluster was restored from a backup. */
const kubeDoubts = 5;
/** One event: etcd takes objects of 1.5 MiB, of which the server writes "<", ">" and "&" as six characters each. */
export const kubeEventBytes = 16 * 1024 * 1024;

export function createListWatch<T, Index extends string = never>(
  options: WatchOptions<T, Index>,
  given: Omit<WatchDeps, "signal">,
  onClosed: () => void,
): WatchCache<T, Index> {
  const { kind } = options;
  const resource = resourceOf(kind);
  const ending = new AbortController();
  const deps: WatchDeps = { ...given, log: given.log.with({ resource }), signal: ending.signal };
  const { requests, served, clock, random, log, signal } = deps;
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
  const cache = options.passing ? createPassage<T>() : createCache<T>();
  const indexes = Object.keys(options.indexes ?? {});
  const freshness = createFreshness(resource, clock, log);
  const relistCheck = createRelistCheck(kind, options, deps);
  const firstList = Promise.withResolvers<void>();
  /** Where the next watch begins; without one, with a list. */
  let version: string | undefined;
  /** The same of what the cache shows, which it still does while a version is given up. */
  const shown = createShownVersion();
  /** Why the last version was given up, until there is a list again. */
  let relisting: RelistReason | undefined;
  /** Somebody has seen that what it shows is not so. */
  let doubted: RelistReason | undefined;
  /** What the watch of now is read from. */
  let stream: Readable | undefined;
  /** The list that is being read. */
  let reading: Reading<T> | undefined;
  let ready = false;
  /** When the watch of now was accepted, if it was, and whether it brought anything. */
  let opened: { readonly atMs: number; brought: boolean } | undefined;
  /** The watch before this one told nothing, not even that nothing happened. */
  let toldNothing = false;

  const onFailure = () => {
    counts.handlerErrors += 1;
  };
  const cachedOf = createProjection<T>(options, onFailure, log);
  const handOver = createHandOver<T>(options.handle, onFailure, deps);

  async function startReading(): Promise<Reading<T>> {
    await relistCheck.listBegins();
    const otherPast = relisting?.otherPast ?? false;
    const make = (object: KubeObject) => {
      const known = cache.get(object.metadata);
      // What cannot be read is not gone: it stays as it was known.
      return !otherPast && isSame(known, object) ? known : (cachedOf(object) ?? known);
    };
    // Where nothing is kept, nothing has to be whole: a list of any length takes the memory of a page.
    const pass = async (page: readonly CachedObject<T>[]) => handOver(cache.replaced(page, otherPast));
    const asking = { ...options, signal, once: true };
    return { listing: createListing(requests, kind, asking, make, options.passing ? pass : undefined), otherPast };
  }

  /** A list that is interrupted goes on with the page that failed, when it is asked for again. */
  async function list(): Promise<string> {
    reading ??= await startReading();
    const { listing, otherPast } = reading;
    const { version: listed, found } = await listing.read();
    reading = undefined;
    if (listed === undefined) throw malformedAnswer("a list without a version", asked, await requests.peer());
    counts.lists += 1;
    if (counts.lists > 1) counts.relists += 1;
    relisting = undefined;
    freshness.heard();
    await handOver(cache.replaced(found, otherPast));
    shown.set(listed, otherPast);
    ready = true;
    firstList.resolve();
    return listed;
  }

  /** Where to watch from: where the last watch ended, unless that is in doubt, and else from a list. */
  async function whereFrom(): Promise<string> {
    const noticed = doubted ? undefined : await relistCheck.reason(version, toldNothing);
    const found = doubted ?? noticed;
    doubted = undefined;
    if (noticed?.otherPast) options.onOtherPast?.(noticed.reason);
    if (found) {
      log.info("relisting", { reason: found.reason });
      relisting = found;
      version = undefined;
      reading = undefined;
    }
    version ??= await list();
    return version;
  }

  /** Follows one watch to its end. Every event moves `version`, so the next one begins where this one broke off. */
  async function follow(from: string): Promise<void> {
    const { body, peer } = await openWatch(kind, options, from, deps);
    counts.connections += 1;
    opened = { atMs: clock.monotonicMs(), brought: false };
    freshness.heard();
    stream = body;
    try {
      for await (const { texts: lines } of linesOf(body, { clock, ...lineBounds })) {
        freshness.heard();
        for (const line of lines) if (line !== "") await take(line, peer);
      }
    } catch (thrown) {
      if (thrown instanceof TooLong) throw tooLarge(lineBounds.mostBytes, asked, peer);
      throw thrown instanceof Silence ? thrown : connectionError(thrown, asked, peer);
    } finally {
      stream = undefined;
    }
  }

  async function take(line: string, peer: Peer): Promise<void> {
    const event = parseEvent(line);
    // A connection cut in the middle of a line looks like this too; what it held comes again.
    if (!event) throw malformedAnswer("half an event", asked, peer);
    const { type, object } = event;
    if (type === "ERROR") throw statusEventError(object, asked, peer);
    if (type === "BOOKMARK") {
      counts.bookmarks += 1;
    } else {
      counts.events += 1;
      await handOver(changesOf(type, object));
    }
    version = object.metadata.resourceVersion ?? version;
    shown.set(version);
    if (opened) opened.brought = true;
  }

  function changesOf(type: WatchEvent["type"], object: KubeObject): Iterable<Change<T>> {
    if (type === "DELETED") return cache.gone(object.metadata);
    const cached = cachedOf({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object });
    return cached ? cache.seen(cached) : [];
  }

  function note(thrown: unknown): void {
    if (thrown instanceof Silence) {
      counts.silences += 1;
      return;
    }
    const error = ProviderError.from(thrown);
    counts.errors += 1;
    // From there the same event would come again, and none after it.
    if (error.code === "AKP_KUBE_GONE" || error.code === "AKP_KUBE_ANSWER_TOO_LARGE") version = undefined;
    // Only after those can a page be asked for again with its token.
    if (!isPassing(error)) reading = undefined;
    freshness.failed(error);
  }

  function hasBrought(): boolean {
    return opened?.brought ?? false;
  }

  /** How often in a row it failed, after this round. Only what lasted is taken up again at once: else it would be endless. */
  function failuresAfter(failures: number, pagesBefore: number): number {
    if (opened && clock.monotonicMs() - opened.atMs >= kubeWatchWorthMs) return 0;
    if (hasBrought() && version !== undefined) return 1;
    const pages = reading?.listing.pages ?? 0;
    return pages > pagesBefore ? 1 : failures + 1;
  }

  /** After a server that was only confused for a moment; what is not installed is looked for at a pace of its own. */
  async function pause(failures: number, failed: unknown): Promise<void> {
    await sleep(clock, backOffMs(random, failures, failed), signal);
    if (!ProviderError.is(failed, "AKP_KUBE_KIND_MISSING")) return;
    served.forget(kind);
    await served.untilServed(kind, signal);
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      let failed: unknown;
      const pagesBefore = reading?.listing.pages ?? 0;
      opened = undefined;
      try {
        await follow(await whereFrom());
      } catch (thrown) {
        if (signal.aborted) return;
        failed = thrown;
        note(thrown);
      }
      // After a connection that died there is nothing to doubt yet, only to connect again.
      toldNothing = !hasBrought() && !(failed instanceof Silence);
      failures = failuresAfter(failures, pagesBefore);
      if (failures === 0) continue;
      // One that is accepted and then breaks, again and again, shows nothing of what happens, however present it is.
      if (failures % kubeDoubts === 0 && (opened || !isAway(failed))) {
        version = undefined;
        reading = undefined;
      }
      // Closing ends the pause too, and is looked at next.
      await pause(failures, failed).catch(() => undefined);
    }
  }

  const running = run().catch((thrown) => {
    // Nothing in the loop should get here; a watch that ended in silence would be the worst of all faults.
    const error = ProviderError.from(thrown);
    freshness.failed(error);
    log.error("watch ended by an internal error", { error });
  });

  function untilClosed(stop: AbortSignal | undefined): AbortSignal {
    return stop ? AbortSignal.any([stop, signal]) : signal;
  }

  return {
    resource,
    get: (at) => cache.get(at)?.value,
    list: cache.values,
    by: (index, key) => cache.by(indexes.indexOf(index), key),
    get size() {
      return cache.size;
    },
    get ready() {
      return ready;
    },
    synced: (stop) => endedBy(firstList.promise, untilClosed(stop)),
    get version() {
      return shown.now;
    },
    seen: (wanted, stop) => shown.until(wanted, untilClosed(stop)),
    get trouble() {
      return freshness.trouble;
    },
    get ageMs() {
      return freshness.ageMs;
    },
    counts,
    relist(reason) {
      // Without a watch it begins with a list, or from one that was read just now.
      if (!stream) return;
      doubted = { reason, otherPast: true };
      stream.destroy(new Error(reason));
    },
    async close() {
      ending.abort(new Error("closed"));
      await running;
      onClosed();
    },
  };
}

const lineBounds = { silenceMs: kubeSilenceMs, mostBytes: kubeEventBytes, tooLong: "fail" } as const;

/** It said nothing about our version: it was not there, or had no time for us. */
function isAway(failed: unknown): boolean {
  return ProviderError.is(failed, "AKP_KUBE_UNREACHABLE") || ProviderError.is(failed, "AKP_KUBE_BUSY");
}

function isSame<T>(known: CachedObject<T> | undefined, { metadata: { uid, resourceVersion } }: KubeObject): boolean {
  return known !== undefined && known.uid === uid && known.version === resourceVersion && resourceVersion !== undefined;
}

interface Reading<T> {
  readonly listing: Listing<CachedObject<T>>;
  readonly otherPast: boolean;
}

/** What a watch keeps of an object: its value made small, and its keys in the indexes. */
type Projection<T> = (object: KubeObject) => CachedObject<T> | undefined;

/** An object that cannot be made small is reported and left as it was known. */
function createProjection<T>(
  {
    project,
    indexes = {},
    withManagedFields = false,
  }: Pick<WatchOptions<T>, "project" | "indexes" | "withManagedFields">,
  onFailure: () => void,
  log: Log,
): Projection<T> {
  const keyFunctions = Object.values(indexes);
  return (object) => {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    try {
      const value = project(withManagedFields ? object : withoutOwners(object));
      const keys = keyFunctions.length === 0 ? noKeys : keyFunctions.map((keyOf) => keyOf(value));
      return { name, namespace, uid, version: resourceVersion, value, keys };
    } catch (thrown) {
      onFailure();
      log.error("failed to read an object", { name, namespace, error: ProviderError.from(thrown) });
      return undefined;
    }
  };
}

/** One for all objects of a watch without indexes. */
const noKeys: readonly string[] = [];

function withoutOwners(object: KubeObject): KubeObject {
  if (!object.metadata.managedFields) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

// Where a stale cache is noticed: how long ago the server was heard of, and what went wrong since.

/** A cache that was not confirmed for so long says so. A dead connection is noticed and made anew before. */
export const kubeStaleMs = minute;

interface Freshness {
  /** The server told us something, if only that it is there. */
  heard(): void;
  failed(error: ProviderError): void;
  /** Why the cache may be out of date right now, if it may. */
  readonly trouble: Error | undefined;
  readonly ageMs: number;
}

function createFreshness(resource: string, clock: Clock, log: Log): Freshness {
  let heardMs = clock.monotonicMs();
  let failure: Error | undefined;
  const ageMs = () => clock.monotonicMs() - heardMs;
  return {
    heard() {
      heardMs = clock.monotonicMs();
      if (failure) log.info("watch resumed");
      failure = undefined;
    },
    failed(error) {
      if (failure?.message !== error.message) log.info("watch interrupted", { error });
      failure = error;
    },
    get trouble() {
      if (failure) return failure;
      // Whatever the reason: what was not confirmed for so long is not to be relied on.
      if (ageMs() <= kubeStaleMs) return undefined;
      return new ProviderError("AKP_KUBE_STALE", { resource, seconds: kubeStaleMs / 1_000 });
    },
    get ageMs() {
      return ageMs();
    },
  };
}
