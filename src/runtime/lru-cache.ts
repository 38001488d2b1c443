/** An LRU cache, bounded by number and by weight. */

interface LruCache<T> {
  get(key: string): T | undefined;
  set(key: string, value: T, weight?: number): void;
  delete(key: string): void;
  /** The longest of no use first. */
  keys(): Iterable<string>;
  readonly size: number;
}

interface Bounds {
  readonly most: number;
  readonly mostWeight?: number;
}

export function createLruCache<T>({ most, mostWeight = Number.POSITIVE_INFINITY }: Bounds): LruCache<T> {
  // In the order of their last use: a Map keeps the order in which its keys came in.
  const entries = new Map<string, { readonly value: T; readonly weight: number }>();
  let weightOfAll = 0;

  function remove(key: string): void {
    weightOfAll -= entries.get(key)?.weight ?? 0;
    entries.delete(key);
  }

  return {
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, weight = 0) {
      remove(key);
      entries.set(key, { value, weight });
      weightOfAll += weight;
      for (const oldest of entries.keys()) {
        if (entries.size <= most && weightOfAll <= mostWeight) break;
        remove(oldest);
      }
    },
    delete: remove,
    keys: () => entries.keys(),
    get size() {
      return entries.size;
    },
  };
}
