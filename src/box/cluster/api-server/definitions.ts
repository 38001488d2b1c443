/**
 * What follows from definitions of custom resources: a new one is in effect at once; one that is to go takes what it
 * defined along first, and its kind is served until it is gone.
 */

import { resourceOf } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { isDeleting, type StatusCondition, withConditions } from "../components/shapes/metadata.ts";
import { stampOf } from "../components/shapes/time.ts";
import { cleanupFinalizer, type Deletion } from "./deletion.ts";
import type { Served, ServedKinds } from "./served-kinds.ts";
import type { Store } from "./store.ts";
import type { Writes } from "./writes.ts";

interface Definitions {
  /** After every write and deletion of any object; the object as it is then. */
  follow(of: Served, object: KubeObject): KubeObject;
}

interface DefinitionsDeps {
  readonly store: Store;
  readonly served: ServedKinds;
  /** The kind of definitions itself. */
  readonly definitions: Served;
  readonly deletion: Deletion;
  readonly writes: Writes;
  readonly clock: Clock;
}

const manager = "kube-apiserver";

export function createDefinitions(deps: DefinitionsDeps): Definitions {
  const { store, served, definitions, deletion, writes, clock } = deps;

  /** A real server needs a moment to say so. */
  function establish(definition: KubeObject): KubeObject {
    served.define(definition);
    const status = establishedStatus(definition, stampOf(clock.now()));
    return writes.patch(definitions, definition.metadata, { status }, { manager, subresource: "status" });
  }

  /** What is held keeps the definition; its end brings us here again. */
  function cleanUp(definition: KubeObject): void {
    const { name, finalizers = [] } = definition.metadata;
    if (!finalizers.includes(cleanupFinalizer)) return;
    for (const { of, object } of instances(name)) {
      if (!isDeleting(object)) deletion.delete(of, object.metadata, {});
    }
    if (instances(name).length > 0) return;
    const others = finalizers.filter((each) => each !== cleanupFinalizer);
    writes.patch(definitions, { name }, { metadata: { finalizers: others } }, { manager });
    if (!store.get(definitions, { name })) retire(name);
  }

  function retire(name: string): void {
    // Objects remain if a client removed the finalizer; without their kind they cannot be reached.
    for (const { of, object } of instances(name)) store.remove(of, object.metadata);
    served.undefine(name);
  }

  function instances(name: string): { of: Served; object: KubeObject }[] {
    const of = served.named(name);
    return of ? store.list(of).map((object) => ({ of, object })) : [];
  }

  return {
    follow(of, object) {
      if (of !== definitions && !of.isCustom) return object;
      const name = of === definitions ? object.metadata.name : resourceOf(of.kind);
      const definition = store.get(definitions, { name });
      if (definition && isDeleting(definition)) cleanUp(definition);
      else if (of === definitions) {
        if (definition) return establish(definition);
        retire(name);
      }
      return object;
    },
  };
}

function establishedStatus(definition: KubeObject, now: string): unknown {
  const { names, versions } = definition["spec"] as { names: unknown; versions: { name: string; storage?: boolean }[] };
  const { conditions } = (definition["status"] ?? {}) as { conditions?: readonly StatusCondition[] };
  return {
    acceptedNames: names,
    storedVersions: versions.filter(({ storage }) => storage).map(({ name }) => name),
    conditions: withConditions(conditions, established, now),
  };
}

const established: readonly StatusCondition[] = [
  { type: "NamesAccepted", status: "True", reason: "NoConflicts" },
  { type: "Established", status: "True", reason: "InitialNamesAccepted" },
];
