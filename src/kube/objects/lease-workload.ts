/** The desired workload of a lease. Its objects depend on nothing else but the settings. */
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
  /** Our offer for each unit of the group by its id, which names the GPU model. */
  readonly offer: readonly UnitResources[];
}

export interface DesiredObject {
  readonly kind: Kind;
  readonly object: KubeObject;
}

/** In order of creation. */
export interface LeaseObjects {
  readonly namespace: DesiredObject;
  readonly policies: readonly DesiredObject[];
  /** Service accounts, roles, and image pull secrets. */
  readonly credentials: readonly DesiredObject[];
  readonly workloads: readonly DesiredObject[];
  readonly services: readonly DesiredObject[];
}

export interface ServiceWorkload {
  readonly lease: LeaseId;
  readonly service: ManifestService;
  /** Our offer for a replica; undefined where it is not known any more. */
  readonly offer: UnitResources | undefined;
}

/** An object of this service, with its labels and additional ones. */
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
