/** Where the API keeps things. */
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import { apiVersionOf, type Kind, objectText } from "../kinds.ts";
import type { ObjectAt, Selection } from "../kube.ts";

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export function groupPath(kind: Kind): string {
  return kind.group === "" ? `/api/${kind.version}` : `/apis/${apiVersionOf(kind)}`;
}

export function collectionPath(kind: Kind, namespace?: string | undefined): string {
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${groupPath(kind)}${scope}/${kind.plural}`;
}

/**
 * An empty name would mean all objects there, and dots another place; neither ever comes from here. A name can be a
 * stranger's, read out of a custom resource that somebody has edited: it is refused as the server would refuse it.
 */
export function objectPath(kind: Kind, { namespace, name }: ObjectAt): string {
  if (name === "" || name === "." || name === "..") {
    const resource = objectText(kind, { namespace, name });
    const reason = "an object has a name, which is neither empty nor made of dots";
    throw new ProviderError("AKP_KUBE_REFUSED", { verb: "find", resource, status: 422, reason });
  }
  invariant(!kind.namespaced || namespace, "this kind of object lives in a namespace", { kind: kind.kind, name });
  return `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
}

/** The object's, or that of its status alone. */
export function addressOf(kind: Kind, at: ObjectAt, subresource: "status" | undefined): string {
  return subresource ? `${objectPath(kind, at)}/${subresource}` : objectPath(kind, at);
}

/** What is undefined is left out. */
export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (given.length === 0) return path;
  const texts = given.map(([name, value]): [string, string] => [name, String(value)]);
  return `${path}?${new URLSearchParams(texts)}`;
}

export function dryRunQuery(dryRun: boolean): Query {
  return { dryRun: dryRun ? "All" : undefined };
}

export function selectionQuery({ labelSelector, fieldSelector }: Selection): Query {
  return { labelSelector, fieldSelector };
}
