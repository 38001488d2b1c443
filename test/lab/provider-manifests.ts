/** deploy/provider.yaml as it is, or under other names, so that several can be in the lab at once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../src/kube/kube.ts";

export interface ProviderPlaces {
  /** Where it runs. */
  readonly services: string;
  /** Where the custom resources of its leases are. */
  readonly lease: string;
  /** Of cluster-scoped objects. */
  readonly clusterName: string;
}

export const ownPlaces: ProviderPlaces = { services: "akash-services", lease: "lease", clusterName: "akash-provider" };

/** The objects of `kubectl apply -f deploy/provider.yaml`. */
export function providerManifests(places = ownPlaces): KubeObject[] {
  const text = readFileSync(join(import.meta.dirname, "../../deploy/provider.yaml"), "utf8");
  const names: Record<string, string> = { [ownPlaces.services]: places.services, [ownPlaces.lease]: places.lease };
  return parseAllDocuments(text).map((document) => {
    const object = document.toJS();
    const { metadata } = object;
    const home = names[metadata.namespace];
    if (home !== undefined) metadata.namespace = home;
    // Cluster-scoped objects need unique names.
    else metadata.name = names[metadata.name] ?? places.clusterName;
    if (object.roleRef && home === undefined) object.roleRef.name = places.clusterName;
    for (const subject of object.subjects ?? []) subject.namespace = names[subject.namespace];
    return object as KubeObject;
  });
}

/** One thing that a role allows: "patch deployments.apps". */
export type Grant = string;

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

export function grantsOf(objects: readonly KubeObject[]): Set<Grant> {
  const rules = objects.flatMap((object) => (object["rules"] ?? []) as Rule[]);
  const grants = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((name) => verbs.map((verb) => `${verb} ${qualified(name, group)}`))),
  );
  return new Set(grants);
}

/** As the audit log's reader writes it: the subresource comes last. */
function qualified(name: string, group: string): string {
  const [resource, ...subresource] = name.split("/");
  return [group === "" ? resource : `${resource}.${group}`, ...subresource].join("/");
}
