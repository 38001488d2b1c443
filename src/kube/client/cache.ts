/** What a watch has seen: one small value per object, and the changes that the next sight of it means. */
import type { Change, ObjectAt } from "../kube.ts";

/** One object as it was seen, already made small. */
export interface Sight<T> extends ObjectAt {
  readonly uid: string | undefined;
  readonly version: string | undefined;
  readonly value: T;
}

export interface Cache<T> {
  get(at: ObjectAt): Sight<T> | undefined;
  values(): Iterable<T>;
  readonly size: number;
  /** Each change is made in the cache just before it is yielded, so its handler sees the cache as of that change. */
  seen(sight: Sight<T>): Generator<Change<T>>;
  gone(at: ObjectAt): Generator<Change<T>>;
  /** Turns the cache into this list: first what went, so that sums over the cache never count double. */
  replaced(sights: readonly Sight<T>[]): Generator<Change<T>>;
}

export function createCache<T>(): Cache<T> {
  const entries = new Map<string, Sight<T>>();

  function change(type: Change<T>["type"], { namespace, name, value }: Sight<T>): Change<T> {
    return { type, namespace, name, value };
  }

  function* seen(sight: Sight<T>): Generator<Change<T>> {
    const key = keyOf(sight);
    const before = entries.get(key);
    if (before && before.uid !== sight.uid) yield* gone(before);
    else if (before && before.version === sight.version) return;
    const type = entries.has(key) ? "modified" : "added";
    entries.set(key, sight);
    yield change(type, sight);
  }

  function* gone(at: ObjectAt): Generator<Change<T>> {
    const before = entries.get(keyOf(at));
    entries.delete(keyOf(at));
    if (before) yield change("deleted", before);
  }

  return {
    get: (at) => entries.get(keyOf(at)),
    *values() {
      for (const { value } of entries.values()) yield value;
    },
    get size() {
      return entries.size;
    },
    seen,
    gone,
    *replaced(sights) {
      const listed = new Map(sights.map((sight) => [keyOf(sight), sight.uid]));
      for (const [key, entry] of entries) {
        if (!listed.has(key) || listed.get(key) !== entry.uid) yield* gone(entry);
      }
      for (const sight of sights) yield* seen(sight);
    },
  };
}

function keyOf({ namespace, name }: ObjectAt): string {
  return `${namespace ?? ""}/${name}`;
}
