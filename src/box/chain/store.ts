/** The application's state: named tables in memory, with transactions that leave no trace when they are rolled back. */
import { invariant } from "../../runtime/invariant.ts";

export interface Table<T> {
  get(key: string): T | undefined;
  has(key: string): boolean;
  /** Values are replaced, never changed in place: a rollback puts the old one back. */
  set(key: string, value: T): void;
  delete(key: string): void;
  /** In the order of their keys, as the chain's own store iterates, beginning at or after `from`. */
  entries(prefix?: string, from?: string): IterableIterator<[string, T]>;
}

export interface Store {
  table<T>(name: string): Table<T>;
  /** Runs `work` so that its changes stay only if it returns; whatever it throws is passed on. May be nested. */
  transaction<R>(work: () => R): R;
}

interface BaseStore extends Store {
  /** A transaction that also returns the replaced values. May not be nested. */
  revise<R>(work: () => R): { readonly result: R; readonly replaced: Replaced };
}

/** By table and key, what stood there before; undefined where there was nothing. */
export type Replaced = ReadonlyMap<string, ReadonlyMap<string, unknown>>;

interface Change {
  readonly table: string;
  readonly key: string;
  readonly before: unknown;
  undo(): void;
}

export function createStore(): BaseStore {
  const tables = new Map<string, Table<unknown>>();
  let changes: Change[] | undefined;

  function within<R>(work: () => R): { result: R; mine: readonly Change[] } {
    const outer = changes;
    const mine: Change[] = [];
    changes = mine;
    let failed = true;
    try {
      const result = work();
      failed = false;
      return { result, mine };
    } finally {
      changes = outer;
      if (failed) for (const change of mine.reverse()) change.undo();
      else for (const change of mine) outer?.push(change);
    }
  }

  return {
    table<T>(name: string): Table<T> {
      const known = tables.get(name);
      if (known) return known as Table<T>;
      const fresh = createTable<T>((key, before, undo) => changes?.push({ table: name, key, before, undo }));
      tables.set(name, fresh as Table<unknown>);
      return fresh;
    },
    transaction: (work) => within(work).result,
    revise(work) {
      invariant(changes === undefined, "a revision stands outside of every transaction");
      const { result, mine } = within(work);
      return { result, replaced: firstOfEach(mine) };
    },
  };
}

/** What a key held in the beginning, however often it was written after that. */
function firstOfEach(changes: readonly Change[]): Replaced {
  const replaced = new Map<string, Map<string, unknown>>();
  for (const { table, key, before } of changes) {
    const keys = replaced.get(table) ?? new Map<string, unknown>();
    replaced.set(table, keys);
    if (!keys.has(key)) keys.set(key, before);
  }
  return replaced;
}

function createTable<T>(record: (key: string, before: T | undefined, undo: () => void) => void): Table<T> {
  const values = new Map<string, T>();
  /** Sorted lazily: a block writes many keys and iterates seldom. */
  let sorted: string[] | undefined = [];

  function put(key: string, value: T | undefined): void {
    const known = values.has(key);
    if (value === undefined) values.delete(key);
    else values.set(key, value);
    if (known !== (value !== undefined)) sorted = undefined;
  }

  function change(key: string, value: T | undefined): void {
    const before = values.get(key);
    record(key, before, () => put(key, before));
    put(key, value);
  }

  return {
    get: (key) => values.get(key),
    has: (key) => values.has(key),
    set(key, value) {
      invariant(value !== undefined, "an absent value is deleted, not set", { key });
      change(key, value);
    },
    delete: (key) => change(key, undefined),
    *entries(prefix = "", from = prefix) {
      sorted ??= [...values.keys()].sort();
      const keys = sorted;
      for (let index = lowerBound(keys, from > prefix ? from : prefix); index < keys.length; index++) {
        const key = keys[index] as string;
        if (!key.startsWith(prefix)) return;
        const value = values.get(key);
        if (value !== undefined) yield [key, value];
      }
    },
  };
}

function lowerBound(keys: readonly string[], wanted: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as string) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
