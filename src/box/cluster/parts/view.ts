/**
 * What the cluster's parts know of the objects: all of them, by kind, namespace, owner and node. It follows the API
 * server within the very call that changes something, so it is never behind.
 */
import { isDeepStrictEqual } from "node:util";
import { type Kind, kinds } from "../../../kube/kinds.ts";
import type { ObjectAt } from "../../../kube/kube.ts";
import type { ServerEvent } from "../api-server/api-server.ts";
import { isDeleting, type Stored } from "./shapes/metadata.ts";
import type { Pod } from "./shapes/pod.ts";

export interface Entry {
  readonly kind: Kind;
  /** As it is now. */
  readonly object: Stored;
}

export interface View {
  apply(event: ServerEvent): void;
  /** Kinds are told by their identity. The caller says what shape the objects of a kind have; the API server let nothing else in. */
  get<T extends Stored>(kind: Kind, at: ObjectAt): T | undefined;
  list<T extends Stored>(kind: Kind, namespace?: string): T[];
  find(uid: string): Entry | undefined;
  /** Everything that names this uid among its owners. */
  dependents(uid: string): Entry[];
  owned<T extends Stored>(kind: Kind, uid: string): T[];
  podsOn(node: string): Pod[];
  inNamespace(namespace: string): Entry[];
  /** Open for new objects: there, and not on its way out. */
  isOpen(namespace: string): boolean;
}

export function createView(): View {
  const byKind = new Map<Kind, Map<string, Map<string, Entry>>>();
  const byUid = new Map<string, OpenEntry>();
  const byOwner = createIndex();
  const byNode = createIndex();

  function apply({ type, kind, object }: ServerEvent): void {
    const next = object as Stored;
    const { uid, namespace = "", name } = next.metadata;
    const known = byUid.get(uid);
    if (type === "deleted") {
      if (known) for (const [index, key] of placesOf(known)) index.remove(key, uid);
      byUid.delete(uid);
      byKind.get(kind)?.get(namespace)?.delete(name);
      return;
    }
    if (!known) {
      const entry: OpenEntry = { kind, object: next };
      byUid.set(uid, entry);
      namespaceOf(kind, namespace).set(name, entry);
      for (const [index, key] of placesOf(entry)) index.put(key, entry);
      return;
    }
    // Most changes move nothing, and there are very many of them.
    const moved = !isDeepStrictEqual(placeFields(known.object), placeFields(next));
    if (moved) for (const [index, key] of placesOf(known)) index.remove(key, uid);
    known.object = next;
    if (moved) for (const [index, key] of placesOf(known)) index.put(key, known);
  }

  function namespaceOf(kind: Kind, namespace: string): Map<string, Entry> {
    const namespaces = byKind.get(kind) ?? new Map<string, Map<string, Entry>>();
    byKind.set(kind, namespaces);
    const entries = namespaces.get(namespace) ?? new Map<string, Entry>();
    namespaces.set(namespace, entries);
    return entries;
  }

  function placesOf({ kind, object }: Entry): [Index, string][] {
    const { ownerReferences = [] } = object.metadata;
    const places: [Index, string][] = ownerReferences.map(({ uid }) => [byOwner, uid]);
    const node = kind === kinds.pod ? (object as Pod).spec.nodeName : undefined;
    if (node) places.push([byNode, node]);
    return places;
  }

  function objectsIn<T extends Stored>(entries: Iterable<Entry>, kind: Kind): T[] {
    const found: T[] = [];
    for (const entry of entries) if (entry.kind === kind) found.push(entry.object as T);
    return found;
  }

  function list<T extends Stored>(kind: Kind, namespace?: string): T[] {
    const namespaces = byKind.get(kind);
    if (!namespaces) return [];
    if (namespace !== undefined) return objectsIn<T>(namespaces.get(namespace)?.values() ?? [], kind);
    return [...namespaces.values()].flatMap((entries) => objectsIn<T>(entries.values(), kind));
  }

  return {
    apply,
    get: <T extends Stored>(kind: Kind, { namespace = "", name }: ObjectAt) =>
      byKind.get(kind)?.get(namespace)?.get(name)?.object as T | undefined,
    list,
    find: (uid) => byUid.get(uid),
    dependents: (uid) => byOwner.all(uid),
    owned: <T extends Stored>(kind: Kind, uid: string) => objectsIn<T>(byOwner.all(uid), kind),
    podsOn: (node) => objectsIn<Pod>(byNode.all(node), kinds.pod),
    inNamespace: (namespace) =>
      [...byKind.values()].flatMap((namespaces) => [...(namespaces.get(namespace)?.values() ?? [])]),
    isOpen(namespace) {
      const found = byKind.get(kinds.namespace)?.get("")?.get(namespace);
      return found !== undefined && !isDeleting(found.object);
    },
  };
}

interface OpenEntry {
  readonly kind: Kind;
  object: Stored;
}

/** What decides where an object is found, besides its name. */
function placeFields(object: Stored): unknown {
  return [object.metadata.ownerReferences, (object as Partial<Pod>).spec?.nodeName];
}

interface Index {
  put(key: string, entry: Entry): void;
  remove(key: string, uid: string): void;
  all(key: string): Entry[];
}

function createIndex(): Index {
  const groups = new Map<string, Map<string, Entry>>();
  return {
    put(key, entry) {
      const group = groups.get(key) ?? new Map<string, Entry>();
      groups.set(key, group);
      group.set(entry.object.metadata.uid, entry);
    },
    remove(key, uid) {
      const group = groups.get(key);
      group?.delete(uid);
      if (group?.size === 0) groups.delete(key);
    },
    all: (key) => [...(groups.get(key)?.values() ?? [])],
  };
}
