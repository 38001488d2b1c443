/** Every lease that the network's own provider was recorded with, taken over from it on an API server. */
import assert from "node:assert/strict";
import { type RehearsedLease, rehearse } from "../src/cluster/adoption/rehearsal.ts";
import { networksEntry } from "../src/kube/adopted-fields.ts";
import { asSent, isAsDesired } from "../src/kube/as-desired.ts";
import { installDefinitions } from "../src/kube/definitions.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../src/kube/kube.ts";
import { keptLabel } from "../src/kube/objects/kept-workload.ts";
import { serviceLabel } from "../src/kube/objects/lease-labels.ts";
import { leaseObjects } from "../src/kube/objects/lease-objects.ts";
import { ownedFields } from "../src/kube/owned-fields.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import type { ManifestGroup } from "../src/market/manifest.ts";
import { realClock } from "../src/runtime/clock.ts";
import { adoptedOptions, clear, objectsOfLease, plant, queriesWith, startAdopting } from "./adoption-stage.ts";
import { eventually } from "./eventually.ts";
import { createOwner, type Owner } from "./owner.ts";
import { type RecordedLease, recordedLeases } from "./recorded-leases.ts";
import { vectorTest } from "./vectors.ts";

export interface AdoptionStage {
  readonly server: string;
  readonly open: (owner: Owner) => (owner: Owner, fieldManager: string) => Kube;
  /** Which of the recordings. */
  readonly only?: RegExp;
  /** Whether it has controllers: then workloads have pods, and those are looked at too. */
  readonly hasPods?: boolean;
}

export function checkAdoption({ server, open, only = /./, hasPods = false }: AdoptionStage): void {
  vectorTest(`${server}: what the network's provider left is taken over, and no workload changes`, async () => {
    await using owner = createOwner();
    const connect = open(owner);
    const theirs = connect(owner, "provider-services");
    await installDefinitions(connect(owner, "operator"), realClock);
    if (!(await theirs.get(kinds.namespace, { name: "lease" }))) {
      await theirs.create(kinds.namespace, { metadata: { name: "lease" } });
    }
    let count = 0;
    for (const recorded of recordedLeases()) {
      if (!only.test(recorded.from)) continue;
      try {
        await takeOver(theirs, (life) => connect(life, "akash-provider"), recorded, hasPods);
      } finally {
        await clear(theirs, recorded.workload.lease);
      }
      count += 1;
    }
    assert.ok(count > 0);
  });
}

async function takeOver(
  theirs: Kube,
  connect: (owner: Owner) => Kube,
  recorded: RecordedLease,
  hasPods: boolean,
): Promise<void> {
  const { from, workload } = recorded;
  const { lease, group } = workload;
  const told = (what: string) => `${from}: ${what}`;
  await using owner = createOwner();
  await plant(theirs, recorded);
  const pods = await podsWatched(theirs, recorded, hasPods);
  const before = await objectsOfLease(theirs, lease);
  const rehearsed = await rehearseOn(recorded, connect(owner));
  assert.deepEqual(versions(await objectsOfLease(theirs, lease)), versions(before), told("a rehearsal writes"));
  const first = await startAdopting(owner, () => connect(owner), [recorded]);
  await first.atRest(lease);
  const after = await objectsOfLease(theirs, lease);
  checkUntouched(before, after, told("taken over"));
  await pods.areThose(told("taken over"));
  for (const [text, object] of after) {
    if (text.startsWith("manifests ")) continue;
    assert.equal(networksEntry(object.metadata), undefined, told(`${text} is still the network's`));
  }
  const isWorkload = (text: string) => /^(deployments|statefulsets) /.test(text);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (text) => before.get(text)?.metadata.resourceVersion !== after.get(text)?.metadata.resourceVersion,
  );
  assert.deepEqual(
    rehearsed.changes.map(({ object }) => object.replace(/^(namespaces) .*/, "$1").replace(/\.\S+/, "")).sort(),
    changed.filter((text) => !isWorkload(text)).sort(),
    told("rehearsed"),
  );
  assert.deepEqual(
    rehearsed.kept.map(({ workload }) => workload.replace(/\.\S+/, "")).sort(),
    [...before.keys()].filter(isWorkload).sort(),
    told("rehearsed"),
  );
  await first.stop();

  const second = await startAdopting(owner, () => connect(owner), [recorded]);
  await second.atRest(lease);
  assert.equal(second.writes(), 0, told("a restart writes"));
  assert.deepEqual(versions(await objectsOfLease(theirs, lease)), versions(after), told("a restart writes"));

  await second.send(lease, group, "00ff");
  await second.atRest(lease, "00ff");
  checkUntouched(before, await objectsOfLease(theirs, lease), told("sent again"));
  await pods.areThose(told("sent again"));

  const [service, ...others] = group.services;
  assert.ok(service);
  const update: ManifestGroup = { ...group, services: [{ ...service, image: `${service.image}-new` }, ...others] };
  await second.send(lease, update, "01ff");
  await second.atRest(lease, "01ff");
  const updated = await objectsOfLease(theirs, lease);
  const without = (objects: Map<string, KubeObject>) =>
    new Map([...objects].filter(([text]) => !isWorkloadOf(text, service.name)));
  checkUntouched(without(before), without(updated), told("one service updated"));
  const { workloads } = leaseObjects({ ...workload, group: update }, recorded.settings);
  const ours = workloads.find(({ object }) => object.metadata.name === service.name);
  const live = updated.get(`${ours?.kind.plural} ${service.name}`);
  assert.ok(ours && live, told(service.name));
  const owned = ownedFields(live, "akash-provider");
  assert.ok(isAsDesired(ours.kind, asSent(ours.kind, ours.object), owned), told(JSON.stringify(live)));
  assert.equal(live.metadata.labels?.[keptLabel], undefined, told("it is not kept any more"));
  assert.ok(!JSON.stringify(live["spec"]).includes("manifest.resource.version"), told("a field that only they want"));
  await pods.areThoseBut(service.name, told("one service updated"));
  await second.stop();
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

async function rehearseOn(recorded: RecordedLease, kube: Kube): Promise<RehearsedLease> {
  const { workload, settings } = recorded;
  const { provider } = workload.lease;
  const options = { ...adoptedOptions, overcommit: settings.overcommit };
  const deps = { queries: queriesWith([recorded]), provider, kube, options, clock: realClock };
  const { leases } = await rehearse(deps, new AbortController().signal);
  const [lease] = leases;
  assert.ok(lease);
  return lease;
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
      assert.ok(now?.metadata.labels?.[keptLabel], `${told}: ${text}`);
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
