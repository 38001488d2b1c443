/** The objects, one growing version for all of them, and the changes of late. */

import { resourceOf } from "../../../kube/kinds.ts";
import type { KubeObject, ObjectAt } from "../../../kube/kube.ts";
import type { Served } from "./served-kinds.ts";

/** Changes that a watch or a page may be behind: a few seconds of the busiest cluster we simulate. */
export const simulatedHistory = 4_096;

export interface StoredChange {
  readonly version: number;
  readonly type: "added" | "modified" | "deleted";
  readonly served: Served;
  /** Of a deleted object, the last that was there, with the version of its end. */
  readonly object: KubeObject;
  readonly before: KubeObject | undefined;
}

export interface Store {
  readonly version: number;
  get(served: Served, at: ObjectAt): KubeObject | undefined;
  /** In the order of their keys. */
  list(served: Served): readonly KubeObject[];
  /** As they were at a version; undefined when that is forgotten. */
  listAt(served: Served, version: number): readonly KubeObject[] | undefined;
  /** Undefined when some of them are forgotten. */
  changesAfter(version: number): readonly StoredChange[] | undefined;
  /** Adds or replaces it, under a new version. */
  put(served: Served, object: KubeObject): KubeObject;
  remove(served: Served, at: ObjectAt): KubeObject | undefined;
  /** Forgets all changes so far. */
  forget(): void;
  /** Restores the state of so many versions ago, or the oldest remembered. Listeners are called for every changed object. */
  goBack(versions: number): void;
  /** Called for every change when it is made, in order. */
  subscribe(listener: (change: StoredChange) => void): () => void;
}

/** etcd does not begin at 1 either, and a version that was never assigned must be recognizable. */
const firstVersion = 100;

export function createStore(): Store {
  const tables = new Map<string, Table>();
  const listeners = new Set<(change: StoredChange) => void>();
  let version = firstVersion;
  let forgotten = firstVersion;
  let history: StoredChange[] = [];

  function tableOf({ kind }: Served): Table {
    const resource = resourceOf(kind);
    const found = tables.get(resource) ?? { objects: new Map(), keys: undefined };
    tables.set(resource, found);
    return found;
  }

  function commit(change: Omit<StoredChange, "version">): void {
    history.push({ ...change, version });
    // In blocks, so that a flood does not move the whole history with every change.
    if (history.length >= 2 * simulatedHistory) {
      history = history.slice(-simulatedHistory);
      forgotten = (history[0]?.version ?? version) - 1;
    }
    for (const listener of listeners) listener({ ...change, version });
  }

  function stamped(object: KubeObject): KubeObject {
    version += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
  }

  function changesAfter(from: number): readonly StoredChange[] | undefined {
    if (from < forgotten) return undefined;
    // Backwards: those who ask are rarely far behind.
    let at = history.length;
    while (at > 0 && (history[at - 1]?.version ?? 0) > from) at -= 1;
    return history.slice(at);
  }

  function list(served: Served): readonly KubeObject[] {
    const table = tableOf(served);
    table.keys ??= [...table.objects.keys()].sort();
    return table.keys.flatMap((key) => table.objects.get(key) ?? []);
  }

  return {
    get version() {
      return version;
    },
    get: (served, at) => tableOf(served).objects.get(storeKey(at)),
    list,
    listAt(served, then) {
      const since = changesAfter(then);
      if (!since) return undefined;
      const resource = resourceOf(served.kind);
      const undone = since.filter((change) => resourceOf(change.served.kind) === resource);
      if (undone.length === 0) return list(served);
      const objects = new Map(tableOf(served).objects);
      for (const change of undone.toReversed()) undo(objects, change);
      return sortedByKey(objects);
    },
    changesAfter,
    put(served, object) {
      const table = tableOf(served);
      const key = storeKey(object.metadata);
      const before = table.objects.get(key);
      const now = stamped(object);
      table.objects.set(key, now);
      if (!before) table.keys = undefined;
      commit({ type: before ? "modified" : "added", served, object: now, before });
      return now;
    },
    remove(served, at) {
      const table = tableOf(served);
      const before = table.objects.get(storeKey(at));
      if (!before) return undefined;
      table.objects.delete(storeKey(at));
      table.keys = undefined;
      const last = stamped(before);
      commit({ type: "deleted", served, object: last, before });
      return last;
    },
    forget() {
      history = [];
      forgotten = version;
    },
    goBack(versions) {
      version = Math.max(version - versions, forgotten);
      const at = history.findIndex((change) => change.version > version);
      const undone = at < 0 ? [] : history.splice(at);
      for (const change of undone.toReversed()) {
        const table = tableOf(change.served);
        undo(table.objects, change);
        table.keys = undefined;
      }
      const notified = new Set<string>();
      for (const { served, object } of undone) {
        const key = `${resourceOf(served.kind)} ${storeKey(object.metadata)}`;
        if (notified.has(key)) continue;
        notified.add(key);
        const now = tableOf(served).objects.get(storeKey(object.metadata));
        // Listeners read the current state; they only need to know that the object changed.
        const change = { served, version, before: object, object: now ?? object };
        for (const listener of listeners) listener({ ...change, type: now ? "modified" : "deleted" });
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

interface Table {
  readonly objects: Map<string, KubeObject>;
  /** In order; sorted on demand. */
  keys: readonly string[] | undefined;
}

export function storeKey({ namespace = "", name }: ObjectAt): string {
  return `${namespace}/${name}`;
}

function undo(objects: Map<string, KubeObject>, { object, before }: StoredChange): void {
  if (before) objects.set(storeKey(object.metadata), before);
  else objects.delete(storeKey(object.metadata));
}

function sortedByKey(objects: ReadonlyMap<string, KubeObject>): KubeObject[] {
  return [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}
