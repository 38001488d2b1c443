/**
 * What the network's own provider makes of a workload, by the rules that were seen in recordings: as far as it matters to one
 * who takes over, or gives back. `deployAsNetwork` is one deploy run of it.
 */

import assert from "node:assert/strict";
import { kinds } from "../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../src/kube/kube.ts";
import type { DesiredObject, LeaseWorkload, ObjectSettings } from "../src/kube/objects/lease-workload.ts";
import { formatLeaseId } from "../src/market/ids.ts";
import { noOvercommit } from "../src/market/overcommit.ts";
import type { RecordedLease } from "./recorded-leases.ts";
import { objectsOf } from "./recorded-leases.ts";

export const versionLabel = "akash.network/manifest.resource.version";

export const plainSettings: ObjectSettings = {
  overcommit: noOvercommit,
  clusterPublicHostname: "localhost",
  policies: { enabled: true, admitted: [{ pods: "ingress-nginx" }], facts: { ranges: [], apiServer: [] } },
};

type Fields = Record<string, unknown>;

/** `version`: the resourceVersion of the Manifest resource, which every template carries. */
export function madeByNetwork(workload: LeaseWorkload, version = "1"): DesiredObject[] {
  const made = { manifestNamespace: "lease", staticHostDomain: "ingress.lab.test", version: "" };
  return objectsOf({ workload, settings: plainSettings }, made)
    .filter(({ kind }) => kind !== kinds.serviceAccount)
    .map(({ kind, object }) => {
      const { annotations: _, ...metadata } = object.metadata;
      const isDeclared = kind === kinds.manifest || kind === kinds.providerHost || kind === kinds.providerLeasedIp;
      const labels = { ...metadata.labels, ...(!isDeclared && { [versionLabel]: version }) };
      return {
        kind,
        object: { ...object, ...theirs(kind === kinds.service, object, labels), metadata: { ...metadata, labels } },
      };
    });
}

function theirs(isService: boolean, object: KubeObject, labels: Fields): Fields {
  if (object["spec"] === undefined) return {};
  const { template, ports, ...spec } = object["spec"] as { template?: { spec: Fields }; ports?: Fields[] } & Fields;
  if (isService)
    return { spec: { ...spec, ports: ports?.map((port, at) => ({ ...port, name: `${at}-${port["port"]}` })) } };
  if (!template) return { spec: object["spec"] };
  const { serviceAccountName: _, securityContext: __, ...podSpec } = template.spec;
  const podSecurity = { securityContext: { runAsNonRoot: false } };
  return { spec: { ...spec, template: { metadata: { labels }, spec: { ...podSpec, ...podSecurity } } } };
}

/** The same in the form of a recording. */
export function asRecorded(workload: LeaseWorkload): RecordedLease {
  const objects = madeByNetwork(workload).map(({ kind, object }) => ({ ...object, kind: kind.kind }));
  return { from: formatLeaseId(workload.lease), workload, objects, secretSha256: {}, settings: plainSettings };
}

/** Reads each object, lays what it wants over it, and puts it back whole; the Manifest resource first, whose version all others carry. */
export async function deployAsNetwork(kube: Kube, workload: LeaseWorkload): Promise<void> {
  const [manifest, ...rest] = madeByNetwork(workload);
  assert.ok(manifest);
  const { metadata } = await overlay(kube, manifest);
  const others = madeByNetwork(workload, metadata.resourceVersion).slice(1, 1 + rest.length);
  for (const each of others) await overlay(kube, each);
}

async function overlay(kube: Kube, { kind, object }: DesiredObject): Promise<KubeObject> {
  const live = await kube.get(kind, object.metadata);
  if (!live) return kube.create(kind, object);
  const labels = { ...live.metadata.labels, ...object.metadata.labels };
  const spec = { ...(live["spec"] as Fields), ...(object["spec"] as Fields) };
  const rest = { ...live, ...object, metadata: { ...live.metadata, labels } };
  return kube.replace(kind, object["spec"] === undefined ? rest : { ...rest, spec });
}
