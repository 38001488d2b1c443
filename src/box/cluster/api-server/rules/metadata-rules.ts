/** What every object's metadata must be like. */
import { fieldsOf, recordsOf } from "../../../../kube/json-fields.ts";
import { type Kind, kinds, resourceOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import type { Found } from "./found.ts";
import { dnsLabel, oldLabel, pathSegment, qualifiedNameFaults, subdomain, type TextRule, textFault } from "./texts.ts";

const mostAnnotationBytes = 256 * 1024;

const nameRules: Readonly<Record<string, TextRule>> = {
  namespaces: dnsLabel,
  services: oldLabel,
  "roles.rbac.authorization.k8s.io": pathSegment,
  "rolebindings.rbac.authorization.k8s.io": pathSegment,
};

export function checkName(kind: Kind, object: KubeObject, found: Found): void {
  const { name } = object.metadata;
  const fault = textFault(name, nameRules[resourceOf(kind)] ?? subdomain) ?? definitionNameFault(kind, object);
  if (fault !== undefined) found.invalid("metadata.name", name, fault);
}

/** A definition is found by what it defines. */
function definitionNameFault(kind: Kind, object: KubeObject): string | undefined {
  if (kind !== kinds.customResourceDefinition) return undefined;
  const { group, names } = fieldsOf(object["spec"]);
  const isRight = object.metadata.name === `${fieldsOf(names)["plural"]}.${group}`;
  return isRight ? undefined : 'must be spec.names.plural+"."+spec.group';
}

const ownFinalizers = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

export function checkMetadata({ metadata }: KubeObject, isCustom: boolean, found: Found): void {
  const { labels, annotations = {}, finalizers = [] } = metadata;
  found.labels("metadata.labels", labels);
  checkAnnotations("metadata.annotations", annotations, found);
  finalizers.forEach((name, at) => {
    found.qualified("metadata.finalizers", name);
    if (!isCustom && !name.includes("/") && !ownFinalizers.has(name)) {
      found.invalid(
        `metadata.finalizers[${at}]`,
        name,
        "name is neither a standard finalizer name nor is it fully qualified",
      );
    }
  });
  for (const owner of recordsOf(fieldsOf(metadata)["ownerReferences"])) {
    for (const field of ["apiVersion", "kind", "name", "uid"]) {
      if (!owner[field]) found.invalid(`metadata.ownerReferences.${field}`, owner[field], "must not be empty");
    }
  }
}

export function checkAnnotations(field: string, annotations: unknown, found: Found): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(fieldsOf(annotations))) {
    for (const fault of qualifiedNameFaults(name.toLowerCase())) found.invalid(field, name, fault);
    bytes += Buffer.byteLength(name) + Buffer.byteLength(String(value));
  }
  if (bytes > mostAnnotationBytes) found.tooLong(field, mostAnnotationBytes);
}

/** An object on its way out gets no new tasks to be done before it. */
export function checkFinalizers(live: KubeObject, next: KubeObject, found: Found): void {
  if (live.metadata.deletionTimestamp === undefined) return;
  const added = (next.metadata.finalizers ?? []).filter((name) => !live.metadata.finalizers?.includes(name));
  if (added.length === 0) return;
  const what = `found new finalizers ${JSON.stringify(added)}`;
  found.prohibited("metadata.finalizers", `no new finalizers can be added if the object is being deleted, ${what}`);
}
