/**
 * What the Go provider makes of a workload, by the rules that were seen in recordings: as far as it matters to one
 * who takes over, or gives back. `deployAsNetwork` is one deploy run of it.
 */

import assert from "node:assert/strict";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import type { ObjectSettings } from "../../src/kube/objects/container.ts";
import { managedSelector, serviceLabel } from "../../src/kube/objects/lease-labels.ts";
import type { DesiredObject, LeaseWorkload } from "../../src/kube/objects/lease-workload.ts";
import { noOvercommit } from "../../src/market/fit.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import type { RecordedLease } from "./samples/recorded-leases.ts";
import { objectsOf } from "./samples/recorded-leases.ts";

export const versionLabel = "akash.network/manifest.resource.version";

export const plainSettings: ObjectSettings = {
  overcommit: noOvercommit,
  clusterPublicHostname: "localhost",
  policies: { enabled: true, admitted: [{ pods: "ingress-nginx" }], facts: { ranges: [], apiServer: [] } },
};

type Fields = Record<string, unknown>;

/** `version`: the resourceVersion of the Manifest resource, which every template carries. */
export function goProviderObjects(workload: LeaseWorkload, version = "1"): DesiredObject[] {
  const made = { manifestNamespace: "lease", staticHostDomain: "ingress.lab.test", version: "" };
  const permitted = new Set(permittedServices(workload));
  const isMade = ({ kind, object }: DesiredObject) =>
    kind !== kinds.serviceAccount || permitted.has(object.metadata.name);
  return objectsOf({ workload, settings: plainSettings }, made)
    .filter(isMade)
    .map(({ kind, object }) => {
      const { annotations: _, ...metadata } = object.metadata;
      const isDeclared = kind === kinds.manifest || kind === kinds.providerHost || kind === kinds.providerLeasedIp;
      const labels = { ...onlyTheirs(metadata.labels), ...(!isDeclared && { [versionLabel]: version }) };
      const isPermitted = permitted.has(metadata.name);
      return {
        kind,
        object: { ...object, ...theirs(kind, object, labels, isPermitted), metadata: { ...metadata, labels } },
      };
    });
}

function permittedServices({ group }: LeaseWorkload): string[] {
  return group.services.flatMap(({ name, params }) => (params?.permissions?.read?.length ? [name] : []));
}

/** Its own labels all start with `akash.network`; ours that it must not touch do not. */
function isTheirLabel(label: string): boolean {
  return label.startsWith("akash.network");
}

function onlyTheirs(labels: KubeObject["metadata"]["labels"] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([label]) => isTheirLabel(label)));
}

function theirs(kind: Kind, object: KubeObject, labels: Fields, isPermitted: boolean): Fields {
  if (object["spec"] === undefined) return {};
  const { template, ports, ...spec } = object["spec"] as { template?: { spec: Fields }; ports?: Fields[] } & Fields;
  if (kind === kinds.service)
    return { spec: { ...spec, ports: ports?.map((port, at) => ({ ...port, name: `${at}-${port["port"]}` })) } };
  if (!template) return { spec: object["spec"] };
  const { serviceAccountName: _, securityContext: __, ...podSpec } = template.spec;
  const account = isPermitted ? { serviceAccountName: object.metadata.name } : {};
  const security = { securityContext: { runAsNonRoot: false } };
  return { spec: { ...spec, template: { metadata: { labels }, spec: { ...podSpec, ...account, ...security } } } };
}

/** The same in the form of a recording. */
export function asRecorded(workload: LeaseWorkload): RecordedLease {
  const objects = goProviderObjects(workload).map(({ kind, object }) => ({ ...object, kind: kind.kind }));
  return { from: formatLeaseId(workload.lease), workload, objects, secretSha256: {}, settings: plainSettings };
}

/**
 * Reads each object, lays what it wants over it, and puts it back whole; the Manifest resource first, whose version all
 * others carry. Before the objects of the services it deletes what it takes for permissions that nobody has any more.
 */
export async function deployAsGoProvider(kube: Kube, workload: LeaseWorkload): Promise<void> {
  const [manifest, ...rest] = goProviderObjects(workload);
  assert.ok(manifest);
  const { metadata } = await overlay(kube, manifest);
  await prunePermissions(kube, workload);
  const others = goProviderObjects(workload, metadata.resourceVersion).slice(1, 1 + rest.length);
  for (const each of others) await overlay(kube, each);
}

async function prunePermissions(kube: Kube, workload: LeaseWorkload): Promise<void> {
  const permitted = permittedServices(workload);
  const services = permitted.length > 0 ? `,${serviceLabel} notin (${permitted.join(",")})` : "";
  const selection = { namespace: leaseNamespace(workload.lease), labelSelector: `${managedSelector}${services}` };
  for (const kind of [kinds.serviceAccount, kinds.role, kinds.roleBinding]) {
    for (const { metadata } of await kube.list(kind, selection)) await kube.delete(kind, metadata);
  }
}

async function overlay(kube: Kube, { kind, object }: DesiredObject): Promise<KubeObject> {
  const live = await kube.get(kind, object.metadata);
  if (!live) return kube.create(kind, object);
  const foreign = Object.entries(live.metadata.labels ?? {}).filter(([label]) => !isTheirLabel(label));
  const labels = { ...Object.fromEntries(foreign), ...object.metadata.labels };
  const spec = { ...(live["spec"] as Fields), ...(object["spec"] as Fields), ...templateOver(live, object) };
  const rest = { ...live, ...object, metadata: { ...live.metadata, labels } };
  return kube.replace(kind, object["spec"] === undefined ? rest : { ...rest, spec });
}

/** It knows nothing of the deprecated name of the service account, so that stays as it is. */
function templateOver(live: KubeObject, object: KubeObject): Fields {
  const templateOf = ({ spec }: KubeObject) => (spec as { template?: { spec: Fields } & Fields } | undefined)?.template;
  const [before, template] = [templateOf(live), templateOf(object)];
  if (!template) return {};
  const { serviceAccount } = before?.spec ?? {};
  return {
    template: { ...template, spec: { ...template.spec, ...(serviceAccount !== undefined && { serviceAccount }) } },
  };
}
