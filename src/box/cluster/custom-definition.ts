/** The definition of a custom resource whose objects have these properties, and a status apart. */
import { type Kind, resourceOf } from "../../kube/kinds.ts";
import type { KubeObject } from "../../kube/kube.ts";

export function customDefinition(kind: Kind, properties: Readonly<Record<string, unknown>>): KubeObject {
  const { group, version, plural, kind: name, namespaced } = kind;
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return {
    metadata: { name: resourceOf(kind) },
    spec: {
      group,
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { plural, kind: name, singular: name.toLowerCase(), listKind: `${name}List` },
      versions: [{ name: version, served: true, storage: true, subresources: { status: {} }, schema }],
    },
  };
}
