/**
 * The components' shared cache of objects, indexed by kind, namespace, owner and node. It follows the
 * API server within the very call that changes something, so it is never behind.
 */
import { isDeepStrictEqual } from "node:util";
import { type Kind, kinds } from "../../../kube/kinds.ts";
import type { ObjectAt } from "../../../kube/kube.ts";
import type { ServerEvent } from "../api-server/in-process.ts";
import { isDeleting, type Stored } from "./shapes/metadata.ts";
import type { Pod } from "./shapes/pod.ts";

/** An object with its kind, as it is now. */
export interface Seen {
  readonly kind: Kind;
  readonly object: Stored;
}

export interface View {
  apply(event: ServerEvent): void;
  /** Kinds are compared by identity. The caller says what shape the objects of a kind have; the API server let nothing else in. */
  get<T extends Stored>(kind: Kind, at: ObjectAt): T | undefined;
  list<T extends Stored>(kind: Kind, namespace?: string): T[];
  find(uid: string): Seen | undefined;
  /** Everything that names this uid among its owners. */
  dependents(uid: string): Seen[];
  podsOn(node: string): Pod[];
  inNamespace(namespace: string): Seen[];
  /** Open for new objects: there, and not on its way out. */
  isOpen(namespace: string): boolean;
}

type Names = Map<string, Seen>;

export function createView(): View {
  const byKind = new Map<Kind, Map<string, Names>>();
  const byUid = new Map<string, { readonly kind: Kind; object: Stored }>();
  /** By what decides where an object is found besides its name: its owners and, of a pod, its node. */
  const byPlace = new Map<string, Map<string, Seen>>();

  function apply({ type, kind, object }: ServerEvent): void {
    const next = object as Stored;
    const { uid, namespace = "", name } = next.metadata;
    const known = byUid.get(uid);
    if (type === "deleted") {
      for (const place of known ? placesOf(known.object) : []) leave(place, uid);
      byUid.delete(uid);
      byKind
        .get(known?.kind ?? kind)
        ?.get(namespace)
        ?.delete(name);
      return;
    }
    if (!known) {
      const seen = { kind, object: next };
      byUid.set(uid, seen);
      groupOf(groupOf(byKind, kind), namespace).set(name, seen);
      for (const place of placesOf(next)) groupOf(byPlace, place).set(uid, seen);
      return;
    }
    // Most changes move nothing, and there are very many of them.
    const [before, after] = [placesOf(known.object), placesOf(next)];
    known.object = next;
    if (isDeepStrictEqual(before, after)) return;
    for (const place of before) leave(place, uid);
    for (const place of after) groupOf(byPlace, place).set(uid, known);
  }

  function leave(place: string, uid: string): void {
    const group = byPlace.get(place);
    group?.delete(uid);
    if (group?.size === 0) byPlace.delete(place);
  }

  function at(place: string): Seen[] {
    return [...(byPlace.get(place)?.values() ?? [])];
  }

  function list<T extends Stored>(kind: Kind, namespace?: string): T[] {
    const namespaces = byKind.get(kind);
    const found = namespace === undefined ? [...(namespaces?.values() ?? [])] : [namespaces?.get(namespace)];
    return found.flatMap((names) => Array.from(names?.values() ?? [], ({ object }) => object as T));
  }

  return {
    apply,
    get: <T extends Stored>(kind: Kind, { namespace = "", name }: ObjectAt) =>
      byKind.get(kind)?.get(namespace)?.get(name)?.object as T | undefined,
    list,
    find: (uid) => byUid.get(uid),
    dependents: (uid) => at(ownerPlace(uid)),
    podsOn: (node) => at(nodePlace(node)).map(({ object }) => object as Pod),
    inNamespace: (namespace) => [...byKind.values()].flatMap((names) => [...(names.get(namespace)?.values() ?? [])]),
    isOpen(namespace) {
      const found = byKind.get(kinds.namespace)?.get("")?.get(namespace);
      return found !== undefined && !isDeleting(found.object);
    },
  };
}

const ownerPlace = (uid: string) => `owner ${uid}`;
const nodePlace = (name: string) => `node ${name}`;

function placesOf(object: Stored): string[] {
  const places = (object.metadata.ownerReferences ?? []).map(({ uid }) => ownerPlace(uid));
  const node = (object as Partial<Pod>).spec?.nodeName;
  return node ? [...places, nodePlace(node)] : places;
}

function groupOf<K, A, B>(groups: Map<K, Map<A, B>>, key: K): Map<A, B> {
  const group = groups.get(key) ?? new Map<A, B>();
  groups.set(key, group);
  return group;
}
