/** A lease's workload goes by proof alone, and always goes in the end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createClusterSide } from "../../src/cluster/cluster-parts.ts";
import { leaseConditions } from "../../src/cluster/conditions.ts";
import { leaseDefaults } from "../../src/cluster/leases/lease-options.ts";
import { createTenantLeases } from "../../src/cluster/leases/tenant-leases.ts";
import { kubeStaleMs } from "../../src/kube/client/list-watch.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { readSdl, type Sdl } from "../../src/market/sdl/sdl.ts";
import { memoryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import {
  defineCustomResources,
  type LeaseStage,
  type Life,
  leaseStage,
  shop,
} from "../support/stages/lease-keeper-stage.ts";
import { person } from "../support/stages/market-stage.ts";
import { chainOf } from "../support/stages/reservation-stage.ts";

function sdlOf(expose: readonly object[], endpoints: object = {}): Sdl {
  const resources = { cpu: { units: "100m" }, memory: { size: "64Mi" }, storage: [{ size: "64Mi" }] };
  const sdl = {
    ...{ version: "2.1", endpoints, services: { page: { image: "page:1", expose } } },
    profiles: {
      compute: { small: { resources } },
      placement: { box: { pricing: { small: { denom: "uact", amount: 10_000 } } } },
    },
    deployment: { page: { box: { profile: "small", count: 1 } } },
  };
  return readSdl(JSON.stringify(sdl));
}

/** Two host names and a leased address. */
const site = sdlOf(
  [
    { port: 80, accept: ["a.example.com", "b.example.com"], to: [{ global: true }] },
    { port: 81, to: [{ global: true, ip: "blue" }] },
  ],
  { blue: { kind: "ip" } },
);
/** Without host names and addresses. */
const silent = sdlOf([{ port: 81, to: [{ global: true }] }]);

async function deployed(t: Owner, sdl = shop()) {
  const dir = memoryFolder(t as never);
  const stage = await leaseStage(t, { dir });
  const life = await stage.start();
  const lease = stage.won(1, sdl);
  await life.send(lease, sdl.manifest);
  await stage.until("deployed", () => life.state(lease) === "deployed");
  await stage.until("its pods", () => stage.pods(lease).length === sdl.manifest[0]?.services.length);
  await stage.clock.advance(10_000);
  return { stage, life, lease, dir };
}

const namespaceOf = ({ cluster }: LeaseStage, lease: LeaseId) =>
  cluster.server.get(kinds.namespace, { name: leaseNamespace(lease) });

/** What belongs to leases, anywhere. */
function leftOvers({ cluster }: LeaseStage): string[] {
  const all = [kinds.namespace, kinds.manifest, kinds.providerHost, kinds.pod, kinds.persistentVolumeClaim];
  const labelSelector = "akash.network=true";
  return all.flatMap((kind) => cluster.server.list(kind, { labelSelector }).map(({ metadata }) => metadata.name));
}

test("a lease closed while we were down is torn down within a minute of the start", async (t) => {
  const { stage, life, lease } = await deployed(t);
  await life.stop();
  stage.becomes(lease, "closed");
  stage.forgotten(lease);
  const next = await stage.start();
  await stage.until("gone", () => leftOvers(stage).length === 0, 60_000);
  await stage.until("forgotten", () => next.journal.read.manifests.leaseIds().length === 0);
});

test("so is one whose journal is lost too", async (t) => {
  const { stage, life, lease } = await deployed(t);
  await life.stop();
  stage.becomes(lease, "insufficient_funds");
  stage.forgotten(lease);
  await stage.start({ dir: memoryFolder(t) });
  await stage.until("gone", () => leftOvers(stage).length === 0, 60_000);
});

test("while the chain does not answer nothing is touched, and that is said with the name of the namespace", async (t) => {
  const { stage, life, lease } = await deployed(t);
  stage.becomes(lease, "closed");
  stage.chainAnswers = false;
  await life.step(lease);
  await stage.until("frozen", () => life.state(lease) === "frozen");
  await stage.clock.advance(600_000);
  assert.equal(stage.pods(lease).length, 2);
  const [condition] = leaseConditions(life.keeper);
  assert.equal(condition?.type, "LeaseFrozen");
  assert.match(condition?.message ?? "", new RegExp(`${leaseNamespace(lease)} is left alone: .*does not answer`));
  stage.chainAnswers = true;
  await stage.until("gone", () => leftOvers(stage).length === 0, 600_000);
});

test("a lease that the chain does not know is never torn down", async (t) => {
  const { stage, life, lease } = await deployed(t);
  await life.stop();
  stage.becomes(lease, undefined);
  const next = await stage.start();
  await stage.until("frozen", () => next.state(lease) === "frozen");
  await stage.clock.advance(900_000);
  assert.equal(stage.pods(lease).length, 2);
  assert.match(next.why(lease), /the chain has no such lease at height 10: namespace [0-9a-v]{45} is left alone/);
});

test("a lease that the mirror does not have yet and the chain does is left to run", async (t) => {
  const { stage, life, lease } = await deployed(t);
  await life.stop();
  stage.forgotten(lease);
  await stage.start();
  await stage.clock.advance(600_000);
  assert.equal(stage.pods(lease).length, 2);
});

test("a finalizer that holds the namespace is reported with its name and age, and the rest waits for its end", async (t) => {
  const { stage, life, lease } = await deployed(t);
  const { server } = stage.cluster;
  const at = { namespace: leaseNamespace(lease), name: "held" };
  const held = { metadata: { ...at, finalizers: ["example.com/slow"] } };
  server.create(kinds.configMap, held, "somebody");
  stage.becomes(lease, "closed");
  await life.step(lease);
  await stage.until("told", () => /held for \d+ s: .*example.com\/slow/.test(life.why(lease)), 300_000);
  assert.deepEqual(
    leaseConditions(life.keeper).map(({ type }) => type),
    ["LeaseHeld"],
  );
  assert.ok(server.get(kinds.manifest, { namespace: "lease", name: at.namespace }), "the record goes last");
  assert.ok(life.journal.read.manifests.get(formatLeaseId(lease)));
  server.update(kinds.configMap, { metadata: at }, "somebody");
  await stage.until("gone", () => leftOvers(stage).length === 0);
});

for (const [verb, status] of [
  ["delete", 403],
  ["delete", 500],
  ["list", 403],
] as const) {
  test(`workload and addresses go while host names fail with ${status} on ${verb}, and these go later`, async (t) => {
    const { stage, life, lease } = await deployed(t, site);
    const declared = (kind: Kind) => stage.cluster.server.list(kind).length;
    assert.deepEqual([declared(kinds.providerHost), declared(kinds.providerLeasedIp)], [2, 1]);
    stage.cluster.faults.reject({ status, verb, kind: kinds.providerHost, times: Number.POSITIVE_INFINITY });
    stage.becomes(lease, "closed");
    await life.step(lease);
    await stage.until("the workload is gone", () => namespaceOf(stage, lease) === undefined, 120_000);
    assert.deepEqual([declared(kinds.providerHost), declared(kinds.providerLeasedIp)], [2, 0]);
    await stage.until("the reason", () => /providerhosts/.test(life.why(lease)), 120_000);
    assert.ok(life.journal.read.manifests.get(formatLeaseId(lease)), "it is not over yet");
    stage.cluster.faults.clear();
    await stage.until("gone", () => leftOvers(stage).length === 0, 3_600_000);
    await stage.until("forgotten", () => life.journal.read.manifests.leaseIds().length === 0);
  });
}

test("host names that could not be deleted at first go while something holds the namespace", async (t) => {
  const { stage, life, lease } = await deployed(t);
  const { server } = stage.cluster;
  const held = { name: "held", namespace: leaseNamespace(lease), finalizers: ["example.com/slow"] };
  server.create(kinds.configMap, { metadata: held }, "somebody");
  stage.cluster.faults.reject({ status: 500, verb: "delete", kind: kinds.providerHost, times: 4 });
  stage.becomes(lease, "closed");
  await life.step(lease);
  await stage.until("its names are gone", () => server.list(kinds.providerHost).length === 0, 600_000);
  assert.ok(namespaceOf(stage, lease)?.metadata.deletionTimestamp !== undefined);
});

test("a kind that cannot be listed stops neither teardown nor leases that do not use it", async (t) => {
  const { stage, life, lease } = await deployed(t);
  await life.stop();
  const closed = stage.won(2, silent);
  for (const kind of [kinds.providerHost, kinds.roleBinding])
    stage.cluster.faults.reject({ status: 403, verb: "list", kind, times: Number.POSITIVE_INFINITY });
  stage.becomes(lease, "closed");
  const next = await stage.start();
  await stage.until("the workload is gone", () => namespaceOf(stage, lease) === undefined, 120_000);
  stage.cluster.faults.clear();
  await stage.until("the names are gone", () => leftOvers(stage).length === 0, 3_600_000);
  stage.cluster.faults.reject({ status: 403, verb: "list", kind: kinds.providerHost, times: Number.POSITIVE_INFINITY });
  await next.stop();
  const last = await stage.start();
  await last.send(closed, silent.manifest);
  await stage.until("deployed", () => last.state(closed) === "deployed", 120_000);
  const named = stage.won(3);
  await last.send(named, shop().manifest);
  await stage.until("unknown", () => last.state(named) === "unknown", 120_000);
  assert.match(last.why(named), /providerhosts/);
  stage.cluster.faults.clear();
  await stage.until("deployed too", () => last.state(named) === "deployed", 600_000);
});

for (const [kind, named, plain] of [
  [kinds.manifest, "unknown", "unknown"],
  [kinds.providerHost, "unknown", "deployed"],
  [kinds.providerLeasedIp, "deployed", "deployed"],
  [kinds.statefulSet, "unknown", "deployed"],
  [kinds.roleBinding, "deployed", "deployed"],
  [kinds.secret, "deployed", "deployed"],
] as const) {
  test(`while ${kind.plural} cannot be listed, leases that do not use them run, take manifests and end`, async (t) => {
    const { stage, life, lease: ended } = await deployed(t);
    const [withNames, without] = [shop({ host: "b.example.com" }), silent];
    const leases = [stage.won(2, withNames), stage.won(3, without)] as const;
    for (const [at, sdl] of [withNames, without].entries()) await life.send(leases[at] ?? ended, sdl.manifest);
    await stage.until("deployed", () => leases.every((each) => life.state(each) === "deployed"));
    await stage.clock.advance(10_000);
    await life.stop();
    stage.cluster.faults.reject({ status: 403, verb: "list", kind, times: Number.POSITIVE_INFINITY });
    stage.becomes(ended, "closed");
    const next = await stage.start({ monitor: leaseDefaults.monitor });
    await stage.until("its workload is gone", () => namespaceOf(stage, ended) === undefined, 120_000);
    await stage.clock.advance(60_000);
    const states = [named, plain];
    assert.deepEqual(leases.map(next.state), states);
    const healths = leases.map((each) => next.health?.get(formatLeaseId(each))?.state);
    assert.deepEqual(
      healths,
      states.map((state) => (state === "deployed" ? "healthy" : "unknown")),
    );
    const tenants = tenantLeasesOf(stage, next);
    const side = createClusterSide(next.keeper);
    for (const [at, each] of leases.entries()) {
      if (states[at] !== "deployed") {
        assert.throws(() => tenants.find(each), { code: "AKP_CLUSTER_UNKNOWN" });
        continue;
      }
      assert.equal(tenants.find(each).state, "running");
      assert.equal((await side.recorded(each))?.version, next.journal.read.manifests.get(formatLeaseId(each))?.version);
      assert.equal(side.hostRejection([], each.owner), undefined);
    }
    stage.cluster.faults.clear();
    await stage.until("all deployed", () => leases.every((each) => next.state(each) === "deployed"), 600_000);
  });
}

function tenantLeasesOf({ world, clock }: LeaseStage, { keeper, health }: Life) {
  assert.ok(health);
  const about = { leasesAddresses: true, staticHosts: leaseDefaults.hosts, publicHost: "", clock };
  return createTenantLeases({
    ...{ chain: chainOf(world).chain, leases: keeper, health: health.view },
    ...{ ...about, hostHealth: () => undefined },
  });
}

test("a cache that becomes old makes the leases that use its kind unknown, and no others", async (t) => {
  const { stage, life, lease } = await deployed(t);
  const plain = stage.won(2, silent);
  await life.send(plain, silent.manifest);
  await stage.until("deployed", () => life.state(plain) === "deployed");
  for (const kind of [kinds.role, kinds.statefulSet])
    stage.cluster.faults.reject({ status: 403, kind, times: Number.POSITIVE_INFINITY });
  stage.cluster.faults.cutWatches();
  await stage.until("unknown", () => life.state(lease) === "unknown", kubeStaleMs + 60_000);
  await stage.clock.advance(10_000);
  assert.equal(life.state(plain), "deployed");
});

test("a namespace that replaced the intended one is judged anew", async (t) => {
  const { stage, life, lease } = await deployed(t);
  const { server } = stage.cluster;
  // Watches lag, so that what is deleted and made again behind our back is not seen.
  const { uid = "", labels = {} } = namespaceOf(stage, lease)?.metadata ?? {};
  stage.cluster.faults.lagWatches(20_000);
  server.delete(kinds.namespace, { name: leaseNamespace(lease) }, { uid });
  await stage.until("gone", () => namespaceOf(stage, lease) === undefined);
  server.create(kinds.namespace, { metadata: { name: leaseNamespace(lease), labels } }, "somebody");
  stage.becomes(lease, "closed");
  await life.step(lease);
  await stage.until("gone again", () => leftOvers(stage).length === 0, 300_000);
  await stage.clock.advance(120_000);
  const lines = life.journal.read.history.about(formatLeaseId(lease), 10).map(({ line }) => line.split(":")[0]);
  assert.deepEqual(lines, ["torn down", "deployed"], "told once, however late the caches are");
});

test("what another provider of the same cluster has is not touched, whatever the chain says of it", async (t) => {
  const { stage } = await deployed(t);
  const { server } = stage.cluster;
  const theirs = { ...stage.won(2), provider: person(12) };
  const name = leaseNamespace(theirs);
  const labels = {
    "akash.network": "true",
    "akash.network/lease.id.owner": theirs.owner,
    "akash.network/lease.id.dseq": "2",
    "akash.network/lease.id.gseq": "1",
    "akash.network/lease.id.oseq": "1",
    "akash.network/lease.id.provider": theirs.provider,
  };
  server.create(kinds.namespace, { metadata: { name, labels } }, "provider-services");
  stage.becomes(theirs, "closed");
  await stage.clock.advance(60_000);
  assert.ok(server.get(kinds.namespace, { name }));
  assert.equal(server.get(kinds.namespace, { name })?.metadata.deletionTimestamp, undefined);
});

test("while the cluster cannot be followed nothing is judged; afterwards what was missed is made up for", async (t) => {
  const { stage, life, lease } = await deployed(t);
  stage.cluster.faults.reject({ status: 503, times: 1_000_000 });
  stage.cluster.faults.cutWatches();
  await stage.until("unknown", () => life.keeper.error !== undefined, kubeStaleMs + 60_000);
  stage.becomes(lease, "closed");
  await life.step(lease);
  await stage.clock.advance(300_000);
  assert.equal(life.state(lease), "unknown");
  assert.deepEqual(
    leaseConditions(life.keeper).map(({ type }) => type),
    ["ClusterUnknown"],
  );
  stage.cluster.faults.clear();
  await stage.until("gone", () => leftOvers(stage).length === 0, 300_000);
});

test("without the custom resource definitions leases wait, with what to do about it; once there, they are deployed", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t), definitions: false });
  const life = await stage.start();
  const lease = stage.won(1);
  await life.send(lease, shop().manifest);
  await stage.until("told", () => /run `akash-provider install crds`/.test(life.why(lease)));
  assert.match(leaseConditions(life.keeper)[0]?.message ?? "", /install crds/);
  assert.equal(namespaceOf(stage, lease), undefined);
  const side = createClusterSide(life.keeper);
  await assert.rejects(side.recorded(lease), { code: "AKP_CLUSTER_UNKNOWN" }, "nothing known is no answer");
  assert.throws(() => side.hostRejection(["a.example.com"], lease.owner), { code: "AKP_CLUSTER_UNKNOWN" });
  defineCustomResources(stage.cluster);
  await stage.until("deployed", () => life.state(lease) === "deployed", 600_000);
  assert.equal((await side.recorded(lease))?.version, life.journal.read.manifests.get(formatLeaseId(lease))?.version);
  assert.equal(await side.recorded({ ...lease, dseq: 99n }), undefined);
  assert.match(side.hostRejection(["shop.example.com"], person(2)) ?? "", /in use/);
});

test("what runs is not touched while the journal knows less of it than the cluster", async (t) => {
  const { stage, life, lease, dir } = await deployed(t);
  const old = life.journal.read.manifests.get(formatLeaseId(lease));
  assert.ok(old);
  await life.send(lease, shop({ page: "page:2" }).manifest);
  const hasNew = () => stage.pods(lease).some((pod) => JSON.stringify(pod["spec"]).includes("page:2"));
  await stage.until("updated", () => hasNew() && stage.pods(lease).length === 2);
  await stage.clock.advance(10_000);
  await life.stop();
  const before = stage.pods(lease).map(({ metadata }) => metadata.uid);
  for (const row of [undefined, old]) {
    const next = await stage.start({ dir: row ? dir : memoryFolder(t) });
    if (row) {
      const restored = next.journal.durable("as it was a week ago", ({ manifests }) => manifests.restore(row));
      await stage.clock.settle();
      await restored;
      next.keeper.wake(formatLeaseId(lease));
    }
    await stage.clock.advance(300_000);
    assert.deepEqual(
      stage.pods(lease).map(({ metadata }) => metadata.uid),
      before,
    );
    assert.equal(next.kube.counts.applied, 0);
    assert.match(next.why(lease), row ? /not in the journal yet/ : /not in the journal yet/);
    await next.stop();
  }
});
