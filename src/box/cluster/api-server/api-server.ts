/**
 * The API server of the simulated cluster, as the cluster's own parts (scheduler, kubelets, controllers) see it.
 * Everything happens at once and in order: a call returns when the change is made and every listener has been told.
 */
import type { Kind } from "../../../kube/kinds.ts";
import type { DeleteOptions, KubeObject, ObjectAt, Selection } from "../../../kube/kube.ts";

export interface ApiServer {
  get(kind: Kind, at: ObjectAt): KubeObject | undefined;
  list(kind: Kind, selection?: Selection): readonly KubeObject[];
  create(kind: Kind, object: KubeObject, manager: string): KubeObject;
  /**
   * Replaces everything but the status; the generation grows when the spec changed. An object that carries a
   * resourceVersion is refused with AKP_KUBE_CONFLICT when it is not the live one.
   */
  update(kind: Kind, object: KubeObject, manager: string): KubeObject;
  /** Replaces the status alone. */
  updateStatus(kind: Kind, object: KubeObject, manager: string): KubeObject;
  apply(kind: Kind, desired: KubeObject, options: { readonly manager: string; readonly force?: boolean }): KubeObject;
  /**
   * An object with finalizers, a pod with a grace period and a namespace only get a deletionTimestamp; the part of the
   * cluster that finishes the work removes the last finalizer, or deletes with graceSeconds 0. False when there is none.
   */
  delete(kind: Kind, at: ObjectAt, options?: DeleteOptions): boolean;
  /** Told of every change, in order. A listener notes a key and does its work later; it never writes from within. */
  subscribe(listener: (event: ServerEvent) => void): () => void;
}

export interface ServerEvent {
  readonly type: "added" | "modified" | "deleted";
  readonly kind: Kind;
  readonly object: KubeObject;
}
