/** Which objects of a cache have which key, in each of its indexes: looked up, not looked for. */
import type { CachedObject } from "./cache.ts";

export function createIndex<T>() {
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
