/** The kinds that the API server serves: built-in and custom ones. */

import { fieldsOf, recordsOf } from "../../../kube/json-fields.ts";
import { type Kind, kinds, resourceOf } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { isRecord } from "../../../runtime/is-record.ts";
import { noSuchResource } from "./objects/status-error.ts";
import { objectMeta, shapeOfKind } from "./schema/built-in.ts";
import { customShape } from "./schema/read-shape.ts";
import type { Plain, Shape } from "./schema/shape.ts";

export interface Served {
  readonly kind: Kind;
  readonly shape: Shape;
  /** The status is written through an address of its own, and nothing else is. */
  readonly hasStatus: boolean;
  readonly hasGeneration: boolean;
  readonly isCustom: boolean;
  /** Of a custom resource, what its definition says of it. */
  readonly schema?: Plain;
}

export interface ServedKinds {
  of(kind: Pick<Kind, "group" | "version" | "plural">): Served | undefined;
  /** Every kind of a group and version; none where that is not known to be one. */
  inGroup(group: string, version: string): readonly Served[];
  define(definition: KubeObject): void;
  /** By the name of its definition: "providerhosts.akash.network". */
  undefine(resource: string): void;
  /** One of its versions, which have the same objects. */
  named(resource: string): Served | undefined;
}

const foreignGroups = new Set(["gateway.networking.k8s.io", "metrics.k8s.io", "akash.network", "metallb.io"]);

/** These come with definitions of their own, or not at all. */
export function isForeign({ group }: Kind): boolean {
  return foreignGroups.has(group);
}

const withGeneration = new Set([
  "pods",
  "deployments.apps",
  "statefulsets.apps",
  "replicasets.apps",
  "daemonsets.apps",
  "ingresses.networking.k8s.io",
  "ingressclasses.networking.k8s.io",
  "networkpolicies.networking.k8s.io",
  "endpointslices.discovery.k8s.io",
  "customresourcedefinitions.apiextensions.k8s.io",
]);

/** The kind as it is served, or the rejection of a server that does not know it. */
export function servedOf(served: ServedKinds, kind: Kind): Served {
  const found = served.of(kind);
  if (!found) throw noSuchResource();
  return found;
}

export function createServedKinds(): ServedKinds {
  const served = new Map<string, Served>();
  const put = (each: Served) => void served.set(keyOf(each.kind), each);
  for (const kind of Object.values(kinds)) if (!isForeign(kind)) put(builtIn(kind));
  return {
    of: (kind) => served.get(keyOf(kind)),
    inGroup: (group, version) =>
      [...served.values()].filter(({ kind }) => kind.group === group && kind.version === version),
    define(definition) {
      // One object for each kind, also after it is defined again: components compare kinds by identity.
      for (const each of definedKinds(definition))
        put({ ...each, kind: served.get(keyOf(each.kind))?.kind ?? each.kind });
    },
    undefine(resource) {
      for (const [key, { kind }] of served) if (resourceOf(kind) === resource) served.delete(key);
    },
    named: (resource) => [...served.values()].find(({ kind }) => resourceOf(kind) === resource),
  };
}

function keyOf({ group, version, plural }: Pick<Kind, "group" | "version" | "plural">): string {
  return `${group}/${version}/${plural}`;
}

function builtIn(kind: Kind): Served {
  return {
    kind,
    // Most kinds are never written to, and their types are large.
    get shape() {
      return shapeOfKind(kind);
    },
    get hasStatus() {
      return shapeOfKind(kind).fields.has("status");
    },
    hasGeneration: withGeneration.has(resourceOf(kind)),
    isCustom: false,
  };
}

/** One for each version that is served. */
function definedKinds(definition: KubeObject): Served[] {
  const spec = fieldsOf(definition["spec"]);
  const names = fieldsOf(spec["names"]);
  const metadata = objectMeta();
  return recordsOf(spec["versions"])
    .filter(({ served }) => served !== false)
    .map((version) => {
      const kind = known({
        group: String(spec["group"]),
        version: String(version["name"]),
        kind: String(names["kind"]),
        plural: String(names["plural"]),
        namespaced: spec["scope"] === "Namespaced",
      });
      const schema = fieldsOf(fieldsOf(version["schema"])["openAPIV3Schema"]);
      return {
        kind,
        schema,
        shape: customShape(schema, metadata),
        hasStatus: isRecord(fieldsOf(version["subresources"])["status"]),
        hasGeneration: true,
        isCustom: true,
      };
    });
}

/** The kind's object of src/kube if there is one: kinds are compared by identity. */
function known(kind: Kind): Kind {
  return Object.values(kinds).find((each) => keyOf(each) === keyOf(kind)) ?? kind;
}
