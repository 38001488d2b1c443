/**
 * How objects go. Most go at once; one with finalizers, a pod that may still say goodbye, and a namespace with something
 * in it are only marked, and go when the last task is done.
 */

import { fieldsOf, listOf } from "../../../kube/json-fields.ts";
import { kinds, resourceOf } from "../../../kube/kinds.ts";
import type { DeleteOptions, KubeObject, ObjectAt } from "../../../kube/kube.ts";
import type { Clock } from "../../../runtime/clock.ts";
import type { Metadata } from "../components/shapes/metadata.ts";
import { stampOf } from "../components/shapes/time.ts";
import { notFound, otherToDelete } from "./objects/rejections.ts";
import type { Served } from "./served-kinds.ts";
import type { Store } from "./store.ts";

export interface Deletion {
  /** Gone, or marked. */
  delete(served: Served, at: ObjectAt, options: DeleteOptions): Deleted;
  /** Whether an object that is on its way out has nothing left to wait for. */
  isFinished(served: Served, object: KubeObject): boolean;
  /** Takes it away; the last that there was of it. */
  finish(served: Served, object: KubeObject): KubeObject;
}

export interface Deleted {
  readonly gone: boolean;
  readonly object: KubeObject;
}

/** On a definition that is to go, until what it defined has gone. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

const propagationFinalizers = { Foreground: "foregroundDeletion", Orphan: "orphan", Background: undefined } as const;

export function createDeletion({ store, clock }: { readonly store: Store; readonly clock: Clock }): Deletion {
  function finish(served: Served, object: KubeObject): KubeObject {
    return store.remove(served, object.metadata) ?? object;
  }

  /** With the finalizer that the requested way of deletion needs, or a definition does. */
  function finalizersOf({ kind }: Served, { metadata }: KubeObject, { propagation }: DeleteOptions): readonly string[] {
    const { finalizers = [], deletionTimestamp } = metadata;
    if (kind === kinds.customResourceDefinition) {
      return deletionTimestamp ? finalizers : [...new Set([...finalizers, cleanupFinalizer])];
    }
    const more = propagation && propagationFinalizers[propagation];
    const others = finalizers.filter((name) => propagation === undefined || !isPropagation(name));
    return more === undefined ? others : [...others, more];
  }

  function mark(served: Served, live: KubeObject, finalizers: readonly string[], graceSeconds: number): KubeObject {
    const isNamespace = resourceOf(served.kind) === "namespaces";
    const { metadata } = live;
    const { generation, deletionTimestamp, deletionGracePeriodSeconds } = metadata as Metadata;
    const shortened = deletionGracePeriodSeconds !== undefined && graceSeconds < deletionGracePeriodSeconds;
    const unchanged = finalizers.length === (metadata.finalizers ?? []).length;
    if (deletionTimestamp !== undefined && !shortened && unchanged) return live;
    const { finalizers: _, ...rest } = metadata;
    const endMs = clock.now() + graceSeconds * 1_000;
    const marked = {
      ...live,
      metadata: {
        ...rest,
        ...(finalizers.length > 0 ? { finalizers } : {}),
        ...(generation === undefined || deletionTimestamp ? {} : { generation: generation + 1 }),
        deletionTimestamp: deletionTimestamp !== undefined && !shortened ? deletionTimestamp : stampOf(endMs),
        ...(isNamespace ? {} : { deletionGracePeriodSeconds: graceSeconds }),
      },
      ...(isNamespace ? { status: { ...(live["status"] as object), phase: "Terminating" } } : {}),
    };
    return store.put(served, marked);
  }

  return {
    delete(served, at, options) {
      const live = store.get(served, at);
      if (!live) throw notFound(served.kind, at.name);
      checkPreconditions(served, live, options);
      const finalizers = finalizersOf(served, live, options);
      const graceSeconds = graceOf(served, live, options);
      if (finalizers.length === 0 && graceSeconds === 0 && !holdsContent(served, live)) {
        return { gone: true, object: finish(served, live) };
      }
      return { gone: false, object: mark(served, live, finalizers, graceSeconds) };
    },
    isFinished(served, object) {
      const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = object.metadata as Metadata;
      if (deletionTimestamp === undefined || finalizers.length > 0) return false;
      return deletionGracePeriodSeconds === 0 && !holdsContent(served, object);
    },
    finish,
  };
}

function isPropagation(finalizer: string): boolean {
  return finalizer === propagationFinalizers.Foreground || finalizer === propagationFinalizers.Orphan;
}

/** A namespace goes when what is in it has gone, which the last of its own finalizers says. */
function holdsContent({ kind }: Served, object: KubeObject): boolean {
  if (resourceOf(kind) !== "namespaces") return false;
  return listOf(fieldsOf(object["spec"])["finalizers"]).length > 0;
}

/** Only a pod that runs somewhere is given time. */
function graceOf({ kind }: Served, object: KubeObject, { graceSeconds }: DeleteOptions): number {
  if (resourceOf(kind) !== "pods") return 0;
  const spec = fieldsOf(object["spec"]);
  const { phase } = fieldsOf(object["status"]);
  if (!spec["nodeName"] || phase === "Succeeded" || phase === "Failed") return 0;
  return graceSeconds ?? Number(spec["terminationGracePeriodSeconds"] ?? 0);
}

function checkPreconditions({ kind }: Served, { metadata }: KubeObject, wanted: DeleteOptions): void {
  for (const [what, name] of [["UID", "uid"] as const, ["ResourceVersion", "resourceVersion"] as const]) {
    if (wanted[name] === undefined || wanted[name] === metadata[name]) continue;
    const values = `the ${what} in the precondition (${wanted[name]}) does not match the ${what} in record (${metadata[name]})`;
    throw otherToDelete(kind, metadata.name, values);
  }
}
