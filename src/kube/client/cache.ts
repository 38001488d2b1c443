/** What a watch has seen: one small value per object, and the changes that the next one of it means. */

import { sleep, withDeadline } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Change, ObjectAt, WatchOptions } from "../kube.ts";
import { backOffMs } from "./api-errors.ts";
import type { WatchDeps } from "./watch-stream.ts";

/** One object as it was seen, already made small. */
export interface CachedObject<T> extends ObjectAt {
  readonly uid: string | undefined;
  readonly version: string | undefined;
  readonly value: T;
  /** In each index of the watch, in the order of their names. */
  readonly keys: readonly (string | undefined)[];
}

type CachedObjects<T> = ReadonlyMap<string, CachedObject<T>>;

export interface Cache<T> {
  get(at: ObjectAt): CachedObject<T> | undefined;
  values(): Iterable<T>;
  /** Those that have this key in an index. */
  by(index: number, key: string): Iterable<T>;
  readonly size: number;
  /** Each change is made in the cache just before it is yielded, so its handler sees the cache as of that change. */
  seen(object: CachedObject<T>): Generator<Change<T>>;
  gone(at: ObjectAt): Iterable<Change<T>>;
  /** Replaces the whole cache at once, and yields the changes, deletions first, so that sums over them never count double. */
  replaced(objects: readonly CachedObject<T>[], otherPast: boolean): Iterable<Change<T>>;
}

export function createCache<T>(): Cache<T> {
  let entries = new Map<string, CachedObject<T>>();
  const index = createIndex<T>();

  function* seen(object: CachedObject<T>): Generator<Change<T>> {
    const key = keyOf(object);
    const before = entries.get(key);
    if (before && before.uid !== object.uid) yield* gone(before);
    else if (before && before.version === object.version) return;
    const live = entries.get(key);
    entries.set(key, object);
    index.put(object, before);
    yield live ? modified(live, object) : change("added", object);
  }

  function* gone(at: ObjectAt): Generator<Change<T>> {
    const before = entries.get(keyOf(at));
    entries.delete(keyOf(at));
    if (before) index.drop(before);
    if (before) yield change("deleted", before);
  }

  return {
    get: (at) => entries.get(keyOf(at)),
    *values() {
      for (const { value } of entries.values()) yield value;
    },
    by: index.by,
    get size() {
      return entries.size;
    },
    seen,
    gone,
    replaced(objects, otherPast) {
      const before = entries;
      entries = new Map(objects.map((object) => [keyOf(object), object]));
      index.replace(entries.values());
      return changesBetween(before, entries, otherPast);
    },
  };
}

/** Of a watch that keeps nothing. */
export function createUncached<T>(): Cache<T> {
  const added = (object: CachedObject<T>) => change("added", object);
  return {
    get: () => undefined,
    values: () => [],
    by: () => [],
    size: 0,
    *seen(object) {
      yield added(object);
    },
    gone: () => [],
    *replaced(objects) {
      for (const object of objects) yield added(object);
    },
  };
}

function* changesBetween<T>(
  before: CachedObjects<T>,
  after: CachedObjects<T>,
  otherPast: boolean,
): Generator<Change<T>> {
  for (const [key, was] of before) {
    const now = after.get(key);
    if (!now || now.uid !== was.uid) yield change("deleted", was);
  }
  for (const [key, now] of after) {
    const was = before.get(key);
    if (!was || was.uid !== now.uid) yield change("added", now);
    else if (otherPast || was.version !== now.version) yield modified(was, now);
  }
}

function change<T>(type: Change<T>["type"], { namespace, name, value }: CachedObject<T>): Change<T> {
  return { type, namespace, name, value };
}

function modified<T>({ value: before }: CachedObject<T>, now: CachedObject<T>): Change<T> {
  return { ...change("modified", now), before };
}

function keyOf({ namespace, name }: ObjectAt): string {
  return `${namespace ?? ""}/${name}`;
}

/** Which objects of a cache have which key, in each of its indexes: looked up, not looked for. */
function createIndex<T>() {
  /** One per index, made when the first object has a key there. */
  let tables: Map<string, Set<CachedObject<T>>>[] = [];

  function add(object: CachedObject<T>): void {
    object.keys.forEach((key, index) => {
      if (key === undefined) return;
      tables[index] ??= new Map();
      const found = tables[index].get(key);
      if (found) found.add(object);
      else tables[index].set(key, new Set([object]));
    });
  }

  function drop(object: CachedObject<T>): void {
    object.keys.forEach((key, index) => {
      const found = key === undefined ? undefined : tables[index]?.get(key);
      if (key === undefined || !found) return;
      found.delete(object);
      if (found.size === 0) tables[index]?.delete(key);
    });
  }

  return {
    drop,
    put(object: CachedObject<T>, before: CachedObject<T> | undefined): void {
      if (before) drop(before);
      add(object);
    },
    replace(objects: Iterable<CachedObject<T>>): void {
      tables = [];
      for (const object of objects) add(object);
    },
    *by(index: number, key: string): Iterable<T> {
      for (const { value } of tables[index]?.get(key) ?? []) yield value;
    },
  };
}

/** Events handed over between two breaths of the event loop. */
const kubeSliceEvents = 128;
/** An event whose handler fails is handed over so often; then it is left to the next look at its key. */
const kubeHandlerTries = 3;
/** A handler puts a key into a queue; one that waits for something must not make the cache old (kubeStaleMs). */
export const kubeHandlerMs = 20 * second;

class TooLate extends Error {}

function tooLate(): never {
  throw new TooLate(`its handler did not end within ${kubeHandlerMs} ms`);
}

/** Hands changes to subscribers one after the other, and again where that failed. */
export function createHandOver<T>(
  handle: WatchOptions<T>["handle"],
  onFailure: () => void,
  { clock, random, log, signal }: WatchDeps,
) {
  let handedOver = 0;

  async function one(change: Change<T>): Promise<void> {
    for (let tries = 1; handle && !signal.aborted; tries += 1) {
      try {
        const handling = handle(change);
        // Most are done by now, and a timer for each would be most of the work.
        if (handling instanceof Promise) await inTime(handling);
        return;
      } catch (thrown) {
        signal.throwIfAborted();
        onFailure();
        const { type, name, namespace } = change;
        log.error("failed to handle a change", { type, name, namespace, tries, error: ProviderError.from(thrown) });
        // One that still runs is not called a second time for the same change.
        if (thrown instanceof TooLate || tries >= kubeHandlerTries) return;
        await sleep(clock, backOffMs(random, tries), signal);
      }
    }
  }

  function inTime(handling: Promise<void>): Promise<void> {
    return endedBy(withDeadline(clock, kubeHandlerMs, handling, tooLate), signal);
  }

  /** A flood is interrupted now and then, for those who share the event loop. */
  return async (changes: Iterable<Change<T>>): Promise<void> => {
    for (const change of changes) {
      await one(change);
      signal.throwIfAborted();
      handedOver += 1;
      if (handedOver % kubeSliceEvents === 0) await clock.yield();
    }
  };
}
