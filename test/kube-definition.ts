/** The definition of a custom resource whose spec and status take whatever they are given. */
import { type Kind, resourceOf } from "../src/kube/kinds.ts";
import type { KubeObject } from "../src/kube/kube.ts";

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export function definitionOf(kind: Kind, properties: Readonly<Record<string, unknown>> = {}): KubeObject {
  const { group, version, plural, kind: name, namespaced } = kind;
  const schema = { type: "object", properties: { spec: anything, status: anything, ...properties } };
  return {
    metadata: { name: resourceOf(kind) },
    spec: {
      group,
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { plural, kind: name, singular: name.toLowerCase(), listKind: `${name}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}
