/** The objects of a watch as small values, and the changes between them. */
import { sleep, withDeadline } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Change, ObjectAt, WatchOptions } from "../kube.ts";
import { backOffMs } from "./api-errors.ts";
import type { WatchDeps } from "./watch-stream.ts";

/** An object after projection. */
export interface CachedObject<T> extends ObjectAt {
  readonly uid: string | undefined;
  readonly version: string | undefined;
  readonly value: T;
  /** In each index of the watch, in the order of their names. */
  readonly keys: readonly (string | undefined)[];
}

export type Cache<T> = ReturnType<typeof createCache<T>>;

/** Each change is made in the cache just before it is yielded, so its handler sees the cache as of that change. */
export function createCache<T>({ uncached = false } = {}) {
  let entries = new Map<string, CachedObject<T>>();
  const index = createIndex<T>();

  function* seen(object: CachedObject<T>): Generator<Change<T>> {
    const key = keyOf(object);
    const before = entries.get(key);
    if (before && before.uid !== object.uid) yield* gone(before);
    else if (before && before.version === object.version) return;
    const live = entries.get(key);
    if (!uncached) {
      entries.set(key, object);
      if (before) index.drop(before);
      index.add(object);
    }
    yield live ? modified(live, object) : change("added", object);
  }

  function* gone(at: ObjectAt): Generator<Change<T>> {
    const before = entries.get(keyOf(at));
    if (!before) return;
    entries.delete(keyOf(at));
    index.drop(before);
    yield change("deleted", before);
  }

  /** Replaces the whole cache at once. Deletions come first, so that sums over the changes never count double. */
  function replaced(objects: readonly CachedObject<T>[], serverRestored: boolean): Iterable<Change<T>> {
    if (uncached) return objects.map((object) => change("added", object));
    const before = entries;
    entries = new Map(objects.map((object) => [keyOf(object), object]));
    index.clear();
    for (const object of entries.values()) index.add(object);
    return changesBetween(before, entries, serverRestored);
  }

  return {
    get: (at: ObjectAt) => entries.get(keyOf(at)),
    *values(): Generator<T> {
      for (const { value } of entries.values()) yield value;
    },
    by: index.by,
    get size(): number {
      return entries.size;
    },
    seen,
    gone,
    replaced,
  };
}

type CachedObjects<T> = ReadonlyMap<string, CachedObject<T>>;

function* changesBetween<T>(
  before: CachedObjects<T>,
  after: CachedObjects<T>,
  serverRestored: boolean,
): Generator<Change<T>> {
  for (const [key, was] of before) {
    const now = after.get(key);
    if (!now || now.uid !== was.uid) yield change("deleted", was);
  }
  for (const [key, now] of after) {
    const was = before.get(key);
    if (!was || was.uid !== now.uid) yield change("added", now);
    else if (serverRestored || was.version !== now.version) yield modified(was, now);
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

/** The objects of each key in each index. */
function createIndex<T>() {
  const tables = new Map<string, Set<CachedObject<T>>>();

  function* tableKeys({ keys }: CachedObject<T>): Generator<string> {
    for (const [index, key] of keys.entries()) if (key !== undefined) yield `${index}/${key}`;
  }

  return {
    add(object: CachedObject<T>): void {
      for (const key of tableKeys(object)) {
        const objects = tables.get(key);
        if (objects) objects.add(object);
        else tables.set(key, new Set([object]));
      }
    },
    drop(object: CachedObject<T>): void {
      for (const key of tableKeys(object)) {
        tables.get(key)?.delete(object);
        if (tables.get(key)?.size === 0) tables.delete(key);
      }
    },
    clear: () => tables.clear(),
    *by(index: number, key: string): Generator<T> {
      for (const { value } of tables.get(`${index}/${key}`) ?? []) yield value;
    },
  };
}

/** Changes handed over between two yields to the event loop. */
const kubeSliceEvents = 128;
/** Tries of a handler that fails; then the change is left to the periodic recheck of its key. */
const kubeHandlerTries = 3;
/** A handler only adds a key to a queue; one that waits longer would make the cache stale (kubeStaleMs). */
export const kubeHandlerMs = 20 * second;

class TooLate extends Error {}

/** Hands changes to the handler one after the other, with retries. */
export function createHandOver<T>(
  handle: WatchOptions<T>["handle"],
  onFailure: () => void,
  { clock, random, log, signal }: WatchDeps,
) {
  let handedOver = 0;
  const late = () => {
    throw new TooLate(`its handler did not end within ${kubeHandlerMs} ms`);
  };

  async function one(change: Change<T>): Promise<void> {
    for (let tries = 1; handle && !signal.aborted; tries += 1) {
      try {
        const handling = handle(change);
        // Most handlers are synchronous, and a timer for each would be most of the work.
        if (handling instanceof Promise) await endedBy(withDeadline(clock, kubeHandlerMs, handling, late), signal);
        return;
      } catch (thrown) {
        signal.throwIfAborted();
        onFailure();
        const { type, name, namespace } = change;
        log.error("failed to handle a change", { type, name, namespace, tries, error: ProviderError.from(thrown) });
        // A handler that still runs is not called again for the same change.
        if (thrown instanceof TooLate || tries >= kubeHandlerTries) return;
        await sleep(clock, backOffMs(random, tries), signal);
      }
    }
  }

  return async (changes: Iterable<Change<T>>): Promise<void> => {
    for (const change of changes) {
      await one(change);
      signal.throwIfAborted();
      handedOver += 1;
      if (handedOver % kubeSliceEvents === 0) await clock.yield();
    }
  };
}
