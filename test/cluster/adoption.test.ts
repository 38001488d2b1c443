/** What can go wrong when a cluster is taken over, each by itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dryRunAdoption } from "../../src/cluster/leases/adoption/dry-run.ts";
import { installDefinitions } from "../../src/kube/definitions.ts";
import { pointerTo } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import type { LeaseWorkload } from "../../src/kube/objects/lease-workload.ts";
import { madeForLabel, templateLabel } from "../../src/kube/objects/workload-object.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import type { ManifestGroup } from "../../src/market/manifest.ts";
import { formatTime, realClock } from "../../src/runtime/clock.ts";
import { eventually } from "../support/eventually.ts";
import { memoryFolder } from "../support/folder.ts";
import { asRecorded, deployAsGoProvider, plainSettings, versionLabel } from "../support/go-provider-objects.ts";
import { simulateKube } from "../support/kube/simulated-kube.ts";
import { startKubeHttpServer } from "../support/kube-http-server.ts";
import type { Owner } from "../support/owner.ts";
import {
  adoptedOptions,
  isKept,
  objectsOfLease,
  plant,
  queriesWith,
  startAdopting,
} from "../support/stages/adoption-stage.ts";
import { shop } from "../support/stages/lease-keeper-stage.ts";
import { bidOf, orderKey } from "../support/stages/reservation-stage.ts";

const clock = realClock;

function workloadOf(dseq: number, sdl = shop()): LeaseWorkload {
  const [group] = sdl.manifest;
  assert.ok(group);
  return { lease: bidOf(orderKey(dseq)), group, offer: [] };
}

function changed(group: ManifestGroup, name: string, how: object): ManifestGroup {
  return { ...group, services: group.services.map((each) => (each.name === name ? { ...each, ...how } : each)) };
}

/** A cluster with one lease of the Go provider. */
async function open(t: Owner, workloads: readonly LeaseWorkload[] = [workloadOf(1)]) {
  const cluster = simulateKube(t);
  const theirs = cluster.connect("provider-services");
  await installDefinitions(cluster.connect("operator"), clock);
  const leases = workloads.map(asRecorded);
  for (const lease of leases) await plant(theirs, lease);
  const dir = memoryFolder(t);
  const [first] = workloads;
  assert.ok(first);
  return {
    ...{ cluster, theirs, leases, lease: first.lease, group: first.group },
    start: (options: { dir?: string; current?: string } = {}) =>
      startAdopting(t, () => cluster.connect("akash-provider"), leases, { dir, ...options }),
    objects: () => objectsOfLease(theirs, first.lease),
    at: (name: string) => ({ namespace: leaseNamespace(first.lease), name }),
  };
}

const generations = (objects: ReadonlyMap<string, KubeObject>) =>
  [...objects]
    .filter(([text]) => /^(deployments|statefulsets) /.test(text))
    .map(([text, { metadata }]) => [text, metadata.generation]);

test("a field that only the Go provider wants goes with the tenant's change, and not before", async (t) => {
  const { theirs, start, lease, group, at } = await open(t);
  const templateLabels = async (kube: Kube) => {
    const { spec } = (await kube.get(kinds.deployment, at("page"))) as unknown as {
      spec: { template: { metadata: { labels: Record<string, string> } } };
    };
    return spec.template.metadata.labels[versionLabel];
  };
  const life = await start();
  await life.atRest(lease);
  assert.equal(await templateLabels(theirs), "1");
  await life.send(lease, changed(group, "page", { image: "page:2" }), "02");
  await life.atRest(lease, "02");
  assert.equal(await templateLabels(theirs), undefined);
});

test("a kept workload is scaled in place, and stays kept", async (t) => {
  const { theirs, start, lease, group, at } = await open(t);
  const life = await start();
  await life.atRest(lease);
  const before = (await theirs.get(kinds.deployment, at("page"))) as KubeObject;
  await life.send(lease, changed(group, "page", { count: 3 }), "02");
  await life.atRest(lease, "02");
  const after = (await theirs.get(kinds.deployment, at("page"))) as KubeObject;
  assert.deepEqual(after["spec"], { ...(before["spec"] as object), replicas: 3 });
  assert.ok(isKept(after));
  assert.equal(after.metadata.labels?.[madeForLabel], before.metadata.labels?.[madeForLabel]);
  // What it was scaled with goes with the rest when it is ours.
  await life.send(lease, changed(group, "page", { count: 2, image: "page:2" }), "03");
  await life.atRest(lease, "03");
  const ours = (await theirs.get(kinds.deployment, at("page"))) as KubeObject;
  assert.equal((ours["spec"] as { replicas: number }).replicas, 2);
  assert.deepEqual(
    ours.metadata.managedFields
      ?.filter(({ subresource }) => !subresource)
      .map(({ manager, operation }) => [manager, operation]),
    [["akash-provider", "Apply"]],
  );
});

test("a kept workload that is deleted is made by us, without its label", async (t) => {
  const { theirs, start, lease, at } = await open(t);
  const life = await start();
  await life.atRest(lease);
  await theirs.delete(kinds.deployment, at("page"));
  await eventually("ours", async () => {
    const made = await theirs.get(kinds.deployment, at("page"));
    return made && !isKept(made) && made.metadata.managedFields?.[0]?.operation === "Apply";
  });
});

test("a service that gives up its volumes changes its kind, and the kept StatefulSet goes", async (t) => {
  const { theirs, start, lease, at } = await open(t);
  const life = await start();
  await life.atRest(lease);
  assert.ok(isKept(await theirs.get(kinds.statefulSet, at("store"))));
  const [group] = shop({ persistent: false }).manifest;
  assert.ok(group);
  await life.send(lease, group, "02");
  await life.atRest(lease, "02");
  assert.equal(await theirs.get(kinds.statefulSet, at("store")), undefined);
  assert.ok(await theirs.get(kinds.deployment, at("store")));
  assert.ok(isKept(await theirs.get(kinds.deployment, at("page"))), "the other is kept");
});

test("workloads of a version of ours that said nothing of their templates are kept, also when the journal is lost", async (t) => {
  const { cluster, theirs, start, lease, group, objects, at } = await open(t);
  const first = await start();
  const update = changed(changed(group, "page", { image: "page:2", env: ["A=1", "A=2"] }), "store", {
    image: "store:2",
  });
  await first.send(lease, update, "02");
  await first.atRest(lease, "02");
  await first.stop();
  const ours = cluster.connect("akash-provider");
  for (const [kind, name] of [[kinds.deployment, "page"] as const, [kinds.statefulSet, "store"] as const]) {
    const live = (await theirs.get(kind, at(name))) as KubeObject;
    const remove = [madeForLabel, templateLabel].map((label) => pointerTo("metadata", "labels", label));
    await ours.patch(kind, live.metadata, [
      ...remove.map((path) => ({ op: "remove", path }) as const),
      { op: "replace", path: "/spec/template/spec/terminationGracePeriodSeconds", value: 7 },
    ]);
  }
  const before = generations(await objects());
  const second = await start({ dir: memoryFolder(t), current: "02" });
  await second.atRest(lease, "02");
  assert.deepEqual(generations(await objects()), before);
  await second.send(lease, changed(update, "page", { image: "page:3" }), "03");
  await second.atRest(lease, "03");
  assert.deepEqual(generations(await objects()).slice(1), before.slice(1), "store is as it was");
  assert.ok(!isKept(await theirs.get(kinds.deployment, at("page"))));
});

test("an update that comes before our first look rolls only what it changes", async (t) => {
  const { theirs, start, lease, group, objects, at } = await open(t);
  const before = generations(await objects());
  const dir = memoryFolder(t);
  const { openJournal } = await import("../../src/journal/open.ts");
  const { silentLog } = await import("../../src/runtime/log.ts");
  const { openBoundary } = await import("../../src/runtime/boundary.ts");
  const { journal } = await openJournal({ dir, clock, log: silentLog, boundary: openBoundary });
  const body = JSON.stringify([group]);
  const update = JSON.stringify([changed(group, "page", { image: "page:2" })]);
  const leaseId = formatLeaseId(lease);
  await journal.durable("found", ({ manifests }) => {
    manifests.restore({ leaseId, version: "", body, receivedAtMs: 1, deployed: { version: "", body } });
    manifests.put({ leaseId, version: "02", body: update });
  });
  await journal.close();
  const life = await start({ dir, current: "02" });
  await life.atRest(lease, "02");
  const after = generations(await objects());
  assert.deepEqual(after.slice(1), before.slice(1), "store is as it was");
  assert.ok(!isKept(await theirs.get(kinds.deployment, at("page"))));
});

test("a workload that the manifest does not know is left alone and reported, and nothing is made beside it", async (t) => {
  const { theirs, start, lease, at } = await open(t);
  const page = (await theirs.get(kinds.deployment, at("page"))) as KubeObject;
  await theirs.create(kinds.deployment, {
    metadata: { ...at("old"), labels: page.metadata.labels ?? {} },
    spec: page["spec"],
  });
  await theirs.delete(kinds.deployment, at("page"));
  const life = await start();
  await life.atRest(lease);
  assert.deepEqual(life.keeper.states.get(formatLeaseId(lease))?.foreign, ["deployments.apps old"]);
  assert.ok(await theirs.get(kinds.deployment, at("old")));
  assert.equal(await theirs.get(kinds.deployment, at("page")), undefined);
});

test("a name that the Go provider declared stays its lease's, also while it is adopted", async (t) => {
  const other = workloadOf(2);
  const someone = { ...other, lease: { ...other.lease, owner: bidOf(orderKey(1)).provider } };
  const { start, leases, lease } = await open(t, [workloadOf(1)]);
  // Another tenant wants the same name, and his lease is looked at first.
  const life = await startAdoptingBoth();
  async function startAdoptingBoth() {
    leases.unshift(asRecorded(someone));
    return start();
  }
  const key = formatLeaseId(someone.lease);
  await life.send(someone.lease, someone.group, "07");
  await life.atRest(lease);
  await life.atRest(someone.lease, "07");
  assert.match(life.keeper.states.get(key)?.withheld?.[0] ?? "", /shop\.example\.com: held by another owner/);
  assert.deepEqual(life.keeper.hostnames.hostsOf(formatLeaseId(lease)).includes("shop.example.com"), true);
  assert.match(life.keeper.hostnames.rejection(["shop.example.com"], someone.lease.owner) ?? "", /in use/);
});

test("what the Go provider writes over ours is read as its own, and taken over again", async (t) => {
  const { cluster, theirs, start, lease, group, objects } = await open(t);
  const manifestAt = { namespace: "lease", name: leaseNamespace(lease) };
  const first = await start();
  await first.send(lease, changed(group, "page", { image: "page:2" }), "02");
  await first.atRest(lease, "02");
  await first.stop();
  const back = changed(group, "store", { image: "store:9" });
  await deployAsGoProvider(theirs, { ...workloadOf(1), group: back });
  const before = generations(await objects());
  // A minute later, as it would be; here all of it is of one second.
  const resource = (await theirs.get(kinds.manifest, manifestAt)) as KubeObject;
  const time = formatTime(clock.now() + 60_000);
  const managedFields = resource.metadata.managedFields?.map((entry) =>
    entry.manager === "provider-services" ? { ...entry, time } : entry,
  );
  await cluster.connect("operator").patch(kinds.manifest, manifestAt, [
    { op: "replace", path: "/metadata/managedFields", value: managedFields },
    { op: "add", path: "/metadata/labels/later", value: "yes" },
  ]);
  const second = await start({ current: "03" });
  await eventually("found again", () => second.journal.read.manifests.get(formatLeaseId(lease))?.version === "");
  await second.atRest(lease);
  assert.deepEqual(generations(await objects()), before);
  const row = second.journal.read.manifests.get(formatLeaseId(lease));
  assert.match(row?.body ?? "", /store:9/);
});

test("workloads that another program restored from a backup are kept too", async (t) => {
  const { theirs, start, lease, group, objects, at } = await open(t);
  for (const [kind, name] of [[kinds.deployment, "page"] as const, [kinds.statefulSet, "store"] as const]) {
    const { managedFields = [] } = (await theirs.get(kind, at(name)))?.metadata ?? {};
    const value = managedFields.map((entry) =>
      entry.manager === "provider-services" ? { ...entry, manager: "velero-server" } : entry,
    );
    await theirs.patch(kind, at(name), [{ op: "replace", path: "/metadata/managedFields", value }]);
  }
  const before = generations(await objects());
  const life = await start();
  await life.atRest(lease);
  assert.deepEqual(generations(await objects()), before);
  await life.send(lease, changed(group, "page", { image: "page:2" }), "02");
  await life.atRest(lease, "02");
  assert.deepEqual(generations(await objects()).slice(1), before.slice(1), "store is as it was");
  assert.ok(!isKept(await theirs.get(kinds.deployment, at("page"))));
});

test("what the Go provider makes of a manifest that we have written over is not taken for what its tenant wants", async (t) => {
  const { theirs, start, lease, group, at } = await open(t);
  const old = (await theirs.get(kinds.deployment, at("page"))) as KubeObject;
  const first = await start();
  await first.send(lease, changed(group, "page", { image: "page:2" }), "02");
  await first.atRest(lease, "02");
  await first.stop();
  const live = (await theirs.get(kinds.deployment, at("page"))) as KubeObject;
  const labels = { ...live.metadata.labels, [versionLabel]: "1" };
  await theirs.replace(kinds.deployment, { ...live, spec: old["spec"], metadata: { ...live.metadata, labels } });
  const second = await start({ current: "02" });
  await second.atRest(lease, "02");
  const { spec } = (await theirs.get(kinds.deployment, at("page"))) as KubeObject & {
    spec: { template: { spec: { containers: { image: string }[] } } };
  };
  assert.equal(spec.template.spec.containers[0]?.image, "page:2");
});

test("an update that the Go provider wrote down and did not get to bring arrives with us", async (t) => {
  const { theirs, start, lease, objects, at } = await open(t);
  const before = generations(await objects());
  await theirs.patch(kinds.manifest, { namespace: "lease", name: leaseNamespace(lease) }, [
    { op: "replace", path: "/spec/group/services/0/image", value: "page:9" },
  ]);
  const life = await start();
  await life.atRest(lease);
  const { spec } = (await theirs.get(kinds.deployment, at("page"))) as KubeObject & {
    spec: { template: { spec: { containers: { image: string }[] } } };
  };
  assert.equal(spec.template.spec.containers[0]?.image, "page:9");
  assert.deepEqual(generations(await objects()).slice(1), before.slice(1), "store is as it was");
});

test("a dry run reads only, and reports what has no place", async (t) => {
  const { cluster, theirs, lease, leases, at } = await open(t);
  const face = await startKubeHttpServer(t, cluster);
  const { createHttpKube } = await import("../../src/kube/http/http-kube.ts");
  const { silentLog } = await import("../../src/runtime/log.ts");
  const { realRandom } = await import("../../src/runtime/random.ts");
  const kubeconfig = face.writeKubeconfig(memoryFolder(t));
  const kube = createHttpKube(
    { kubeconfig, fieldManager: "akash-provider" },
    { clock, random: realRandom, log: silentLog },
  );
  const [nowhere, over] = [asRecorded(workloadOf(3)), asRecorded(workloadOf(4, shop({ host: "other.example.com" })))];
  await plant(theirs, over);
  const page = (await theirs.get(kinds.deployment, at("page"))) as KubeObject;
  await theirs.create(kinds.deployment, {
    metadata: { ...at("old"), labels: page.metadata.labels ?? {} },
    spec: page["spec"],
  });
  const queries = queriesWith([...leases, nowhere]);
  const options = { ...adoptedOptions, overcommit: plainSettings.overcommit };
  const told = await dryRunAdoption(
    { queries, provider: lease.provider, kube, options, clock },
    new AbortController().signal,
  );
  const won = { value: { id: over.workload.lease, state: "active" }, height: 10n, node: "test" };
  const later = await dryRunAdoption(
    {
      ...{ provider: lease.provider, kube, options, clock },
      queries: { ...queries, lease: async () => won as never },
    },
    new AbortController().signal,
  );
  assert.deepEqual(later.strays, [], "one that was won since is no stray");
  await kube.close();
  assert.deepEqual([...new Set(face.requests.map((each) => each.split(" ")[0]))], ["GET"]);
  const [one, none] = told.leases;
  assert.deepEqual(
    one?.kept.map(({ workload, replicas }) => [workload, replicas]),
    [
      ["deployments.apps page", 1],
      ["statefulsets.apps store", 1],
    ],
  );
  assert.ok(one?.unplaced.some((each) => each.startsWith("deployments.apps old: ")));
  assert.ok(one?.unplaced.includes("deployments.apps page: 0 of 1 replicas are on a node"));
  assert.deepEqual(
    one?.changes.find(({ object }) => object === "services page"),
    {
      ...{ does: "change", object: "services page" },
      fields: ["spec.ports", `metadata.labels.${versionLabel} (removed)`],
    },
  );
  assert.deepEqual(
    one?.changes.find(({ object }) => object.startsWith("namespaces "))?.fields,
    ["metadata.labels.pod-security.kubernetes.io/enforce", `metadata.labels.${versionLabel} (removed)`],
    "the server gives a namespace a label by itself",
  );
  assert.match(none?.unplaced[0] ?? "", /the cluster has nothing of it/);
  const name = leaseNamespace(over.workload.lease);
  assert.ok(told.strays.some((each) => each.startsWith(`namespace ${name}: lease `) && each.includes("left alone")));
  assert.ok(told.strays.some((each) => each.startsWith(`Manifest resource ${name}: `)));
});
