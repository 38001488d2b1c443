/** What every namespace has from the start, and how it goes: everything in it first. */
import { isDeepStrictEqual } from "node:util";
import { kinds, resourceOf } from "../../../../kube/kinds.ts";
import { type Ground, managers, type Part } from "../part.ts";
import { type Condition, isDeleting, type Stored, withCondition } from "../shapes/metadata.ts";
import { stampOf } from "../shapes/time.ts";
import type { Entry } from "../view.ts";

interface Namespace extends Stored {
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

const authority = "kube-root-ca.crt";
const certificate = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n";

export function createNamespaces({ server, view, clock }: Ground): Part {
  function work(name: string): undefined {
    const namespace = view.get<Namespace>(kinds.namespace, { name });
    if (!namespace) return;
    if (!isDeleting(namespace)) {
      furnish(name);
      return;
    }
    for (const { kind, object } of view.inNamespace(name)) {
      if (isDeleting(object)) continue;
      const at = { namespace: name, name: object.metadata.name };
      server.delete(kind, at, { uid: object.metadata.uid, propagation: "Background" });
    }
    const left = view.inNamespace(name);
    if (left.length === 0) server.delete(kinds.namespace, { name }, { graceSeconds: 0 });
    else tell(namespace, left);
  }

  function furnish(namespace: string): void {
    const account = { namespace, name: "default" };
    if (!view.get(kinds.serviceAccount, account)) {
      server.create(
        kinds.serviceAccount,
        { apiVersion: "v1", kind: "ServiceAccount", metadata: account },
        managers.controllers,
      );
    }
    const at = { namespace, name: authority };
    if (view.get(kinds.configMap, at)) return;
    const annotations = {
      "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver.",
    };
    const metadata = { ...at, annotations };
    const data = { "ca.crt": certificate };
    server.create(kinds.configMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data }, managers.controllers);
  }

  /** Why it is still there. */
  function tell(namespace: Namespace, left: readonly Entry[]): void {
    const now = stampOf(clock.now());
    let { conditions } = namespace.status ?? {};
    for (const condition of [remaining(left), finalizersRemaining(left)])
      conditions = withCondition(conditions, condition, now);
    const status = { ...namespace.status, phase: "Terminating", conditions };
    if (isDeepStrictEqual(status, namespace.status)) return;
    server.updateStatus(kinds.namespace, { ...namespace, status }, managers.controllers);
  }

  return {
    name: "namespace",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.namespace && type !== "deleted") wake(object.metadata.name);
      const { namespace } = object.metadata;
      if (namespace === undefined) return;
      const owner = view.get(kinds.namespace, { name: namespace });
      if (!owner) return;
      const furniture = kind === kinds.serviceAccount || kind === kinds.configMap;
      if (isDeleting(owner) || (type === "deleted" && furniture)) wake(namespace);
    },
    work,
  };
}

function remaining(left: readonly Entry[]): Condition {
  const counts = countBy(left.map(({ kind }) => resourceOf(kind)));
  const message = `Some resources are remaining: ${counts.map(([what, n]) => `${what} has ${n} resource instances`).join(", ")}`;
  return { type: "NamespaceContentRemaining", status: "True", reason: "SomeResourcesRemain", message };
}

function finalizersRemaining(left: readonly Entry[]): Condition {
  const type = "NamespaceFinalizersRemaining";
  const counts = countBy(left.flatMap(({ object }) => object.metadata.finalizers ?? []));
  if (counts.length === 0) {
    return {
      type,
      status: "False",
      reason: "ContentHasNoFinalizers",
      message: "All content-preserving finalizers finished",
    };
  }
  const list = counts.map(([finalizer, n]) => `${finalizer} in ${n} resource instances`).join(", ");
  const message = `Some content in the namespace has finalizers remaining: ${list}`;
  return { type, status: "True", reason: "SomeFinalizersRemain", message };
}

function countBy(names: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort();
}
