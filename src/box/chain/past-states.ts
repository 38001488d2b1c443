/** The states of the last heights: of each block only what it replaced is kept, and laid over the state of now. */
import type { BlockPoint } from "./module.ts";
import { createOverlay } from "./overlay.ts";
import type { Replaced, Store } from "./store.ts";

interface PastStates {
  /** After a block: where the chain stood before it, and what it replaced. */
  add(before: BlockPoint, replaced: Replaced): void;
  /** The oldest height whose state is still known, if any is but the latest. */
  readonly lowest: bigint | undefined;
  /** Nothing for the latest height, and for those that are gone. */
  at(height: bigint): State | undefined;
}

interface State {
  readonly point: BlockPoint;
  readonly store: Store;
}

interface StateBounds {
  readonly heights: number;
  /** Written keys, over all heights: a busy chain is remembered for fewer of them. */
  readonly keys: number;
}

interface Entry {
  readonly before: BlockPoint;
  readonly replaced: Replaced;
  readonly keys: number;
}

export function createPastStates(now: Store, bounds: StateBounds): PastStates {
  /** Oldest first, one for each height without a gap. */
  const entries: Entry[] = [];
  let keys = 0;
  /** An old height is queried repeatedly: lists come in pages. */
  let last: State | undefined;

  return {
    add(before, replaced) {
      last = undefined;
      const written = [...replaced.values()].reduce((sum, table) => sum + table.size, 0);
      entries.push({ before, replaced, keys: written });
      keys += written;
      while (entries.length > bounds.heights || keys > bounds.keys) keys -= entries.shift()?.keys ?? 0;
    },
    get lowest() {
      return entries[0]?.before.height;
    },
    at(height) {
      if (last?.point.height === height) return last;
      const index = entries.findIndex(({ before }) => before.height === height);
      const entry = entries[index];
      if (!entry) return undefined;
      last = { point: entry.before, store: stateBefore(now, entries.slice(index)) };
      return last;
    },
  };
}

/** The state before the first of these blocks. Tables are built on first access; most are never read. */
function stateBefore(now: Store, blocks: readonly Entry[]): Store {
  const state = createOverlay(now);
  const ready = new Set<string>();
  return {
    ...state,
    table<T>(name: string) {
      const table = state.table<T>(name);
      if (ready.has(name)) return table;
      ready.add(name);
      for (const { replaced } of blocks.toReversed()) {
        for (const [key, value] of replaced.get(name) ?? []) {
          if (value === undefined) table.delete(key);
          else table.set(key, value as T);
        }
      }
      return table;
    },
  };
}
