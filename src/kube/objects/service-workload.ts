/** One service of a lease: all that its objects are made of, besides the settings. */
import type { UnitResources } from "../../market/group-spec.ts";
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { ManifestService } from "../../market/manifest.ts";
import type { Kind } from "../kinds.ts";
import { type Labels, serviceLabels } from "./lease-labels.ts";
import type { DesiredObject } from "./lease-workload.ts";

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
