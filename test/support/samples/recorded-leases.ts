/** Leases of the Go provider as they were recorded: what was sent, and every object that came of it. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { addressesWanted } from "../../../src/cluster/capacity/addresses/lease-addresses.ts";
import { hostsWanted } from "../../../src/cluster/leases/declarations/hostnames.ts";
import type { KubeObject } from "../../../src/kube/kube.ts";
import type { ObjectSettings } from "../../../src/kube/objects/container.ts";
import { leaseOfLabels } from "../../../src/kube/objects/lease-labels.ts";
import { leaseObjects } from "../../../src/kube/objects/lease-objects.ts";
import type { DesiredObject, LeaseWorkload } from "../../../src/kube/objects/lease-workload.ts";
import { leasedIp } from "../../../src/kube/objects/leased-ip.ts";
import { manifestResource } from "../../../src/kube/objects/manifest-resource.ts";
import { providerHost } from "../../../src/kube/objects/provider-host.ts";
import { noOvercommit } from "../../../src/market/fit.ts";
import type { Attribute, UnitResources } from "../../../src/market/group-spec.ts";
import { formatLeaseId, type LeaseId } from "../../../src/market/ids.ts";
import type { Manifest } from "../../../src/market/manifest.ts";
import { readSdl } from "../../../src/market/sdl/sdl.ts";
import { listRecordings, readJsonRecording, readRecording } from "../recordings.ts";

export interface RecordedLease {
  /** The file with its objects. */
  readonly from: string;
  readonly workload: LeaseWorkload;
  /** Those of the lease itself, without what operators and controllers made of them. */
  readonly objects: readonly KubeObject[];
  /** Of what a secret holds, by "secret/key"; its value was not recorded. */
  readonly secretSha256: Readonly<Record<string, string>>;
  readonly settings: ObjectSettings;
}

/** Every state of every lease that was recorded together with what led to it. */
export function recordedLeases(): RecordedLease[] {
  const files = new Set(listRecordings("objects"));
  return [...files].filter((path) => /\/objects[^/]*\.json$/.test(path)).map((path) => readLease(path, files));
}

/** The first of those whose objects have the same fields, whatever their values. */
export function oneOfEachShape(leases: readonly RecordedLease[]): RecordedLease[] {
  const shapeOf = ({ objects }: RecordedLease) =>
    [...new Set(objects.flatMap((object) => [...fieldPaths(object, object.kind ?? "")]))].sort().join("\n");
  return [...Map.groupBy(leases, shapeOf).values()].flatMap(([first]) => first ?? []);
}

const perCluster = new Set(["managedFields", "labels", "annotations", "status"]);

function* fieldPaths(value: unknown, path: string): Generator<string> {
  if (typeof value !== "object" || value === null) return yield path;
  for (const [key, each] of Object.entries(value)) {
    if (!perCluster.has(key)) yield* fieldPaths(each, `${path}.${Array.isArray(value) ? "" : key}`);
  }
}

interface MadeWith {
  readonly manifestNamespace: string;
  readonly staticHostDomain: string;
  readonly version: string;
}

/** All that we make of one, in order. */
export function objectsOf(
  { workload, settings }: Pick<RecordedLease, "workload" | "settings">,
  { manifestNamespace, staticHostDomain, version }: MadeWith,
): DesiredObject[] {
  const { lease } = workload;
  const hosts = hostsWanted(workload, { staticHostDomain });
  return [
    manifestResource(workload, { version, receivedAtMs: 0 }, { manifestNamespace }),
    ...Object.values(leaseObjects(workload, settings)).flat(),
    ...hosts.map((host) => providerHost({ lease, ...host }, { manifestNamespace })),
    ...addressesWanted(workload).map((address) => leasedIp({ lease, ...address }, { manifestNamespace })),
  ];
}

function readLease(path: string, files: ReadonlySet<string>): RecordedLease {
  const folder = dirname(path);
  const [, role = "", step = ""] = /objects(-g\d|-source|-destination)?(-\d+)?\.json$/.exec(path) ?? [];
  // A step without a manifest of its own left the one before in force; the two leases of two groups were sent one.
  const beside = (word: string, suffix: string) => join(folder, `${word}${suffix}.json`);
  const ownRole = role.startsWith("-g") ? "" : role;
  const suffixes = [`${ownRole}${step}`, ...["-1", "-0"].map((each) => `${ownRole}${each}`), ""];
  const find = (word: string) => suffixes.map((each) => beside(word, each)).find((each) => files.has(each));
  const objects = objectsIn(folder, path, files);
  const lease = leaseOfLabels(objects.find(({ kind }) => kind === "Namespace")?.metadata.labels);
  assert.ok(lease, path);
  const manifestPath = find("manifest");
  const manifest = manifestPath
    ? readJsonRecording<Manifest>(manifestPath)
    : readSdl(readRecording(join(folder, "sdl.yaml")).toString()).manifest;
  const group = manifest[lease.gseq - 1];
  assert.ok(group, path);
  const leasePath = find("lease");
  return {
    from: path,
    workload: { lease, group, offer: offerIn(join(folder, "market.json"), files) },
    objects: objects.filter((object) => isOf(lease, object)),
    secretSha256: leasePath ? readJsonRecording<{ secretSha256: Record<string, string> }>(leasePath).secretSha256 : {},
    settings: folder.includes("gateway-") ? behindGateway : behindIngress,
  };
}

/** The first two recordings have some of their objects in files of their own. */
function objectsIn(folder: string, path: string, files: ReadonlySet<string>): KubeObject[] {
  const further = ["namespace.json", "manifest-cr.json", "providerhosts.json"].map((name) => join(folder, name));
  return [path, ...further.filter((each) => files.has(each))].flatMap((each) => {
    const read = readJsonRecording<KubeObject & { items?: KubeObject[] }>(each);
    return read.items ?? [read];
  });
}

const madeByOthers = new Set(["PersistentVolumeClaim", "Ingress", "HTTPRoute"]);

function isOf(lease: LeaseId, { kind = "", metadata }: KubeObject): boolean {
  const { name, labels } = metadata;
  if (madeByOthers.has(kind) || labels?.["akash.network/service-target"] === "metal-lb") return false;
  const named = leaseOfLabels(labels);
  if (named && formatLeaseId(named) !== formatLeaseId(lease)) return false;
  return !(kind === "ServiceAccount" && name === "default" && !labels);
}

interface WireAmount {
  readonly val: string;
}
interface WireUnit {
  readonly id: number;
  readonly cpu: { units: WireAmount };
  readonly memory: { quantity: WireAmount };
  readonly gpu: { units: WireAmount; attributes: Attribute[] };
}

/** Only GPUs are looked up in it. */
function offerIn(path: string, files: ReadonlySet<string>): UnitResources[] {
  if (!files.has(path)) return [];
  const { bids } = readJsonRecording<{ bids: { bid: { resources_offer: { resources: WireUnit }[] } }[] }>(path);
  return (bids[0]?.bid.resources_offer ?? []).map(({ resources: { id, cpu, memory, gpu } }) => ({
    id,
    cpu: { milli: BigInt(cpu.units.val), attributes: [] },
    memory: { bytes: BigInt(memory.quantity.val), attributes: [] },
    gpu: { count: BigInt(gpu.units.val), attributes: gpu.attributes },
    storage: [],
    endpoints: [],
  }));
}

/** What the recorded provider was told. */
const behindIngress: ObjectSettings = {
  overcommit: { ...noOvercommit, cpuPercent: 1_000, memoryPercent: 0, storagePercent: 0 },
  clusterPublicHostname: "localhost",
  policies: {
    enabled: true,
    admitted: [{ pods: "ingress-nginx" }],
    facts: { ranges: [], apiServer: [{ ip: "172.30.0.1", port: 6_443 }] },
  },
};
const behindGateway: ObjectSettings = {
  ...behindIngress,
  policies: { ...behindIngress.policies, admitted: [{ pods: "ingress-nginx" }, { namespace: "traefik" }] },
};
