/** Every lease that the Go provider was recorded with, taken over from it on an API server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { addressesWanted } from "../../../src/cluster/capacity/addresses/lease-addresses.ts";
import { type DryRunLease, dryRunAdoption } from "../../../src/cluster/leases/adoption/dry-run.ts";
import { hostsWanted } from "../../../src/cluster/leases/declarations/hostnames.ts";
import { asSent, isAsDesired } from "../../../src/kube/as-desired.ts";
import { installDefinitions } from "../../../src/kube/definitions.ts";
import { fieldsOf, recordsOf } from "../../../src/kube/json-fields.ts";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { serviceLabel } from "../../../src/kube/objects/lease-labels.ts";
import { leaseObjects } from "../../../src/kube/objects/lease-objects.ts";
import { goProviderEntry, ownedFields } from "../../../src/kube/owned-fields.ts";
import { formatLeaseId, type LeaseId } from "../../../src/market/ids.ts";
import { leaseNamespace } from "../../../src/market/lease-namespace.ts";
import type { ManifestGroup } from "../../../src/market/manifest.ts";
import { realClock } from "../../../src/runtime/clock.ts";
import { eventually } from "../eventually.ts";
import { createOwner, type Owner } from "../owner.ts";
import type { RecordedLease } from "../samples/recorded-leases.ts";
import {
  type AdoptingLife,
  adoptedOptions,
  clear,
  isKept,
  objectsOfLease,
  plant,
  queriesWith,
  startAdopting,
} from "../stages/adoption-stage.ts";

export interface AdoptionStage {
  readonly server: string;
  readonly open: (owner: Owner) => (owner: Owner, fieldManager: string) => Kube;
  readonly leases: () => readonly RecordedLease[];
  /** Whether it has controllers: then workloads have pods, and those are looked at too. */
  readonly hasPods?: boolean;
}

export function checkAdoption({ server, open, leases, hasPods = false }: AdoptionStage): void {
  test(`${server}: what the Go provider left is taken over, and no workload changes`, async () => {
    await using owner = createOwner();
    const connect = open(owner);
    const theirs = connect(owner, "provider-services");
    await installDefinitions(connect(owner, "operator"), realClock);
    await theirs.apply(kinds.namespace, { metadata: { name: "lease" } });
    const recorded = leases();
    assert.ok(recorded.length > 0);
    for (const batch of apart(recorded)) {
      try {
        await takeOver(theirs, (life) => connect(life, "akash-provider"), batch, hasPods);
      } finally {
        await Promise.all(batch.map(({ workload }) => clear(theirs, workload.lease)));
      }
    }
  });
}

/** In batches of leases that can run beside each other: two recordings of one lease, or of one host name, cannot. */
function apart(recorded: readonly RecordedLease[]): RecordedLease[][] {
  const batches: { readonly taken: Set<string>; readonly leases: RecordedLease[] }[] = [];
  for (const each of recorded) {
    const needs = needsAlone(each);
    const found = batches.find(({ taken }) => !needs.some((need) => taken.has(need)));
    const batch = found ?? { taken: new Set(), leases: [] };
    if (!found) batches.push(batch);
    for (const need of needs) batch.taken.add(need);
    batch.leases.push(each);
  }
  return batches.map(({ leases }) => leases);
}

function needsAlone({ workload, objects }: RecordedLease): string[] {
  const hosts = hostsWanted(workload, adoptedOptions.hosts).map(({ host }) => `host ${host}`);
  const addresses = addressesWanted(workload).map(({ endpoint }) => `address ${endpoint}`);
  const nodePorts = objects
    .flatMap((object) => recordsOf(fieldsOf(object["spec"])["ports"]))
    .flatMap(({ nodePort }) => (nodePort === undefined ? [] : [`port ${nodePort}`]));
  return [formatLeaseId(workload.lease), ...hosts, ...addresses, ...nodePorts];
}

interface Planted {
  readonly recorded: RecordedLease;
  readonly lease: LeaseId;
  readonly pods: PodWatch;
  readonly before: ReadonlyMap<string, KubeObject>;
  told(what: string): string;
}

async function takeOver(
  theirs: Kube,
  connect: (owner: Owner) => Kube,
  batch: readonly RecordedLease[],
  hasPods: boolean,
): Promise<void> {
  await using owner = createOwner();
  const planted = await Promise.all(batch.map((recorded) => plantWatched(theirs, recorded, hasPods)));
  const expected = await dryRunOn(batch, connect(owner));
  for (const { lease, before, told } of planted) {
    assert.deepEqual(versions(await objectsOfLease(theirs, lease)), versions(before), told("a dry run writes"));
  }
  const first = await startAdopting(owner, () => connect(owner), batch);
  const taken = await Promise.all(
    planted.map(async (each) => {
      await first.atRest(each.lease);
      const after = await objectsOfLease(theirs, each.lease);
      await checkTaken(each, after, expected.get(formatLeaseId(each.lease)));
      return { ...each, after };
    }),
  );
  await first.stop();

  const second = await startAdopting(owner, () => connect(owner), batch);
  await Promise.all(taken.map(({ lease }) => second.atRest(lease)));
  assert.equal(second.writes(), 0, "a restart writes");
  for (const { lease, after, told } of taken) {
    assert.deepEqual(versions(await objectsOfLease(theirs, lease)), versions(after), told("a restart writes"));
  }
  await Promise.all(planted.map((each) => checkSentAgain(second, theirs, each)));
  await Promise.all(planted.map((each) => checkUpdated(second, theirs, each)));
  await second.stop();
}

async function plantWatched(theirs: Kube, recorded: RecordedLease, hasPods: boolean): Promise<Planted> {
  const { lease } = recorded.workload;
  await plant(theirs, recorded);
  const pods = await podsWatched(theirs, recorded, hasPods);
  const before = await objectsOfLease(theirs, lease);
  return { recorded, lease, pods, before, told: (what) => `${recorded.from}: ${what}` };
}

async function checkTaken(
  { before, pods, told }: Planted,
  after: ReadonlyMap<string, KubeObject>,
  expected: DryRunLease | undefined,
): Promise<void> {
  checkUntouched(before, after, told("taken over"));
  await pods.areThose(told("taken over"));
  for (const [text, object] of after) {
    if (text.startsWith("manifests ")) continue;
    assert.equal(goProviderEntry(object.metadata), undefined, told(`${text} is still the network's`));
  }
  const isWorkload = (text: string) => /^(deployments|statefulsets) /.test(text);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (text) => before.get(text)?.metadata.resourceVersion !== after.get(text)?.metadata.resourceVersion,
  );
  assert.deepEqual(
    expected?.changes.map(({ object }) => object.replace(/^(namespaces) .*/, "$1").replace(/\.\S+/, "")).sort(),
    changed.filter((text) => !isWorkload(text)).sort(),
    told("expected"),
  );
  assert.deepEqual(
    expected?.kept.map(({ workload }) => workload.replace(/\.\S+/, "")).sort(),
    [...before.keys()].filter(isWorkload).sort(),
    told("expected"),
  );
}

async function checkSentAgain(
  life: AdoptingLife,
  theirs: Kube,
  { recorded, lease, before, pods, told }: Planted,
): Promise<void> {
  await life.send(lease, recorded.workload.group, "00ff");
  await life.atRest(lease, "00ff");
  checkUntouched(before, await objectsOfLease(theirs, lease), told("sent again"));
  await pods.areThose(told("sent again"));
}

async function checkUpdated(
  life: AdoptingLife,
  theirs: Kube,
  { recorded: { workload, settings }, lease, before, pods, told }: Planted,
): Promise<void> {
  const { group } = workload;
  const [service, ...others] = group.services;
  assert.ok(service);
  const update: ManifestGroup = { ...group, services: [{ ...service, image: `${service.image}-new` }, ...others] };
  await life.send(lease, update, "01ff");
  await life.atRest(lease, "01ff");
  const updated = await objectsOfLease(theirs, lease);
  const without = (objects: ReadonlyMap<string, KubeObject>) =>
    new Map([...objects].filter(([text]) => !isWorkloadOf(text, service.name)));
  checkUntouched(without(before), without(updated), told("one service updated"));
  const { workloads } = leaseObjects({ ...workload, group: update }, settings);
  const ours = workloads.find(({ object }) => object.metadata.name === service.name);
  const live = updated.get(`${ours?.kind.plural} ${service.name}`);
  assert.ok(ours && live, told(service.name));
  const owned = ownedFields(live, "akash-provider");
  assert.ok(isAsDesired(ours.kind, asSent(ours.kind, ours.object), owned), told(JSON.stringify(live)));
  assert.ok(!isKept(live), told("it is not kept any more"));
  assert.ok(!JSON.stringify(live["spec"]).includes("manifest.resource.version"), told("a field that only they want"));
  await pods.areThoseBut(service.name, told("one service updated"));
}

interface PodWatch {
  areThose(told: string): Promise<void>;
  /** Those of this service are going, or others now, and all the rest is as it was. */
  areThoseBut(service: string, told: string): Promise<void>;
}

/** Once all of them are there. */
async function podsWatched(kube: Kube, { workload }: RecordedLease, hasPods: boolean): Promise<PodWatch> {
  if (!hasPods) return { areThose: async () => undefined, areThoseBut: async () => undefined };
  const wanted = workload.group.services.reduce((sum, { count }) => sum + count, 0);
  const read = async () => {
    const pods = await kube.list(kinds.pod, { namespace: leaseNamespace(workload.lease) });
    const isRunning = (pod: KubeObject) => (pod["status"] as { phase?: string }).phase === "Running";
    const there = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && isRunning(pod));
    return there.map(({ metadata }) => `${metadata.labels?.[serviceLabel]} ${metadata.uid}`).sort();
  };
  const before = await eventually("their pods", async () => {
    const now = await read();
    return now.length === wanted && now;
  });
  const others = (pods: readonly string[], service: string) => pods.filter((pod) => !pod.startsWith(`${service} `));
  return {
    areThose: async (told) => assert.deepEqual(await read(), before, told),
    async areThoseBut(service, told) {
      // Nobody has the new image, so the one that it comes for does not run.
      await eventually(`${told}: rolled`, async () => (await read()).length < before.length);
      assert.deepEqual(others(await read(), service), others(before, service), told);
    },
  };
}

/** By lease. */
async function dryRunOn(batch: readonly RecordedLease[], kube: Kube): Promise<Map<string, DryRunLease>> {
  const [{ workload, settings }] = batch as readonly [RecordedLease];
  const options = { ...adoptedOptions, overcommit: settings.overcommit };
  const deps = { queries: queriesWith(batch), provider: workload.lease.provider, kube, options, clock: realClock };
  const { leases } = await dryRunAdoption(deps, new AbortController().signal);
  return new Map(leases.map((each) => [each.lease, each]));
}

function isWorkloadOf(text: string, service: string): boolean {
  return text === `deployments ${service}` || text === `statefulsets ${service}`;
}

/** What a tenant would notice. */
function checkUntouched(
  before: ReadonlyMap<string, KubeObject>,
  after: ReadonlyMap<string, KubeObject>,
  told: string,
): void {
  for (const [text, object] of before) {
    const now = after.get(text);
    if (text.startsWith("deployments ") || text.startsWith("statefulsets ")) {
      assert.deepEqual(now?.["spec"], object["spec"], `${told}: ${text}`);
      assert.equal(now?.metadata.uid, object.metadata.uid, `${told}: ${text}`);
      assert.equal(now?.metadata.generation, object.metadata.generation, `${told}: ${text}`);
      assert.ok(isKept(now), `${told}: ${text}`);
    }
    if (text.startsWith("services ") && now) assert.deepEqual(reachedBy(now), reachedBy(object), `${told}: ${text}`);
    if (now) assert.equal(now.metadata.uid, object.metadata.uid, `${told}: ${text}`);
  }
}

/** Addresses and node ports, by port. */
function reachedBy(service: KubeObject): unknown {
  const { clusterIP, ports = [] } = service["spec"] as {
    clusterIP: string;
    ports: { port: number; protocol: string; nodePort?: number; targetPort: unknown }[];
  };
  const tcp = ports.filter(({ protocol }) => protocol === "TCP");
  return [clusterIP, tcp.map(({ port, nodePort, targetPort }) => [port, nodePort, targetPort])];
}

/** Of a workload the generation: controllers write its status when they please. */
function versions(objects: ReadonlyMap<string, KubeObject>): Record<string, string | number | undefined> {
  const versionOf = (text: string, { resourceVersion, generation }: KubeObject["metadata"]) =>
    /^(deployments|statefulsets) /.test(text) ? generation : resourceVersion;
  return Object.fromEntries([...objects].map(([text, { metadata }]) => [text, versionOf(text, metadata)]));
}
