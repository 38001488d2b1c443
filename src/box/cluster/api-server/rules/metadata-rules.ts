/** What every object's metadata must be like. */
import { fieldsOf, recordsOf } from "../../../../kube/json-fields.ts";
import { type Kind, kinds, resourceOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import type { Found } from "./found.ts";
import { dnsLabel, oldLabel, pathSegment, subdomain } from "./texts.ts";

const mostAnnotationBytes = 256 * 1024;

const nameRules: Readonly<Record<string, RegExp>> = {
  namespaces: dnsLabel,
  services: oldLabel,
  "roles.rbac.authorization.k8s.io": pathSegment,
  "rolebindings.rbac.authorization.k8s.io": pathSegment,
};

export function checkName(kind: Kind, object: KubeObject, found: Found): void {
  const { name } = object.metadata;
  found.text("metadata.name", name, nameRules[resourceOf(kind)] ?? subdomain);
  if (kind !== kinds.customResourceDefinition) return;
  // A definition is found by what it defines.
  const { group, names } = fieldsOf(object["spec"]);
  const isOther = name !== `${fieldsOf(names)["plural"]}.${group}`;
  found.when(isOther, "Invalid", "metadata.name", name, 'must be spec.names.plural+"."+spec.group');
}

const ownFinalizers = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

export function checkMetadata({ metadata }: KubeObject, isCustom: boolean, found: Found): void {
  const { labels, annotations = {}, finalizers = [] } = metadata;
  found.labels("metadata.labels", labels);
  checkAnnotations("metadata.annotations", annotations, found);
  finalizers.forEach((name, at) => {
    found.qualified("metadata.finalizers", name);
    const isOdd = !isCustom && !name.includes("/") && !ownFinalizers.has(name);
    found.when(isOdd, "Invalid", `metadata.finalizers[${at}]`, name);
  });
  for (const owner of recordsOf(fieldsOf(metadata)["ownerReferences"])) {
    for (const field of ["apiVersion", "kind", "name", "uid"]) {
      found.when(!owner[field], "Invalid", `metadata.ownerReferences.${field}`, owner[field]);
    }
  }
}

export function checkAnnotations(field: string, annotations: unknown, found: Found): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(fieldsOf(annotations))) {
    found.qualified(field, name.toLowerCase());
    bytes += Buffer.byteLength(name) + Buffer.byteLength(String(value));
  }
  found.when(bytes > mostAnnotationBytes, "TooLong", field);
}

/** An object on its way out gets no new tasks to be done before it. */
export function checkFinalizers(live: KubeObject, next: KubeObject, found: Found): void {
  if (live.metadata.deletionTimestamp === undefined) return;
  const added = (next.metadata.finalizers ?? []).filter((name) => !live.metadata.finalizers?.includes(name));
  found.when(added.length > 0, "Forbidden", "metadata.finalizers", added);
}
