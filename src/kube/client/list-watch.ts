/** Caches one kind of objects by list and watch, through cut or silent connections and versions that are gone. */
import type { Readable } from "node:stream";
import { sleep } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { apiVersionOf, type Kind, resourceOf } from "../kinds.ts";
import type { Change, KubeObject, WatchCache, WatchCounts, WatchOptions } from "../kube.ts";
import {
  answerTooLarge,
  backOffMs,
  connectionError,
  isTransient,
  malformedAnswer,
  type Peer,
  statusEventError,
} from "./api-errors.ts";
import { type Cache, type CachedObject, createCache, createHandOver } from "./cache.ts";
import { linesOf, Silence, TooLong } from "./lines.ts";
import { createListing, type Listing } from "./pages.ts";
import {
  createRelistCheck,
  createShownVersion,
  openWatch,
  parseEvent,
  type RelistReason,
  type WatchDeps,
  type WatchEvent,
} from "./watch-stream.ts";

/** A cache that was not confirmed for so long says so. A dead connection is noticed and made anew before. */
export const kubeStaleMs = minute;
/** A watch that is silent beyond its end is dead; with two tries to open the next one this stays within a minute. */
export const kubeSilenceMs = 40 * second;
/** A watch that ended sooner counts as failed, and is retried after a pause. */
const kubeWatchSuccessMs = second;
/** Failed responses in a row after which the version is dropped: the cluster may have been restored from a backup. */
const kubeFailuresToRelist = 5;
/** One event: etcd takes objects of 1.5 MiB, of which the server writes "<", ">" and "&" as six characters each. */
export const kubeEventBytes = 16 * 1024 * 1024;

export class ListWatch<T, Index extends string> implements WatchCache<T, Index> {
  readonly resource: string;
  readonly counts: WatchCounts = {
    ...{ events: 0, bookmarks: 0, lists: 0, relists: 0, connections: 0, silences: 0, errors: 0, handlerErrors: 0 },
  };
  readonly #options: WatchOptions<T, Index>;
  readonly #kind: Kind;
  readonly #onClosed: () => void;
  readonly #ending = new AbortController();
  readonly #deps: WatchDeps;
  readonly #operation: { readonly verb: string; readonly resource: string };
  readonly #cache: Cache<T>;
  readonly #indexes: readonly string[];
  readonly #relistCheck: ReturnType<typeof createRelistCheck>;
  readonly #keyFunctions: readonly ((value: T) => string | undefined)[];
  readonly #handOver: (changes: Iterable<Change<T>>) => Promise<void>;
  readonly #firstList = Promise.withResolvers<void>();
  /** Where the next watch begins; without one, with a list. */
  #version: string | undefined;
  /** The version of the cache, which it keeps while it is relisted. */
  readonly #shown = createShownVersion();
  /** Why the last version was given up, until there is a list again. */
  #relisting: RelistReason | undefined;
  /** Requested by a user of the cache. */
  #requestedRelist: RelistReason | undefined;
  /** Of the open watch. */
  #stream: Readable | undefined;
  /** The list in progress. */
  #reading: Reading<T> | undefined;
  #ready = false;
  /** When the open watch was accepted, and whether an event or bookmark came. */
  #opened: { readonly atMs: number; hadEvents: boolean } | undefined;
  /** The watch before this one had neither an event nor a bookmark. */
  #wasEmpty = false;
  #heardMs: number;
  #failure: Error | undefined;
  readonly #running: Promise<void>;

  constructor(options: WatchOptions<T, Index>, given: Omit<WatchDeps, "signal">, onClosed: () => void) {
    const { kind } = options;
    this.resource = resourceOf(kind);
    this.#options = options;
    this.#kind = kind;
    this.#onClosed = onClosed;
    const log = given.log.with({ resource: this.resource });
    this.#deps = { ...given, log, signal: this.#ending.signal };
    this.#operation = { verb: "watch", resource: this.resource };
    this.#cache = createCache<T>(options);
    this.#indexes = Object.keys(options.indexes ?? {});
    this.#heardMs = given.clock.monotonicMs();
    this.#relistCheck = createRelistCheck(kind, options, this.#deps);
    this.#keyFunctions = Object.values(options.indexes ?? {});
    const onFailure = () => {
      this.counts.handlerErrors += 1;
    };
    this.#handOver = createHandOver<T>(options.handle, onFailure, this.#deps);
    this.#running = this.#run().catch((thrown) => {
      const error = ProviderError.from(thrown);
      this.#failed(error);
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
    if (this.#failure) return this.#failure;
    if (this.ageMs <= kubeStaleMs) return undefined;
    return new ProviderError("AKP_KUBE_STALE", { resource: this.resource, seconds: kubeStaleMs / 1_000 });
  }

  get ageMs(): number {
    return this.#deps.clock.monotonicMs() - this.#heardMs;
  }

  /** The server sent something, if only a bookmark. */
  #heard(): void {
    this.#heardMs = this.#deps.clock.monotonicMs();
    if (this.#failure) this.#deps.log.info("watch resumed");
    this.#failure = undefined;
  }

  #failed(error: ProviderError): void {
    if (this.#failure?.message !== error.message) this.#deps.log.info("watch interrupted", { error });
    this.#failure = error;
  }

  /** An object that cannot be projected is reported, and the cache keeps what it had. */
  #cachedOf(object: KubeObject): CachedObject<T> | undefined {
    const { name, namespace, uid, resourceVersion: version } = object.metadata;
    try {
      const value = this.#options.project(this.#options.withManagedFields ? object : withoutOwners(object));
      const keys = this.#keyFunctions.length === 0 ? noKeys : this.#keyFunctions.map((keyOf) => keyOf(value));
      return { name, namespace, uid, version, value, keys };
    } catch (thrown) {
      this.counts.handlerErrors += 1;
      this.#deps.log.error("failed to read an object", { name, namespace, error: ProviderError.from(thrown) });
      return undefined;
    }
  }

  readonly relist = (reason: string): void => {
    // Without an open watch a list comes next, or was just read.
    if (!this.#stream) return;
    this.#requestedRelist = { reason, serverRestored: true };
    this.#stream.destroy(new Error(reason));
  };

  readonly close = async (): Promise<void> => {
    this.#ending.abort(new Error("closed"));
    await this.#running;
    this.#onClosed();
  };

  async #startReading(): Promise<Reading<T>> {
    await this.#relistCheck.listBegins();
    const serverRestored = this.#relisting?.serverRestored ?? false;
    const make = (object: KubeObject) => {
      const known = this.#cache.get(object.metadata);
      return !serverRestored && isSame(known, object) ? known : (this.#cachedOf(object) ?? known);
    };
    // Without a cache a list of any length takes the memory of a page.
    const pass = async (page: readonly CachedObject<T>[]) => this.#handOver(this.#cache.replaced(page, serverRestored));
    const selection = { ...this.#options, signal: this.#deps.signal, once: true };
    return {
      listing: createListing(
        this.#deps.requests,
        this.#kind,
        selection,
        make,
        this.#options.uncached ? pass : undefined,
      ),
      serverRestored,
    };
  }

  /** A list that was interrupted goes on with the page that failed. */
  async #list(): Promise<string> {
    this.#reading ??= await this.#startReading();
    const { listing, serverRestored } = this.#reading;
    const { version: listed, found } = await listing.read();
    this.#reading = undefined;
    if (listed === undefined)
      throw malformedAnswer("a list without a version", this.#operation, await this.#deps.requests.peer());
    this.counts.lists += 1;
    if (this.counts.lists > 1) this.counts.relists += 1;
    this.#relisting = undefined;
    this.#heard();
    await this.#handOver(this.#cache.replaced(found, serverRestored));
    this.#shown.set(listed, serverRestored);
    this.#ready = true;
    this.#firstList.resolve();
    return listed;
  }

  /** The version to watch from: where the last watch ended, or of a new list. */
  async #startVersion(): Promise<string> {
    const noticed = this.#requestedRelist ? undefined : await this.#relistCheck.reason(this.#version, this.#wasEmpty);
    const found = this.#requestedRelist ?? noticed;
    this.#requestedRelist = undefined;
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

  /** Reads one watch to its end. Every event moves `version`, so the next watch begins where this one broke off. */
  async #follow(from: string): Promise<void> {
    const { body, peer } = await openWatch(this.#kind, this.#options, from, this.#deps);
    this.counts.connections += 1;
    this.#opened = { atMs: this.#deps.clock.monotonicMs(), hadEvents: false };
    this.#heard();
    this.#stream = body;
    try {
      for await (const { texts: lines } of linesOf(body, { clock: this.#deps.clock, ...lineBounds })) {
        this.#heard();
        for (const line of lines) if (line !== "") await this.#take(line, peer);
      }
    } catch (thrown) {
      if (thrown instanceof TooLong) throw answerTooLarge(lineBounds.mostBytes, this.#operation, peer);
      throw thrown instanceof Silence ? thrown : connectionError(thrown, this.#operation, peer);
    } finally {
      this.#stream = undefined;
    }
  }

  async #take(line: string, peer: Peer): Promise<void> {
    const event = parseEvent(line);
    // Also of a connection that was cut within a line; the event comes again.
    if (!event) throw malformedAnswer("half an event", this.#operation, peer);
    const { type, object } = event;
    if (type === "ERROR") throw statusEventError(object, this.#operation, peer);
    if (type === "BOOKMARK") {
      this.counts.bookmarks += 1;
    } else {
      this.counts.events += 1;
      await this.#handOver(this.#changesOf(type, object));
    }
    this.#version = object.metadata.resourceVersion ?? this.#version;
    this.#shown.set(this.#version);
    if (this.#opened) this.#opened.hadEvents = true;
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
    // From this version the same error would come again.
    if (error.code === "AKP_KUBE_GONE" || error.code === "AKP_KUBE_ANSWER_TOO_LARGE") this.#version = undefined;
    // After other errors the token of a page is not valid any more.
    if (!isTransient(error)) this.#reading = undefined;
    this.#failed(error);
  }

  #hadEvents(): boolean {
    return this.#opened?.hadEvents ?? false;
  }

  /** Failures in a row. Only a watch that lasted is reopened without a pause. */
  #failuresAfter(failures: number, pagesBefore: number): number {
    if (this.#opened && this.#deps.clock.monotonicMs() - this.#opened.atMs >= kubeWatchSuccessMs) return 0;
    if (this.#hadEvents() && this.#version !== undefined) return 1;
    const pages = this.#reading?.listing.pages ?? 0;
    return pages > pagesBefore ? 1 : failures + 1;
  }

  /** A missing kind is looked for at an interval of its own. */
  async #pause(failures: number, failed: unknown): Promise<void> {
    await sleep(this.#deps.clock, backOffMs(this.#deps.random, failures, failed), this.#deps.signal);
    if (!ProviderError.is(failed, "AKP_KUBE_KIND_MISSING")) return;
    await this.#deps.served.untilServed(this.#kind, this.#deps.signal);
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#deps.signal.aborted) {
      let failed: unknown;
      const pagesBefore = this.#reading?.listing.pages ?? 0;
      this.#opened = undefined;
      try {
        await this.#follow(await this.#startVersion());
      } catch (thrown) {
        if (this.#deps.signal.aborted) return;
        failed = thrown;
        this.#note(thrown);
      }
      // A dead connection says nothing about the version.
      this.#wasEmpty = !this.#hadEvents() && !(failed instanceof Silence);
      failures = this.#failuresAfter(failures, pagesBefore);
      if (failures === 0) continue;
      // A server that accepts watches and breaks them again and again counts too.
      if (failures % kubeFailuresToRelist === 0 && (this.#opened || !isAway(failed))) {
        this.#version = undefined;
        this.#reading = undefined;
      }
      // Closing aborts the pause too, and is checked next.
      await this.#pause(failures, failed).catch(() => undefined);
    }
  }

  #untilClosed(stop: AbortSignal | undefined): AbortSignal {
    return stop ? AbortSignal.any([stop, this.#deps.signal]) : this.#deps.signal;
  }
}

const lineBounds = { silenceMs: kubeSilenceMs, mostBytes: kubeEventBytes, tooLong: "fail" } as const;

/** Unreachable or overloaded: it says nothing about our version. */
function isAway(failed: unknown): boolean {
  return ProviderError.is(failed, "AKP_KUBE_UNREACHABLE") || ProviderError.is(failed, "AKP_KUBE_BUSY");
}

function isSame<T>(known: CachedObject<T> | undefined, { metadata: { uid, resourceVersion } }: KubeObject): boolean {
  return known !== undefined && known.uid === uid && known.version === resourceVersion && resourceVersion !== undefined;
}

interface Reading<T> {
  readonly listing: Listing<CachedObject<T>>;
  readonly serverRestored: boolean;
}

/** One for all objects of a watch without indexes. */
const noKeys: readonly string[] = [];

function withoutOwners(object: KubeObject): KubeObject {
  if (!object.metadata.managedFields) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
