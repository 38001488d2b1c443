/** Changes on top of a store that stays as it is: what the pool of waiting transactions sees of the next block. */
import { createStore, type Store, type Table } from "./store.ts";

interface Overlay extends Store {
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

  /** Both are sorted, so a page of a long list costs no more than the page. */
  function* entries(prefix?: string, from?: string): IterableIterator<[string, T]> {
    const above = changes().entries(prefix, from);
    let next = above.next();
    for (const entry of below.entries(prefix, from)) {
      for (; !next.done && next.value[0] < entry[0]; next = above.next()) yield* present(next.value);
      if (next.done || next.value[0] !== entry[0]) {
        yield entry;
        continue;
      }
      yield* present(next.value);
      next = above.next();
    }
    for (; !next.done; next = above.next()) yield* present(next.value);
  }

  return {
    get,
    has: (key) => get(key) !== undefined,
    set: (key, value) => changes().set(key, { value }),
    delete: (key) => changes().set(key, { value: undefined }),
    entries,
  };
}

function present<T>([key, { value }]: [string, Change<T>]): [string, T][] {
  return value === undefined ? [] : [[key, value]];
}
