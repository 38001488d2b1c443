/** The store as a dry run sees it: everything is read as it is, and what is written comes back as if it had been. */
import type { KubeObject } from "../../../kube/kube.ts";
import type { Store } from "./store.ts";

export function createDryStore(store: Store): Store {
  return {
    get version() {
      return store.version;
    },
    get: store.get,
    list: store.list,
    listAt: store.listAt,
    changesAfter: store.changesAfter,
    subscribe: store.subscribe,
    /** A new object has no version yet, and a changed one keeps that of the live one. */
    put: (served, object) => versioned(object, store.get(served, object.metadata)?.metadata.resourceVersion),
    remove: (served, at) => store.get(served, at),
    forget: () => undefined,
    goBack: () => undefined,
  };
}

function versioned(object: KubeObject, resourceVersion: string | undefined): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) } };
}
