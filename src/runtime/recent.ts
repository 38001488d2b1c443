/** What was of use last, up to a number and up to a weight of it all; what was not of use for the longest time goes first. */

interface Recent<T> {
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

export function createRecent<T>({ most, mostWeight = Number.POSITIVE_INFINITY }: Bounds): Recent<T> {
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
