/** Changes on top of a store that stays as it is: what the pool of waiting transactions sees of the next block. */
import { createStore, type Store, type Table } from "./store.ts";

export interface Overlay extends Store {
  /** Forgets every change; what is read then is the store below. */
  reset(): void;
}

/** `undefined` says that the key is gone, whatever lies below. */
interface Change<T> {
  readonly value: T | undefined;
}

export function createOverlay(below: Store): Overlay {
  let changes = createStore();
  return {
    table: <T>(name: string) => layeredTable(() => changes.table<Change<T>>(name), below.table<T>(name)),
    transaction: (work) => changes.transaction(work),
    dryRun: (work) => changes.dryRun(work),
    reset() {
      changes = createStore();
    },
  };
}

function layeredTable<T>(changes: () => Table<Change<T>>, below: Table<T>): Table<T> {
  function get(key: string): T | undefined {
    const change = changes().get(key);
    return change ? change.value : below.get(key);
  }

  function* entries(prefix?: string, from?: string): IterableIterator<[string, T]> {
    if (changes().size === 0) return yield* below.entries(prefix, from);
    const merged = new Map(below.entries(prefix, from));
    for (const [key, { value }] of changes().entries(prefix, from)) {
      if (value === undefined) merged.delete(key);
      else merged.set(key, value);
    }
    yield* [...merged].sort(([left], [right]) => (left < right ? -1 : 1));
  }

  return {
    get,
    has: (key) => get(key) !== undefined,
    set: (key, value) => changes().set(key, { value }),
    delete: (key) => changes().set(key, { value: undefined }),
    entries,
    get size() {
      return [...entries()].length;
    },
  };
}
