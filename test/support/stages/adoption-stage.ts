/** A cluster as the Go provider left it, lease by lease as recorded, and a keeper of leases of ours that comes after it. */

import assert from "node:assert/strict";
import type { Chain, Queries } from "../../../src/chain/chain.ts";
import { createClusterSide } from "../../../src/cluster/cluster-parts.ts";
import { leaseAddressWaitMs } from "../../../src/cluster/leases/deploy.ts";
import { createLeaseKeeper, type LeaseKeeper } from "../../../src/cluster/leases/lease-loop.ts";
import { type LeaseOptions, leaseDefaults } from "../../../src/cluster/leases/lease-options.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import { openJournal } from "../../../src/journal/open.ts";
import { apiVersionOf, type Kind, kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject, ManagedFields, ObjectAt } from "../../../src/kube/kube.ts";
import { managedSelector, namespaceLabel } from "../../../src/kube/objects/lease-labels.ts";
import { madeForLabel, templateLabel } from "../../../src/kube/objects/workload-object.ts";
import { goProvider } from "../../../src/kube/owned-fields.ts";
import { createManifestLoop } from "../../../src/manifest/manifest-loop.ts";
import { createManifestStates } from "../../../src/manifest/manifest-status.ts";
import { noOvercommit } from "../../../src/market/fit.ts";
import { formatDeploymentId, formatLeaseId, type LeaseId } from "../../../src/market/ids.ts";
import { leaseNamespace } from "../../../src/market/lease-namespace.ts";
import type { ManifestGroup } from "../../../src/market/manifest.ts";
import { openBoundary } from "../../../src/runtime/boundary.ts";
import { realClock } from "../../../src/runtime/clock.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { eventually } from "../eventually.ts";
import { memoryFolder } from "../folder.ts";
import type { Owner } from "../owner.ts";
import { objectsOf, type RecordedLease } from "../samples/recorded-leases.ts";
import { createSeededRandom } from "../seeded-random.ts";

export const adoptedOptions: LeaseOptions = {
  ...leaseDefaults,
  clusterPublicHostname: "localhost",
  hosts: { blockedHosts: [], ingressDomain: "ingress.lab.test", staticHostDomain: "ingress.lab.test" },
};

/** Where all recorded custom resources are. */
const manifestNamespace = "lease";

/** All that is of leases, but their namespaces; in the order in which one is made. */
export const leaseKinds: readonly Kind[] = [
  ...[kinds.networkPolicy, kinds.serviceAccount, kinds.role, kinds.roleBinding, kinds.secret, kinds.configMap],
  ...[kinds.deployment, kinds.statefulSet, kinds.service],
];
export const declarationKinds: readonly Kind[] = [kinds.manifest, kinds.providerHost, kinds.providerLeasedIp];
const byName = new Map([kinds.namespace, ...leaseKinds, ...declarationKinds].map((kind) => [kind.kind, kind]));

/** What there is of a lease: "deployments web" and the object. */
export async function objectsOfLease(kube: Kube, lease: LeaseId): Promise<Map<string, KubeObject>> {
  const name = leaseNamespace(lease);
  const found = new Map<string, KubeObject>();
  const space = await kube.get(kinds.namespace, { name });
  if (space) found.set("namespaces", space);
  for (const kind of leaseKinds) {
    // A service account that the Go provider shall not find has lost the other label.
    const labelSelector = kind === kinds.serviceAccount ? namespaceLabel : managedSelector;
    for (const object of await kube.list(kind, { namespace: name, labelSelector })) {
      found.set(`${kind.plural} ${object.metadata.name}`, object);
    }
  }
  for (const kind of declarationKinds) {
    const labelSelector = `akash.network/lease.id.dseq=${lease.dseq},akash.network/lease.id.gseq=${lease.gseq}`;
    for (const object of await kube.list(kind, { namespace: manifestNamespace, labelSelector })) {
      found.set(`${kind.plural} ${object.metadata.name}`, object);
    }
  }
  return found;
}

/** Whether a workload runs with a pod template that is none of ours, and says for which service. */
export function isKept(workload: KubeObject | undefined): boolean {
  const { labels = {} } = workload?.metadata ?? {};
  return labels[madeForLabel] !== undefined && labels[templateLabel] === undefined;
}

/** Makes a recorded lease's objects as the Go provider did: by updates under its name, owning what it owned. */
export async function plant(theirs: Kube, recorded: RecordedLease): Promise<void> {
  // A pod is rejected while its account is not there, and tried again ever more seldom.
  const rank = ({ kind = "" }: KubeObject) => [...byName.keys()].indexOf(kind);
  for (const object of recorded.objects.toSorted((a, b) => rank(a) - rank(b))) {
    const kind = byName.get(object.kind ?? "");
    assert.ok(kind, object.kind);
    await plantObject(theirs, kind, object, recorded);
  }
}

async function plantObject(theirs: Kube, kind: Kind, recorded: KubeObject, lease: RecordedLease): Promise<void> {
  const { name, namespace, labels = {}, annotations = {}, managedFields = [] } = recorded.metadata;
  const at: ObjectAt = { name, ...(kind.namespaced && namespace !== undefined && { namespace }) };
  const isKnownTo = kind === kinds.deployment ? withoutRevision(annotations) : annotations;
  const metadata = { ...at, labels, ...(Object.keys(isKnownTo).length > 0 && { annotations: isKnownTo }) };
  const body = { ...bodyOf(kind, recorded, lease), metadata } as KubeObject;
  const there = kind === kinds.namespace ? await theirs.get(kind, at) : undefined;
  const made = there
    ? await theirs.patch(kind, at, [{ op: "replace", path: "/metadata/labels", value: labels }])
    : await theirs.create(kind, body);
  const owned = managedFields.find(({ manager }) => manager === goProvider)?.fieldsV1;
  const entry: ManagedFields & { fieldsType: string } = {
    ...{ manager: goProvider, operation: "Update", apiVersion: apiVersionOf(kind), fieldsType: "FieldsV1" },
    time: made.metadata.creationTimestamp ?? "",
    fieldsV1: owned ?? made.metadata.managedFields?.find(({ manager }) => manager === goProvider)?.fieldsV1 ?? {},
  };
  if (owned || there) {
    await theirs.patch(kind, at, [{ op: "replace", path: "/metadata/managedFields", value: [entry] }]);
  }
}

function withoutRevision(annotations: Readonly<Record<string, string>>): Record<string, string> {
  const { "deployment.kubernetes.io/revision": _, ...rest } = annotations;
  return rest;
}

/** Without what another cluster gave it, and with what was not recorded. */
function bodyOf(kind: Kind, recorded: KubeObject, lease: RecordedLease): Record<string, unknown> {
  const { metadata: _, status: __, apiVersion: ___, kind: ____, ...body } = recorded;
  if (kind === kinds.service) {
    const { clusterIP, clusterIPs, ...spec } = body["spec"] as Record<string, unknown>;
    return { ...body, spec };
  }
  if (kind === kinds.namespace) return {};
  if (kind === kinds.secret) {
    const made = { manifestNamespace, staticHostDomain: "ingress.lab.test", version: "" };
    const ours = objectsOf(lease, made).find(
      (each) => each.kind === kind && each.object.metadata.name === recorded.metadata.name,
    );
    const { stringData = ours ? undefined : { ".dockerconfigjson": '{"auths":{}}' }, data } = (ours?.object ??
      {}) as Record<string, unknown>;
    return { type: body["type"], ...(stringData !== undefined && { stringData }), ...(data !== undefined && { data }) };
  }
  return body;
}

/** Takes away all but the namespace, which no server without controllers lets go. */
export async function clear(kube: Kube, lease: LeaseId): Promise<void> {
  for (const [text, { metadata }] of await objectsOfLease(kube, lease)) {
    const kind = [...leaseKinds, ...declarationKinds].find(({ plural }) => text.startsWith(`${plural} `));
    if (kind) await kube.delete(kind, metadata);
  }
}

export interface AdoptingLife {
  readonly keeper: LeaseKeeper;
  readonly journal: Journal;
  /** Patches, applies that wrote something, and deletions. */
  readonly writes: () => number;
  /** Its manifest as the tenant sends it. */
  send(lease: LeaseId, group: ManifestGroup, version: string): Promise<void>;
  /** Until it has been looked at since, and nothing is left to do. */
  atRest(lease: LeaseId, version?: string): Promise<void>;
  stop(): Promise<void>;
}

/** One process of ours, with the leases that the chain has. */
export async function startAdopting(
  owner: Owner,
  connect: () => Kube,
  leases: readonly RecordedLease[],
  { dir = memoryFolder(owner), current = "" }: { dir?: string; current?: string } = {},
): Promise<AdoptingLife> {
  const [kube, writes] = counting(connect());
  const { journal } = await openJournal({ dir, clock: realClock, log: silentLog, boundary: openBoundary });
  const random = createSeededRandom(1);
  const hash = { current };
  const chain = chainWith(leases, hash);
  const { overcommit } = leases[0]?.settings ?? { overcommit: noOvercommit };
  const keeper = createLeaseKeeper({
    ...{ chain, kube, clock: realClock, random, log: silentLog, onChange: () => undefined },
    // No MetalLB gives addresses here: each manifest has already waited for them.
    journal: { ...journal, nowMs: () => journal.nowMs() + leaseAddressWaitMs },
    options: { ...adoptedOptions, overcommit },
  });
  const states = createManifestStates(() => undefined);
  const loop = createManifestLoop({
    ...{
      chain,
      journal,
      cluster: createClusterSide(keeper),
      timeoutMs: 0,
      states,
      clock: realClock,
      log: silentLog,
    },
    missed: { settle: async () => true, away: () => undefined },
    onRestored: (key) => keeper.wake(key),
  });
  const stopping = new AbortController();
  const tasks: Promise<void>[] = [];
  const cleanups: (() => Promise<void> | void)[] = [];
  keeper.open({
    signal: stopping.signal,
    task: (_name, work) => void tasks.push(work(stopping.signal).catch(() => undefined)),
    onStop: (cleanup) => void cleanups.push(cleanup),
  });
  let isStopped = false;
  const life: AdoptingLife = {
    keeper,
    journal,
    writes,
    async send(lease, group, version) {
      const leaseId = formatLeaseId(lease);
      hash.current = version;
      await loop.reunite({ id: lease }, leaseId);
      await journal.durable("manifest", ({ manifests }) =>
        manifests.put({ leaseId, version, body: JSON.stringify([group]) }),
      );
      keeper.wake(leaseId);
    },
    async atRest(lease, version) {
      const key = formatLeaseId(lease);
      await eventually(`rest of ${key}`, () => {
        const { ready, running } = keeper.queue.counts;
        const { state, why } = keeper.states.get(key) ?? {};
        if (state === "refused") throw new Error(why);
        const deployed = journal.read.manifests.get(key)?.deployed?.version;
        return ready + running === 0 && state === "deployed" && (version === undefined || deployed === version);
      });
    },
    async stop() {
      if (isStopped) return;
      isStopped = true;
      stopping.abort();
      await Promise.all(tasks);
      for (const cleanup of cleanups) await cleanup();
      await kube.close();
      await journal.close();
    },
  };
  owner.after(() => life.stop());
  await eventually("what is known of the cluster", () => keeper.error === undefined);
  for (const { workload } of leases) {
    const key = formatLeaseId(workload.lease);
    await loop.reunite({ id: workload.lease }, key);
    keeper.wake(key);
  }
  return life;
}

function counting(kube: Kube): [Kube, () => number] {
  let writes = 0;
  const counted =
    <A extends unknown[], R>(write: (...args: A) => R) =>
    (...args: A): R => {
      writes += 1;
      return write(...args);
    };
  const calls = { patch: counted(kube.patch), delete: counted(kube.delete), create: counted(kube.create) };
  return [{ ...kube, ...calls, counts: kube.counts }, () => writes + kube.counts.applied];
}

/** What the chain answers about them. */
export function queriesWith(leases: readonly RecordedLease[]): Queries {
  const { mirror, queries } = chainWith(leases);
  const at = <T>(value: T) => ({ value, height: 10n, node: "test", steady: true });
  return {
    ...queries,
    leases: async ({ state }: { state: string }) => ({
      ...at(undefined),
      items: state === "active" ? [...mirror.leases()] : [],
    }),
    bid: async () => at(undefined),
    deployment: async (id: LeaseId) => at(mirror.deployment(id)),
  } as unknown as Queries;
}

/** `hash`: that of the manifest which the chain has now, of every deployment. */
function chainWith(leases: readonly RecordedLease[], hash = { current: "" }): Chain {
  const [{ workload }] = leases as [RecordedLease];
  const { provider } = workload.lease;
  const records = leases.map(({ workload: { lease } }) => ({ id: lease, state: "active", createdAt: 1n }));
  const lease = (id: LeaseId) => records.find((each) => formatLeaseId(each.id) === formatLeaseId(id));
  const mirror = {
    ready: true,
    height: 10n,
    leases: () => records.values(),
    lease,
    bid: () => undefined,
    deployment(id: { owner: string; dseq: bigint }) {
      const of = leases.filter((each) => formatDeploymentId(each.workload.lease) === formatDeploymentId(id as LeaseId));
      const groups = of.map((each) => ({ id: each.workload.lease, spec: { units: each.workload.offer } }));
      return { groups, hash: Buffer.from(hash.current, "hex") };
    },
  };
  const queries = { lease: async (id: LeaseId) => ({ value: lease(id), height: 10n, node: "test" }) };
  return { provider, mirror, queries, onStep: () => undefined, status: { blockTimeMs: 6_000 } } as unknown as Chain;
}
