/** The API server: the store, the kinds it serves, and every way to read and write. */

import { kinds } from "../../../kube/kinds.ts";
import type { DeleteOptions, KubeObject, ObjectAt, Selection } from "../../../kube/kube.ts";
import type { Clock } from "../../../runtime/clock.ts";
import type { Random } from "../../../runtime/random.ts";
import { createDefinitions } from "./definitions.ts";
import { createDeletion, type Deleted } from "./deletion.ts";
import { createDryStore } from "./dry-store.ts";
import { readFieldSelector } from "./objects/field-selector.ts";
import { readLabelSelector, type Test } from "./objects/label-selector.ts";
import { createServedKinds, type Served, type ServedKinds, servedOf } from "./served-kinds.ts";
import { createStore, type Store } from "./store.ts";
import { createWrites, type Writes } from "./writes.ts";

/** Throws Rejected where it rejects. */
export interface Server extends Writes {
  readonly store: Store;
  readonly served: ServedKinds;
  delete(served: Served, at: ObjectAt, options: DeleteOptions): Deleted;
  /** The same ways to write, which reject the same and change nothing. */
  readonly dry: DryServer;
  /** As it was so many versions ago, with the kinds that were defined then. */
  goBack(versions: number): void;
}

export interface DryServer extends Writes {
  delete(served: Served, at: ObjectAt, options: DeleteOptions): Deleted;
}

export function createServer(deps: { readonly clock: Clock; readonly random: Random }): Server {
  const store = createStore();
  const served = createServedKinds();
  const deletion = createDeletion({ store, clock: deps.clock });
  const definitions = servedOf(served, kinds.customResourceDefinition);
  const writes = createWrites({ ...deps, served, store, deletion });
  const { follow } = createDefinitions({ store, served, definitions, deletion, writes, clock: deps.clock });

  const dryStore = createDryStore(store);
  const dryDeletion = createDeletion({ store: dryStore, clock: deps.clock });
  const dryWrites = createWrites({ ...deps, served, store: dryStore, deletion: dryDeletion });

  return {
    store,
    served,
    dry: { ...dryWrites, delete: dryDeletion.delete },
    create: (of, object, options) => follow(of, writes.create(of, object, options)),
    update: (of, object, options) => follow(of, writes.update(of, object, options)),
    patch: (of, at, patch, options) => follow(of, writes.patch(of, at, patch, options)),
    apply: (of, desired, options) => follow(of, writes.apply(of, desired, options)),
    delete(of, at, options) {
      const deleted = deletion.delete(of, at, options);
      follow(of, deleted.object);
      return deleted;
    },
    goBack(versions) {
      const later = store.list(definitions);
      store.goBack(versions);
      for (const { metadata } of later) served.undefine(metadata.name);
      for (const definition of store.list(definitions)) served.define(definition);
    },
  };
}

/** Whether an object is in the namespace and matches the label and field selectors. */
export function readSelection(of: Served, { namespace, labelSelector, fieldSelector }: Selection): Test<KubeObject> {
  const labels = labelSelector ? readLabelSelector(labelSelector) : undefined;
  const fields = fieldSelector ? readFieldSelector(fieldSelector, of.kind) : undefined;
  return (object) => {
    if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
    return (!labels || labels(object.metadata.labels ?? {})) && (!fields || fields(object));
  };
}
