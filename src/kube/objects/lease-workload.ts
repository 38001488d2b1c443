/** What a lease is to run, and all else that its objects depend on. The same workload gives the same objects, always. */

import type { UnitResources } from "../../market/group-spec.ts";
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { ManifestGroup, ManifestService } from "../../market/manifest.ts";
import type { Kind } from "../kinds.ts";
import type { KubeObject } from "../kube.ts";
import { type Labels, serviceLabels } from "./lease-labels.ts";

export interface LeaseWorkload {
  readonly lease: LeaseId;
  readonly group: ManifestGroup;
  /** What we offered for each unit of the group: which card a GPU is. A unit is named by its id. */
  readonly offer: readonly UnitResources[];
}

/** An object as we want it. */
export interface DesiredObject {
  readonly kind: Kind;
  readonly object: KubeObject;
}

/** In the order in which they are made: nothing comes before what it needs. */
export interface LeaseObjects {
  readonly namespace: DesiredObject;
  readonly policies: readonly DesiredObject[];
  /** Service accounts, what they may do, and the secrets that images are pulled with. */
  readonly credentials: readonly DesiredObject[];
  readonly workloads: readonly DesiredObject[];
  readonly services: readonly DesiredObject[];
}

/** One service of a lease: all that its objects are made of, besides the settings. */
export interface ServiceWorkload {
  readonly lease: LeaseId;
  readonly service: ManifestService;
  /** What we offered for a replica of it; undefined where nobody knows any more. */
  readonly offer: UnitResources | undefined;
}

/** An object of this service, with the labels of it and these besides. */
export function serviceObject(
  { lease, service }: ServiceWorkload,
  kind: Kind,
  name: string,
  fields: Readonly<Record<string, unknown>>,
  labels: Labels = {},
): DesiredObject {
  const metadata = {
    name,
    namespace: leaseNamespace(lease),
    labels: { ...serviceLabels(lease, service.name), ...labels },
  };
  return { kind, object: { metadata, ...fields } };
}
