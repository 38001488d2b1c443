/** Creates the default objects of a namespace, and deletes its content before the namespace. */
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../../kube/kinds.ts";
import type { Component, ComponentDeps } from "../component.ts";
import { isDeleting, type StatusCondition, type Stored, withConditions } from "../shapes/metadata.ts";
import { stampOf } from "../shapes/time.ts";
import type { Seen } from "../view.ts";

interface Namespace extends Stored {
  readonly status?: { readonly phase?: string; readonly conditions?: readonly StatusCondition[] };
}

const authority = "kube-root-ca.crt";
const certificate = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n";

export function createNamespaces({ server, view, clock }: ComponentDeps): Component {
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
    else reportRemaining(namespace, left);
  }

  function furnish(namespace: string): void {
    const account = { namespace, name: "default" };
    if (!view.get(kinds.serviceAccount, account)) server.create(kinds.serviceAccount, { metadata: account });
    const metadata = { namespace, name: authority };
    if (!view.get(kinds.configMap, metadata)) {
      server.create(kinds.configMap, { metadata, data: { "ca.crt": certificate } });
    }
  }

  /** Why it is still there. */
  function reportRemaining(namespace: Namespace, left: readonly Seen[]): void {
    const next = [...allDeleted, remaining(left), finalizersRemaining(left)];
    const conditions = withConditions(namespace.status?.conditions, next, stampOf(clock.now()));
    const status = { ...namespace.status, phase: "Terminating", conditions };
    if (isDeepStrictEqual(status, namespace.status)) return;
    server.updateStatus(kinds.namespace, { ...namespace, status });
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

/** Nothing else ever goes wrong here. */
const allDeleted: readonly StatusCondition[] = [
  ["DiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"],
  ["GroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"],
  ["ContentFailure", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"],
].map(([type, reason = "", message = ""]) => ({ type: `NamespaceDeletion${type}`, status: "False", reason, message }));

function remaining(left: readonly Seen[]): StatusCondition {
  // With the dot before the group, also where there is none.
  const resources = left.map(({ kind: { plural, group } }) => `${plural}.${group}`);
  const message = `Some resources are remaining: ${countBy(resources, "has")}`;
  return { type: "NamespaceContentRemaining", status: "True", reason: "SomeResourcesRemain", message };
}

function finalizersRemaining(left: readonly Seen[]): StatusCondition {
  const type = "NamespaceFinalizersRemaining";
  const list = countBy(
    left.flatMap(({ object }) => object.metadata.finalizers ?? []),
    "in",
  );
  if (list === "") {
    const message = "All content-preserving finalizers finished";
    return { type, status: "False", reason: "ContentHasNoFinalizers", message };
  }
  const message = `Some content in the namespace has finalizers remaining: ${list}`;
  return { type, status: "True", reason: "SomeFinalizersRemain", message };
}

/** "configmaps. has 1 resource instances" */
function countBy(names: readonly string[], word: string): string {
  const counts = [...Map.groupBy(names, (name) => name)].sort();
  return counts.map(([name, { length }]) => `${name} ${word} ${length} resource instances`).join(", ");
}
