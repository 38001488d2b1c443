/**
 * The API server as the cluster's own components (scheduler, kubelets, controllers) see it: in the same process.
 * Everything happens at once and in order: a call returns when the change is made and every listener has been called.
 */
import { type Kind, kinds, objectText, resourceOf } from "../../../kube/kinds.ts";
import type { DeleteOptions, KubeObject, ObjectAt, Selection } from "../../../kube/kube.ts";
import { clientError, StatusError } from "./objects/status-error.ts";
import { servedOf } from "./served-kinds.ts";
import { readSelection, type Server } from "./server.ts";

/** Without a manager, the controllers write. */
export interface ApiServer {
  get(kind: Kind, at: ObjectAt): KubeObject | undefined;
  list(kind: Kind, selection?: Selection): readonly KubeObject[];
  create(kind: Kind, object: KubeObject, manager?: string): KubeObject;
  /**
   * Replaces everything but the status; the generation grows when the spec changed. An object that carries a
   * resourceVersion is rejected with AKP_KUBE_CONFLICT when it is not the live one.
   */
  update(kind: Kind, object: KubeObject, manager?: string): KubeObject;
  /** Replaces the status alone. */
  updateStatus(kind: Kind, object: KubeObject, manager?: string): KubeObject;
  apply(kind: Kind, desired: KubeObject, options: { readonly manager: string; readonly force?: boolean }): KubeObject;
  /**
   * An object with finalizers, a pod with a grace period and a namespace only get a deletionTimestamp; the component
   * that finishes the work removes the last finalizer, or deletes with graceSeconds 0. False when there is none.
   */
  delete(kind: Kind, at: ObjectAt, options?: DeleteOptions): boolean;
  /** Called for every change, in order. A listener queues a key and does its work later; it never writes from within. */
  subscribe(listener: (event: ServerEvent) => void): () => void;
}

export interface ServerEvent {
  readonly type: "added" | "modified" | "deleted";
  readonly kind: Kind;
  readonly object: KubeObject;
}

const controllers = "kube-controller-manager";

export function createPartsServer(server: Server): ApiServer {
  const { store, served } = server;

  /** What is rejected here is thrown as it would be from a client. */
  function withClientErrors<T>(verb: string, resource: string, work: () => T): T {
    try {
      return work();
    } catch (thrown) {
      throw thrown instanceof StatusError ? clientError(thrown, { verb, resource }) : thrown;
    }
  }

  function update(kind: Kind, object: KubeObject, manager: string, subresource?: "status" | "finalize"): KubeObject {
    return withClientErrors("update", objectText(kind, object.metadata), () =>
      server.update(servedOf(served, kind), object, { manager, subresource }),
    );
  }

  return {
    get: (kind, at) => withClientErrors("get", objectText(kind, at), () => store.get(servedOf(served, kind), at)),
    list: (kind, selection = {}) =>
      withClientErrors("list", resourceOf(kind), () => {
        const of = servedOf(served, kind);
        return store.list(of).filter(readSelection(of, selection));
      }),
    create: (kind, object, manager = controllers) =>
      withClientErrors("create", objectText(kind, object.metadata), () =>
        server.create(servedOf(served, kind), object, { manager }),
      ),
    update: (kind, object, manager = controllers) =>
      update(kind, object, manager, kind === kinds.namespace ? "finalize" : undefined),
    updateStatus: (kind, object, manager = controllers) => update(kind, object, manager, "status"),
    apply: (kind, desired, options) =>
      withClientErrors("apply", objectText(kind, desired.metadata), () =>
        server.apply(servedOf(served, kind), desired, options),
      ),
    delete: (kind, at, options = {}) =>
      withClientErrors("delete", objectText(kind, at), () => {
        const of = servedOf(served, kind);
        const live = store.get(of, at);
        if (!live) return false;
        if (kind === kinds.namespace && options.graceSeconds === 0) finalize(live);
        else server.delete(of, at, options);
        return true;
      }),
    subscribe: (listener) =>
      store.subscribe(({ type, served: of, object }) => listener({ type, kind: of.kind, object })),
  };

  /** What was in it has gone: the namespace may go too. */
  function finalize(live: KubeObject): void {
    const of = servedOf(served, kinds.namespace);
    const { object } = server.delete(of, live.metadata, {});
    server.update(of, { ...object, spec: {} }, { manager: controllers, subresource: "finalize" });
  }
}
