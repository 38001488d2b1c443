/** Caches one kind of objects by list and watch, through cut or silent connections and versions that are gone. */
import type { Readable } from "node:stream";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { apiVersionOf, type Kind, resourceOf } from "../kinds.ts";
import type { Change, KubeObject, WatchCache, WatchCounts, WatchOptions } from "../kube.ts";
import {
  answerTooLarge,
  backOffMs,
  connectionError,
  isPassing,
  malformedAnswer,
  type Peer,
  statusEventError,
} from "./api-errors.ts";
import { type Cache, type CachedObject, createCache, createHandOver, createUncached } from "./cache.ts";
import { linesOf, Silence, TooLong } from "./lines.ts";
import { createListing, type Listing } from "./pages.ts";
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
  return new ListWatch(options, given, onClosed);
}

class ListWatch<T, Index extends string> implements WatchCache<T, Index> {
  readonly resource: string;
  readonly counts: WatchCounts = {
    ...{ events: 0, bookmarks: 0, lists: 0, relists: 0, connections: 0, silences: 0, errors: 0, handlerErrors: 0 },
  };
  readonly #options: WatchOptions<T, Index>;
  readonly #kind: Kind;
  readonly #onClosed: () => void;
  readonly #ending = new AbortController();
  readonly #deps: WatchDeps;
  readonly #asked: { readonly verb: string; readonly resource: string };
  readonly #cache: Cache<T>;
  readonly #indexes: readonly string[];
  readonly #freshness: Freshness;
  readonly #relistCheck: ReturnType<typeof createRelistCheck>;
  readonly #cachedOf: Projection<T>;
  readonly #handOver: (changes: Iterable<Change<T>>) => Promise<void>;
  readonly #firstList = Promise.withResolvers<void>();
  /** Where the next watch begins; without one, with a list. */
  #version: string | undefined;
  /** The same of what the cache shows, which it still does while a version is given up. */
  readonly #shown = createShownVersion();
  /** Why the last version was given up, until there is a list again. */
  #relisting: RelistReason | undefined;
  /** Somebody has seen that what it shows is not so. */
  #doubted: RelistReason | undefined;
  /** What the watch of now is read from. */
  #stream: Readable | undefined;
  /** The list that is being read. */
  #reading: Reading<T> | undefined;
  #ready = false;
  /** When the watch of now was accepted, if it was, and whether it brought anything. */
  #opened: { readonly atMs: number; brought: boolean } | undefined;
  /** The watch before this one told nothing, not even that nothing happened. */
  #toldNothing = false;
  readonly #running: Promise<void>;

  constructor(options: WatchOptions<T, Index>, given: Omit<WatchDeps, "signal">, onClosed: () => void) {
    const { kind } = options;
    this.resource = resourceOf(kind);
    this.#options = options;
    this.#kind = kind;
    this.#onClosed = onClosed;
    const log = given.log.with({ resource: this.resource });
    this.#deps = { ...given, log, signal: this.#ending.signal };
    this.#asked = { verb: "watch", resource: this.resource };
    this.#cache = options.uncached ? createUncached<T>() : createCache<T>();
    this.#indexes = Object.keys(options.indexes ?? {});
    this.#freshness = createFreshness(this.resource, given.clock, log);
    this.#relistCheck = createRelistCheck(kind, options, this.#deps);
    const onFailure = () => {
      this.counts.handlerErrors += 1;
    };
    this.#cachedOf = createProjection<T>(options, onFailure, log);
    this.#handOver = createHandOver<T>(options.handle, onFailure, this.#deps);
    this.#running = this.#run().catch((thrown) => {
      // Nothing in the loop should get here; a watch that ended in silence would be the worst of all faults.
      const error = ProviderError.from(thrown);
      this.#freshness.failed(error);
      log.error("watch ended by an internal error", { error });
    });
  }

  readonly get: WatchCache<T, Index>["get"] = (at) => this.#cache.get(at)?.value;
  readonly list: WatchCache<T, Index>["list"] = () => this.#cache.values();
  readonly by: WatchCache<T, Index>["by"] = (index, key) => this.#cache.by(this.#indexes.indexOf(index), key);
  readonly synced: WatchCache<T, Index>["synced"] = (stop) => endedBy(this.#firstList.promise, this.#untilClosed(stop));
  readonly seen: WatchCache<T, Index>["seen"] = (wanted, stop) => this.#shown.until(wanted, this.#untilClosed(stop));

  get size(): number {
    return this.#cache.size;
  }

  get ready(): boolean {
    return this.#ready;
  }

  get version(): string | undefined {
    return this.#shown.now;
  }

  get error(): Error | undefined {
    return this.#freshness.trouble;
  }

  get ageMs(): number {
    return this.#freshness.ageMs;
  }

  readonly relist = (reason: string): void => {
    // Without a watch it begins with a list, or from one that was read just now.
    if (!this.#stream) return;
    this.#doubted = { reason, serverRestored: true };
    this.#stream.destroy(new Error(reason));
  };

  readonly close = async (): Promise<void> => {
    this.#ending.abort(new Error("closed"));
    await this.#running;
    this.#onClosed();
  };

  async #startReading(): Promise<Reading<T>> {
    await this.#relistCheck.listBegins();
    const otherPast = this.#relisting?.serverRestored ?? false;
    const make = (object: KubeObject) => {
      const known = this.#cache.get(object.metadata);
      // What cannot be read is not gone: it stays as it was known.
      return !otherPast && isSame(known, object) ? known : (this.#cachedOf(object) ?? known);
    };
    // Where nothing is kept, nothing has to be whole: a list of any length takes the memory of a page.
    const pass = async (page: readonly CachedObject<T>[]) => this.#handOver(this.#cache.replaced(page, otherPast));
    const asking = { ...this.#options, signal: this.#deps.signal, once: true };
    return {
      listing: createListing(this.#deps.requests, this.#kind, asking, make, this.#options.uncached ? pass : undefined),
      otherPast,
    };
  }

  /** A list that is interrupted goes on with the page that failed, when it is asked for again. */
  async #list(): Promise<string> {
    this.#reading ??= await this.#startReading();
    const { listing, otherPast } = this.#reading;
    const { version: listed, found } = await listing.read();
    this.#reading = undefined;
    if (listed === undefined)
      throw malformedAnswer("a list without a version", this.#asked, await this.#deps.requests.peer());
    this.counts.lists += 1;
    if (this.counts.lists > 1) this.counts.relists += 1;
    this.#relisting = undefined;
    this.#freshness.heard();
    await this.#handOver(this.#cache.replaced(found, otherPast));
    this.#shown.set(listed, otherPast);
    this.#ready = true;
    this.#firstList.resolve();
    return listed;
  }

  /** Where to watch from: where the last watch ended, unless that is in doubt, and else from a list. */
  async #whereFrom(): Promise<string> {
    const noticed = this.#doubted ? undefined : await this.#relistCheck.reason(this.#version, this.#toldNothing);
    const found = this.#doubted ?? noticed;
    this.#doubted = undefined;
    if (noticed?.serverRestored) this.#options.onServerRestored?.(noticed.reason);
    if (found) {
      this.#deps.log.info("relisting", { reason: found.reason });
      this.#relisting = found;
      this.#version = undefined;
      this.#reading = undefined;
    }
    this.#version ??= await this.#list();
    return this.#version;
  }

  /** Follows one watch to its end. Every event moves `version`, so the next one begins where this one broke off. */
  async #follow(from: string): Promise<void> {
    const { body, peer } = await openWatch(this.#kind, this.#options, from, this.#deps);
    this.counts.connections += 1;
    this.#opened = { atMs: this.#deps.clock.monotonicMs(), brought: false };
    this.#freshness.heard();
    this.#stream = body;
    try {
      for await (const { texts: lines } of linesOf(body, { clock: this.#deps.clock, ...lineBounds })) {
        this.#freshness.heard();
        for (const line of lines) if (line !== "") await this.#take(line, peer);
      }
    } catch (thrown) {
      if (thrown instanceof TooLong) throw answerTooLarge(lineBounds.mostBytes, this.#asked, peer);
      throw thrown instanceof Silence ? thrown : connectionError(thrown, this.#asked, peer);
    } finally {
      this.#stream = undefined;
    }
  }

  async #take(line: string, peer: Peer): Promise<void> {
    const event = parseEvent(line);
    // A connection cut in the middle of a line looks like this too; what it held comes again.
    if (!event) throw malformedAnswer("half an event", this.#asked, peer);
    const { type, object } = event;
    if (type === "ERROR") throw statusEventError(object, this.#asked, peer);
    if (type === "BOOKMARK") {
      this.counts.bookmarks += 1;
    } else {
      this.counts.events += 1;
      await this.#handOver(this.#changesOf(type, object));
    }
    this.#version = object.metadata.resourceVersion ?? this.#version;
    this.#shown.set(this.#version);
    if (this.#opened) this.#opened.brought = true;
  }

  #changesOf(type: WatchEvent["type"], object: KubeObject): Iterable<Change<T>> {
    if (type === "DELETED") return this.#cache.gone(object.metadata);
    const cached = this.#cachedOf({ apiVersion: apiVersionOf(this.#kind), kind: this.#kind.kind, ...object });
    return cached ? this.#cache.seen(cached) : [];
  }

  #note(thrown: unknown): void {
    if (thrown instanceof Silence) {
      this.counts.silences += 1;
      return;
    }
    const error = ProviderError.from(thrown);
    this.counts.errors += 1;
    // From there the same event would come again, and none after it.
    if (error.code === "AKP_KUBE_GONE" || error.code === "AKP_KUBE_ANSWER_TOO_LARGE") this.#version = undefined;
    // Only after those can a page be asked for again with its token.
    if (!isPassing(error)) this.#reading = undefined;
    this.#freshness.failed(error);
  }

  #hasBrought(): boolean {
    return this.#opened?.brought ?? false;
  }

  /** How often in a row it failed, after this round. Only what lasted is taken up again at once: else it would be endless. */
  #failuresAfter(failures: number, pagesBefore: number): number {
    if (this.#opened && this.#deps.clock.monotonicMs() - this.#opened.atMs >= kubeWatchWorthMs) return 0;
    if (this.#hasBrought() && this.#version !== undefined) return 1;
    const pages = this.#reading?.listing.pages ?? 0;
    return pages > pagesBefore ? 1 : failures + 1;
  }

  /** After a server that was only confused for a moment; what is not installed is looked for at a pace of its own. */
  async #pause(failures: number, failed: unknown): Promise<void> {
    await sleep(this.#deps.clock, backOffMs(this.#deps.random, failures, failed), this.#deps.signal);
    if (!ProviderError.is(failed, "AKP_KUBE_KIND_MISSING")) return;
    this.#deps.served.forget(this.#kind);
    await this.#deps.served.untilServed(this.#kind, this.#deps.signal);
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#deps.signal.aborted) {
      let failed: unknown;
      const pagesBefore = this.#reading?.listing.pages ?? 0;
      this.#opened = undefined;
      try {
        await this.#follow(await this.#whereFrom());
      } catch (thrown) {
        if (this.#deps.signal.aborted) return;
        failed = thrown;
        this.#note(thrown);
      }
      // After a connection that died there is nothing to doubt yet, only to connect again.
      this.#toldNothing = !this.#hasBrought() && !(failed instanceof Silence);
      failures = this.#failuresAfter(failures, pagesBefore);
      if (failures === 0) continue;
      // One that is accepted and then breaks, again and again, shows nothing of what happens, however present it is.
      if (failures % kubeDoubts === 0 && (this.#opened || !isAway(failed))) {
        this.#version = undefined;
        this.#reading = undefined;
      }
      // Closing ends the pause too, and is looked at next.
      await this.#pause(failures, failed).catch(() => undefined);
    }
  }

  #untilClosed(stop: AbortSignal | undefined): AbortSignal {
    return stop ? AbortSignal.any([stop, this.#deps.signal]) : this.#deps.signal;
  }
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
