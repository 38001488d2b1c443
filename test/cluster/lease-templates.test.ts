/** Which pod template a running lease has: the one that it was deployed with, until its tenant or the operator changes that. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { idLabels, managedLabel, serviceLabels } from "../../src/kube/objects/lease-labels.ts";
import { madeForLabel, templateLabel } from "../../src/kube/objects/workload-object.ts";
import { noOvercommit } from "../../src/market/fit.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { memoryFolder } from "../support/folder.ts";
import { type LeaseStage, type Life, leaseStage, shop } from "../support/stages/lease-keeper-stage.ts";

const host = (at: number) => `shop-${at}.example.com`;

/** Leases that run, and the provider that deployed them, stopped. */
async function deployed(t: TestContext, count = 3) {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  const leases = Array.from({ length: count }, (_, at) => stage.won(at + 1, shop({ host: host(at) })));
  const life = await stage.start();
  for (const [at, lease] of leases.entries()) await life.send(lease, shop({ host: host(at) }).manifest);
  await stage.until("all run", () => leases.every((lease) => stage.pods(lease).length === 2));
  await life.stop();
  return { stage, leases };
}

function podsOf(stage: LeaseStage, leases: readonly LeaseId[]): string[] {
  return leases.flatMap((lease) => stage.pods(lease).map(({ metadata }) => `${metadata.uid}`)).sort();
}

function keptOf(life: Life, lease: LeaseId): readonly string[] {
  return life.keeper.states.get(formatLeaseId(lease))?.kept ?? [];
}

function templateOf(stage: LeaseStage, lease: LeaseId, text: string): { spec: Record<string, unknown> } {
  return fieldsOf(stage.objects(lease).get(text)?.["spec"])["template"] as { spec: Record<string, unknown> };
}

const changes: Readonly<Record<string, Parameters<LeaseStage["start"]>[0]>> = {
  nothing: {},
  "the public host name": { leases: { clusterPublicHostname: "provider.new.example" } },
  "the pull secret": { leases: { pullSecret: "mirror-creds" } },
  "the runtime class": { leases: { runtimeClass: "gvisor" } },
  "the overcommit of CPU": { overcommit: { ...noOvercommit, cpuPercent: 50 } },
};

for (const [what, change] of Object.entries(changes)) {
  test(`a restart with ${what} changed restarts no pod, and the leases that differ are listed`, async (t) => {
    const { stage, leases: all } = await deployed(t);
    const before = podsOf(stage, all);
    const life = await stage.start(change);
    await stage.clock.advance(60_000);
    assert.deepEqual(podsOf(stage, all), before);
    const differing = what === "nothing" ? [] : ["page", "store"];
    for (const lease of all) assert.deepEqual([...keptOf(life, lease)].sort(), differing);
  });
}

test("a tenant's change brings the new settings to that service alone", async (t) => {
  const { stage, leases } = await deployed(t, 1);
  const [lease] = leases as [LeaseId];
  const pullSecret = "mirror-creds";
  const store = templateOf(stage, lease, "statefulsets store");
  const life = await stage.start({ leases: { pullSecret } });
  await life.send(lease, shop({ host: host(0), page: "page:2" }).manifest);
  await stage.until("rolled", () => keptOf(life, lease).length === 1);
  assert.deepEqual(keptOf(life, lease), ["store"]);
  assert.deepEqual(templateOf(stage, lease, "deployments page").spec["imagePullSecrets"], [{ name: pullSecret }]);
  assert.deepEqual(templateOf(stage, lease, "statefulsets store"), store);
});

test("a service that differs from the settings is scaled in place", async (t) => {
  const { stage, leases } = await deployed(t, 1);
  const [lease] = leases as [LeaseId];
  const before = podsOf(stage, leases);
  const life = await stage.start({ leases: { pullSecret: "mirror-creds" } });
  await life.send(lease, shop({ host: host(0), stores: 3 }).manifest);
  await stage.until("scaled", () => stage.pods(lease).length === 4);
  const after = podsOf(stage, leases);
  assert.deepEqual(
    before.filter((uid) => !after.includes(uid)),
    [],
  );
});

test("a workload that differs from the settings and is deleted comes back with them", async (t) => {
  const { stage, leases } = await deployed(t, 1);
  const [lease] = leases as [LeaseId];
  const life = await stage.start({ leases: { pullSecret: "mirror-creds" } });
  await stage.clock.advance(1_000);
  await stage.observer.delete(kinds.deployment, { namespace: leaseNamespace(lease), name: "page" });
  await stage.until("made again", () => keptOf(life, lease).join() === "store" && stage.pods(lease).length === 2);
  assert.deepEqual(templateOf(stage, lease, "deployments page").spec["imagePullSecrets"], [{ name: "mirror-creds" }]);
});

test("a refresh brings our newest pod template to all services of one lease", async (t) => {
  const { stage, leases } = await deployed(t, 2);
  const [lease, other] = leases as [LeaseId, LeaseId];
  const before = podsOf(stage, [other]);
  const life = await stage.start({ leases: { pullSecret: "mirror-creds" } });
  await stage.until("known", () => leases.every((each) => keptOf(life, each).length === 2));
  const refreshed = life.keeper.refresh(formatLeaseId(lease), new AbortController().signal);
  await Promise.all([refreshed, stage.until("rolled", () => keptOf(life, lease).length === 0)]);
  await stage.until("both run", () => stage.pods(lease).length === 2);
  for (const text of ["deployments page", "statefulsets store"]) {
    assert.deepEqual(templateOf(stage, lease, text).spec["imagePullSecrets"], [{ name: "mirror-creds" }]);
  }
  assert.deepEqual(podsOf(stage, [other]), before);
});

test("a refresh that the API server rejects says why and changes nothing", async (t) => {
  const { stage, leases } = await deployed(t, 1);
  const [lease] = leases as [LeaseId];
  const before = podsOf(stage, leases);
  const life = await stage.start({ leases: { runtimeClass: "A_b" } });
  await stage.until("known", () => keptOf(life, lease).length === 2);
  const refreshed = assert.rejects(
    life.keeper.refresh(formatLeaseId(lease), new AbortController().signal),
    /runtimeClassName/,
  );
  await Promise.all([refreshed, stage.clock.advance(60_000)]);
  assert.deepEqual(podsOf(stage, leases), before);
  assert.equal(life.state(lease), "deployed");
});

test("a refresh of a lease that ends meanwhile ends with it", async (t) => {
  const { stage, leases } = await deployed(t, 1);
  const [lease] = leases as [LeaseId];
  const life = await stage.start({ leases: { pullSecret: "mirror-creds" } });
  await stage.until("known", () => keptOf(life, lease).length === 2);
  stage.cluster.faults.reject({ status: 500, verb: "patch", times: 2 });
  const refreshed = assert.rejects(life.keeper.refresh(formatLeaseId(lease), new AbortController().signal), {
    code: "AKP_LEASE_OVER",
  });
  stage.becomes(lease, "closed");
  await life.step(lease);
  await Promise.race([refreshed, stage.clock.advance(600_000).then(() => assert.fail("it still waits"))]);
});

/** As version 4efda58 wrote them: an account for every service, and no note of what a workload was made of. */
async function madeBefore(stage: LeaseStage, lease: LeaseId): Promise<void> {
  const kube = stage.cluster.connect("akash-provider");
  const namespace = leaseNamespace(lease);
  for (const [kind, name] of [[kinds.deployment, "page"] as const, [kinds.statefulSet, "store"] as const]) {
    const live = stage.objects(lease).get(`${kind.plural} ${name}`);
    assert.ok(live);
    const { labels: { [madeForLabel]: _, [templateLabel]: __, ...labels } = {} } = live.metadata;
    await kube.apply(kinds.serviceAccount, {
      metadata: { name, namespace, labels: { ...serviceLabels(lease, name), ...idLabels(lease) } },
    });
    const metadata = { name, namespace, labels };
    await kube.apply(kind, { metadata, spec: withAccount(live["spec"] as Spec, name) }, { force: true });
  }
  await stage.clock.advance(30_000);
  await kube.close();
}

type Spec = Record<string, unknown> & { template: { spec: Record<string, unknown> } };

function withAccount({ template, ...spec }: Spec, serviceAccountName: string): object {
  const { serviceAccount: _, ...pod } = template.spec;
  return { ...spec, template: { ...template, spec: { ...pod, serviceAccountName } } };
}

const accountsOf = (stage: LeaseStage, lease: LeaseId) =>
  [...stage.objects(lease)].filter(([text]) => /^serviceaccounts (?!default)/.test(text)).map(([, object]) => object);

test("leases of a version that gave every service an account keep pods and accounts, which the Go provider no longer finds", async (t) => {
  const { stage, leases } = await deployed(t, 1);
  const [lease] = leases as [LeaseId];
  await madeBefore(stage, lease);
  const before = podsOf(stage, leases);
  const texts = ["deployments page", "statefulsets store"];
  const templates = texts.map((text) => templateOf(stage, lease, text));
  const life = await stage.start();
  await stage.clock.advance(60_000);
  assert.deepEqual(podsOf(stage, leases), before);
  assert.deepEqual(
    texts.map((text) => templateOf(stage, lease, text)),
    templates,
  );
  assert.deepEqual([...keptOf(life, lease)].sort(), ["page", "store"]);
  const accounts = accountsOf(stage, lease);
  assert.deepEqual(
    accounts.map(({ metadata }) => metadata.name),
    ["page", "store"],
  );
  for (const { metadata } of accounts) assert.equal(metadata.labels?.[managedLabel], undefined);

  await life.stop();
  const second = await stage.start();
  const applied = () => second.kube.counts.applied;
  await stage.clock.advance(60_000);
  assert.equal(applied(), 0, "a restart writes");
  await second.send(lease, shop({ host: host(0), page: "page:2" }).manifest);
  await stage.until("the account goes with the last pod", () => accountsOf(stage, lease).length === 1);
  assert.equal(templateOf(stage, lease, texts[0] ?? "").spec["serviceAccountName"], "default");
  assert.deepEqual(templateOf(stage, lease, texts[1] ?? ""), templates[1]);
});

test("an account that a pod runs as and that is gone is made again", async (t) => {
  const { stage, leases } = await deployed(t, 1);
  const [lease] = leases as [LeaseId];
  await madeBefore(stage, lease);
  await stage.observer.delete(kinds.serviceAccount, { namespace: leaseNamespace(lease), name: "page" });
  await stage.start();
  await stage.until("made again", () => accountsOf(stage, lease).length === 2);
});

test("a permission that is taken away leaves the account until the last pod that runs as it is replaced", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  const lease = stage.won(1);
  const life = await stage.start();
  await life.send(lease, shop({ permissions: true }).manifest);
  await stage.until("runs", () => stage.pods(lease).length === 2);
  const namespace = leaseNamespace(lease);
  const leftWhenGone: unknown[] = [];
  stage.cluster.server.subscribe(({ type, kind }) => {
    if (type !== "deleted" || kind !== kinds.serviceAccount) return;
    const living = stage.cluster.server.list(kinds.pod, { namespace }).filter((pod) => !pod.metadata.deletionTimestamp);
    leftWhenGone.push(living.map((pod) => fieldsOf(pod["spec"])["serviceAccountName"]));
  });
  await life.send(lease, shop().manifest);
  await stage.until("the account is gone", () => accountsOf(stage, lease).length === 0);
  assert.deepEqual(leftWhenGone, [["default", "default"]]);
  await stage.until("both run", () => stage.pods(lease).length === 2);
});
