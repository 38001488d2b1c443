/** What becomes of a lease's workload, from its manifest to its end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { leaseRecheckMs } from "../../src/cluster/leases/lease-loop.ts";
import { leaseNamesListed } from "../../src/cluster/leases/lease-states.ts";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import type { ManifestService } from "../../src/market/manifest.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { memoryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import { type LeaseStage, type Life, leaseStage, shop } from "../support/stages/lease-keeper-stage.ts";
import { counts, quickTest } from "../support/thorough.ts";

const shopObjects = [
  "deployments page",
  "statefulsets store",
  "services page",
  "services store",
  "networkpolicies akash-deployment-restrictions",
];

/** A stage with a process and a lease that has been deployed. */
async function deployed(t: Owner, sdl = shop()) {
  const dir = memoryFolder(t as never);
  const stage = await leaseStage(t, { dir });
  const life = await stage.start();
  const lease = stage.won(1, sdl);
  await life.step(lease);
  await life.send(lease, sdl.manifest);
  await stage.until("deployed", () => life.state(lease) === "deployed");
  await stage.until("its pods", () => stage.pods(lease).length === 2);
  await settle(stage);
  return { stage, life, lease, dir };
}

/** Until nothing is under way any more. */
const settle = ({ clock }: LeaseStage) => clock.advance(10_000);

/** All but what Kubernetes makes by itself. */
function objectNames(stage: LeaseStage, lease: LeaseId): string[] {
  const names = [...stage.objects(lease).keys()];
  return names.filter((name) => !name.includes("claims") && name !== "serviceaccounts default");
}

const namespaceOf = ({ cluster }: LeaseStage, lease: LeaseId) =>
  cluster.server.get(kinds.namespace, { name: leaseNamespace(lease) });
const manifestOf = ({ cluster }: LeaseStage, lease: LeaseId) =>
  cluster.server.get(kinds.manifest, { namespace: "lease", name: leaseNamespace(lease) });
const lines = ({ journal }: Life, lease: LeaseId) =>
  journal.read.history.about(formatLeaseId(lease), 10).map(({ line }) => line);
const uids = (pods: readonly KubeObject[]) =>
  new Map(pods.map(({ metadata }) => [metadata.labels?.["akash.network/manifest-service"], metadata.uid]));

quickTest(
  "a lease with a manifest becomes a namespace with its workloads, and goes when the chain says that it is over",
  async (t) => {
    const stage = await leaseStage(t, { dir: memoryFolder(t) });
    const { cluster, until } = stage;
    const life = await stage.start();
    const lease = stage.won(1);
    await life.step(lease);
    await until("looked at", () => life.state(lease) === "waiting for manifest");
    assert.equal(namespaceOf(stage, lease), undefined);

    await life.send(lease, shop().manifest);
    await until("deployed", () => life.state(lease) === "deployed");
    assert.deepEqual(objectNames(stage, lease), shopObjects);
    await until("its pods", () => stage.pods(lease).length === 2);
    assert.ok(manifestOf(stage, lease));
    const hosts = [...cluster.server.list(kinds.providerHost, { namespace: "lease" })];
    assert.deepEqual(
      hosts.map(({ metadata }) => metadata.name),
      ["shop.example.com"],
    );

    stage.becomes(lease, "closed");
    await life.step(lease);
    await until("forgotten", () => life.state(lease) === undefined);
    assert.equal(namespaceOf(stage, lease), undefined);
    assert.equal(manifestOf(stage, lease), undefined);
    assert.equal([...cluster.server.list(kinds.providerHost, { namespace: "lease" })].length, 0);
    assert.equal(life.journal.read.manifests.get(formatLeaseId(lease)), undefined);
    const [end, beginning] = lines(life, lease);
    assert.match(end ?? "", /^torn down: closed on chain since height 9, by a reading at height 10$/);
    assert.match(beginning ?? "", /^deployed: manifest [0-9a-f]{64}$/);
  },
);

quickTest("a restart with nothing to do writes nothing and asks for nothing that grows with the leases", async (t) => {
  const dir = memoryFolder(t);
  const stage = await leaseStage(t, { dir });
  const first = await stage.start();
  const leases = [1, 2, 3].map((dseq) => stage.won(dseq));
  for (const lease of leases) {
    await first.step(lease);
    await first.send(
      lease,
      shop({ credentials: true, permissions: true, host: `shop-${lease.dseq}.example.com` }).manifest,
    );
  }
  await stage.until("deployed", () => leases.every((lease) => first.state(lease) === "deployed"));
  await settle(stage);
  await first.stop();
  const requestsOfStart = async (count: number) => {
    for (const lease of leases.slice(count)) {
      stage.becomes(lease, "closed");
    }
    const before = stage.cluster.counts.requests;
    const life = await stage.start();
    await stage.until("all looked at", () => leases.slice(0, count).every((lease) => life.state(lease) === "deployed"));
    await settle(stage);
    const { applied } = life.kube.counts;
    await life.stop();
    return { applied, requests: stage.cluster.counts.requests - before };
  };
  const three = await requestsOfStart(3);
  assert.equal(three.applied, 0);
  // The closed ones go in this run, and are not there any more in the next.
  await requestsOfStart(1);
  const one = await requestsOfStart(1);
  assert.deepEqual(one, three);
});

quickTest("at rest leases cost no requests: as many are made with six as with none", async (t) => {
  const whileAtRest = async (count: number) => {
    const stage = await leaseStage(t, { dir: memoryFolder(t) });
    const life = await stage.start();
    const leases = Array.from({ length: count }, (_, at) => stage.won(at + 1));
    for (const lease of leases) await life.send(lease, shop({ host: `shop-${lease.dseq}.example.com` }).manifest);
    await stage.until("deployed", () => leases.every((lease) => life.state(lease) === "deployed"));
    await stage.clock.advance(60_000);
    const before = life.kube.counts.requests;
    await stage.clock.advance(2 * leaseRecheckMs);
    return life.kube.counts.requests - before;
  };
  const [none, six] = [await whileAtRest(0), await whileAtRest(6)];
  // Every lease was looked at twice; a watch more or less is chance.
  assert.ok(Math.abs(six - none) < 10, `${six} requests with six leases, ${none} with none`);
});

quickTest("the update of one image rolls one service, and leaves the pod of the other alone", async (t) => {
  const { stage, life, lease } = await deployed(t);
  const before = uids(stage.pods(lease));
  await life.send(lease, shop({ page: "page:2" }).manifest);
  await stage.until("rolled", () => uids(stage.pods(lease)).get("page") !== before.get("page"));
  await settle(stage);
  const after = uids(stage.pods(lease));
  assert.equal(after.get("store"), before.get("store"));
  await stage.until("no third pod", () => stage.pods(lease).length === 2);
  assert.match(lines(life, lease)[0] ?? "", /^updated: manifest/);
});

quickTest("an update that the server rejects changes nothing at all, and says why", async (t) => {
  const { stage, life, lease } = await deployed(t);
  const before = versions(stage, lease);
  // The second service of the manifest cannot be: the first one is not updated either.
  const version = await life.send(lease, shop({ page: "page:2", broken: true }).manifest);
  await stage.until("refused", () => life.state(lease) === "refused");
  await settle(stage);
  assert.deepEqual(versions(stage, lease), before);
  const row = life.journal.read.manifests.get(formatLeaseId(lease));
  assert.equal(row?.version, version);
  assert.match(row?.refusal ?? "", /mountPath/);
  assert.notEqual(row?.deployed?.version, version);
  assert.match(life.why(lease), /mountPath/);
  assert.match(lines(life, lease)[0] ?? "", /^refused: manifest/);

  await life.stop();
  const next = await stage.start();
  await stage.until("refused still", () => next.state(lease) === "refused");
  await settle(stage);
  assert.deepEqual(versions(stage, lease), before, "nor after a restart");
  await next.send(lease, shop({ page: "page:3" }).manifest);
  await stage.until("deployed", () => next.state(lease) === "deployed");
});

quickTest("a first manifest that is rejected leaves nothing but its walls", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  const life = await stage.start();
  const lease = stage.won(1);
  await life.send(lease, shop({ broken: true }).manifest);
  await stage.until("refused", () => life.state(lease) === "refused");
  assert.deepEqual(objectNames(stage, lease), ["networkpolicies akash-deployment-restrictions"]);
  assert.equal(manifestOf(stage, lease), undefined);
});

quickTest("what a rejected first manifest left is taken away as soon as a cache that is late shows it", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  const life = await stage.start();
  const lease = stage.won(1);
  await stage.clock.advance(1_000);
  stage.cluster.faults.lagWatches(3_000);
  await life.send(lease, shop({ broken: true, permissions: true, credentials: true }).manifest);
  await stage.until("refused", () => life.state(lease) === "refused");
  assert.ok(objectNames(stage, lease).includes("deployments page"), "it was written before the store was refused");
  await settle(stage);
  assert.deepEqual(objectNames(stage, lease), ["networkpolicies akash-deployment-restrictions"]);
  assert.equal(manifestOf(stage, lease), undefined);
  assert.equal(stage.pods(lease).length, 0);
});

quickTest("what is rejected only when it is written goes back to what ran before", async (t) => {
  const dir = memoryFolder(t);
  const stage = await leaseStage(t, { dir });
  let refusing = false;
  // Past the trial, as by a webhook that looks away at dry runs.
  const plant = (kube: Kube): Kube => ({
    ...kube,
    apply(kind, desired, options) {
      const isRefused = refusing && kind === kinds.statefulSet && !options?.dryRun;
      const details = { verb: "apply", resource: "statefulsets.apps store", status: 422, reason: "not today" };
      if (isRefused && imageOf(desired) === "store:2") throw new ProviderError("AKP_KUBE_REFUSED", details);
      return kube.apply(kind, desired, options);
    },
  });
  const life = await stage.start({ plant });
  const lease = stage.won(1);
  await life.send(lease, shop().manifest);
  await stage.until("deployed", () => life.state(lease) === "deployed");
  await stage.until("its pods", () => stage.pods(lease).length === 2);
  const before = uids(stage.pods(lease));
  refusing = true;
  await life.send(lease, shop({ page: "page:2", store: "store:2" }).manifest);
  await stage.until("refused", () => life.state(lease) === "refused");
  await settle(stage);
  assert.match(life.why(lease), /not today/);
  assert.deepEqual(imagesOf(stage, lease).filter(Boolean), ["page:1", "store:1"]);
  assert.equal(uids(stage.pods(lease)).get("store"), before.get("store"));
});

quickTest("problem that passes is no rejection: the same manifest is brought as soon as it is over", async (t) => {
  const { stage, life, lease } = await deployed(t);
  stage.cluster.faults.reject({ status: 500, verb: "patch", times: 12 });
  stage.cluster.faults.forbid("patch", kinds.deployment);
  const version = await life.send(lease, shop({ page: "page:2" }).manifest);
  await stage.until("told", () => /forbids/.test(life.why(lease)));
  assert.equal(life.journal.read.manifests.get(formatLeaseId(lease))?.refusal, undefined);
  stage.cluster.faults.clear();
  await stage.until("deployed", () => life.state(lease) === "deployed", 300_000);
  assert.equal(life.journal.read.manifests.get(formatLeaseId(lease))?.deployed?.version, version);
});

quickTest(
  "what is no longer wanted is pruned: credentials, permissions, a renamed service, the other kind of workload",
  async (t) => {
    const { stage, life, lease } = await deployed(t, shop({ credentials: true, permissions: true }));
    assert.ok(objectNames(stage, lease).includes("secrets docker-creds-page"));
    assert.ok(objectNames(stage, lease).includes("roles page"));
    await life.send(lease, shop({ name: "front", persistent: false }).manifest);
    await stage.until("deployed", () => objectNames(stage, lease).includes("deployments store"));
    await settle(stage);
    assert.deepEqual(objectNames(stage, lease), [
      "deployments front",
      "deployments store",
      "services front",
      "services store",
      "networkpolicies akash-deployment-restrictions",
    ]);
    const claims = [...stage.objects(lease).keys()].filter((name) => name.includes("claims"));
    assert.equal(claims.length, 1, "the tenant's data stays");
  },
);

quickTest("policies that are switched off are removed, and come back when they are on again", async (t) => {
  const { stage, life, lease } = await deployed(t);
  await life.stop();
  const network = { enabled: false, admitted: [], closedRanges: [] };
  const open = await stage.start({ leases: { network } });
  const hasPolicy = () => objectNames(stage, lease).includes("networkpolicies akash-deployment-restrictions");
  await stage.until("gone", () => !hasPolicy());
  await open.stop();
  await stage.start();
  await stage.until("back", hasPolicy);
});

quickTest(
  "what somebody changed or deleted by hand is put back, and what somebody else made is left alone and told",
  async (t) => {
    const { stage, life, lease } = await deployed(t);
    const namespace = leaseNamespace(lease);
    const { server } = stage.cluster;
    const labels = { "akash.network": "true", "akash.network/namespace": namespace };
    server.create(kinds.secret, { metadata: { name: "theirs", namespace, labels }, data: {} }, "kubectl-create");
    for (const name of ["page", "store"]) server.delete(kinds.service, { namespace, name }, {});
    const page = server.get(kinds.deployment, { namespace, name: "page" });
    assert.ok(page);
    server.update(kinds.deployment, { ...page, spec: { ...(page["spec"] as object), replicas: 3 } }, "kubectl-edit");
    await stage.until("put back", () => shopObjects.every((name) => objectNames(stage, lease).includes(name)));
    await settle(stage);
    assert.equal(fieldsOf(stage.objects(lease).get("deployments page")?.["spec"])["replicas"], 1);
    assert.ok(objectNames(stage, lease).includes("secrets theirs"));
    assert.deepEqual(life.keeper.states.get(formatLeaseId(lease))?.foreign, ["secrets theirs"]);
  },
);

quickTest("a namespace that somebody deleted is made again, with all that was in it", async (t) => {
  const { stage, lease } = await deployed(t);
  const uid = namespaceOf(stage, lease)?.metadata.uid ?? "";
  stage.cluster.server.delete(kinds.namespace, { name: leaseNamespace(lease) }, { uid });
  await stage.until("another", () => {
    const now = namespaceOf(stage, lease)?.metadata.uid;
    return now !== undefined && now !== uid && shopObjects.every((name) => objectNames(stage, lease).includes(name));
  });
});

quickTest("a manifest that its owner took back leaves walls and volumes, and the next one runs again", async (t) => {
  const { stage, life, lease } = await deployed(t);
  await life.withdraw(lease);
  await stage.until("withdrawn", () => life.state(lease) === "withdrawn");
  assert.deepEqual(objectNames(stage, lease), ["networkpolicies akash-deployment-restrictions"]);
  assert.equal([...stage.objects(lease).keys()].filter((name) => name.includes("claims")).length, 1);
  assert.equal([...stage.cluster.server.list(kinds.providerHost, { namespace: "lease" })].length, 0);
  const { metadata, ...resource } = manifestOf(stage, lease) ?? { metadata: { name: "" } };
  assert.ok(metadata.annotations?.["akash.network/manifest.withdrawn-at"]);
  assert.deepEqual((resource["spec"] as { group: { services: unknown[] } }).group.services, []);
  // What ran before the withdrawal does not come back in place of one that is rejected.
  await life.send(lease, shop({ broken: true }).manifest);
  await stage.until("refused", () => life.state(lease) === "refused");
  assert.deepEqual(objectNames(stage, lease), ["networkpolicies akash-deployment-restrictions"]);
  await life.send(lease, shop().manifest);
  await stage.until("deployed", () => life.state(lease) === "deployed");
  assert.deepEqual(objectNames(stage, lease), shopObjects);
});

quickTest(
  "one that is taken back while it is on its way does not come back in place of one that is rejected",
  async (t) => {
    const stage = await leaseStage(t, { dir: memoryFolder(t) });
    const gate = Promise.withResolvers<void>();
    const plant = (kube: Kube): Kube => ({
      ...kube,
      async apply(kind, desired, options) {
        if (kind === kinds.service) await gate.promise;
        return kube.apply(kind, desired, options);
      },
    });
    const life = await stage.start({ plant });
    const lease = stage.won(1);
    await life.send(lease, shop().manifest);
    await stage.until("half there", () => objectNames(stage, lease).includes("deployments page"));
    await life.withdraw(lease);
    gate.resolve();
    await stage.until("withdrawn", () => life.state(lease) === "withdrawn");
    await life.send(lease, shop({ broken: true }).manifest);
    await stage.until("refused", () => life.state(lease) === "refused");
    await settle(stage);
    assert.deepEqual(objectNames(stage, lease), ["networkpolicies akash-deployment-restrictions"]);
  },
);

quickTest(
  "what the provider before us made goes too when its owner takes it back, and is not written twice",
  async (t) => {
    const { stage, life, lease } = await deployed(t);
    await life.stop();
    const dir = memoryFolder(t);
    const next = await stage.start({ dir });
    await restored(stage, next, lease, { version: "", services: (services) => services });
    await stage.until("taken over", () => next.state(lease) === "deployed");
    await next.withdraw(lease);
    await stage.until("withdrawn", () => next.state(lease) === "withdrawn");
    await settle(stage);
    assert.deepEqual(objectNames(stage, lease), ["networkpolicies akash-deployment-restrictions"]);
    assert.equal(stage.pods(lease).length, 0);
    await next.stop();
    const last = await stage.start({ dir });
    await stage.until("withdrawn still", () => last.state(lease) === "withdrawn");
    await settle(stage);
    assert.equal(last.kube.counts.applied, 0);
  },
);

quickTest("a lease whose manifest somebody has spoilt in the cluster is told of, and all others go on", async (t) => {
  const { stage, life, lease } = await deployed(t);
  await life.stop();
  const next = await stage.start({ dir: memoryFolder(t) });
  await restored(stage, next, lease, {
    version: "aa",
    services: (services) => services.map((service) => ({ ...service, name: "" })),
  });
  await stage.until("told", () => /an object has a name/.test(next.why(lease)));
  const other = stage.won(2);
  await next.send(other, shop({ host: "other.example.com" }).manifest);
  await stage.until("deployed", () => next.state(other) === "deployed");
});

/** As the manifest service finds it in the cluster where the journal is lost. */
async function restored(stage: LeaseStage, life: Life, lease: LeaseId, found: Found): Promise<void> {
  const { version, services } = found;
  const body = JSON.stringify(shop().manifest.map((group) => ({ ...group, services: services(group.services) })));
  const row = { leaseId: formatLeaseId(lease), version, body, deployed: { version, body } };
  const receivedAtMs = stage.clock.now();
  const written = life.journal.durable("found", ({ manifests }) => manifests.restore({ ...row, receivedAtMs }));
  await stage.clock.settle();
  await written;
  life.keeper.wake(row.leaseId);
}

interface Found {
  readonly version: string;
  readonly services: (services: readonly ManifestService[]) => readonly ManifestService[];
}

quickTest("of many names that another lease of its owner has, the first are told", async (t) => {
  const { manifest } = shop();
  const hosts = Array.from({ length: 50 }, (_, at) => `h${at}.example.com`);
  const named = manifest.map(({ services, ...group }) => ({
    ...group,
    services: services.map((service) => ({
      ...service,
      expose: service.expose.map((expose) => (expose.hosts ? { ...expose, hosts } : expose)),
    })),
  }));
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  const life = await stage.start();
  const [first, second] = [stage.won(1), stage.won(2)];
  for (const lease of [first, second]) {
    await life.send(lease, named);
    await stage.until("deployed", () => life.state(lease) === "deployed");
  }

  const { withheld = [] } = life.keeper.states.get(formatLeaseId(second)) ?? {};
  assert.equal(withheld.length, leaseNamesListed + 1);
  assert.equal(withheld.at(-1), `and ${50 - leaseNamesListed} more`);
});

quickTest("a lease that is being reclaimed runs on", async (t) => {
  const { stage, life, lease } = await deployed(t);
  stage.becomes(lease, "reclaiming");
  await life.step(lease);
  await life.send(lease, shop({ page: "page:2" }).manifest);
  await stage.until("updated", () => imagesOf(stage, lease).includes("page:2"));
});

function versions(stage: LeaseStage, lease: LeaseId): Map<string, string | undefined> {
  const all = [...stage.objects(lease), ["manifest", manifestOf(stage, lease)] as const];
  // A claim's and a workload's status may change by itself.
  return new Map(all.map(([name, object]) => [name, JSON.stringify(object?.["spec"] ?? object?.["data"])]));
}

function imagesOf(stage: LeaseStage, lease: LeaseId): (string | undefined)[] {
  return [...stage.objects(lease).values()].map(imageOf);
}

function imageOf(object: KubeObject): string | undefined {
  const spec = object["spec"] as { template?: { spec: { containers: { image: string }[] } } } | undefined;
  return spec?.template?.spec.containers[0]?.image;
}

test("a start with many leases knows within three seconds that all of them are as they should be", async (t) => {
  const stage = await leaseStage(t, { dir: memoryFolder(t) });
  const life = await stage.start();
  const leases = Array.from({ length: counts(12, 100, 500) }, (_, at) => stage.won(at + 1));
  for (const lease of leases) await life.send(lease, shop({ host: `shop-${lease.dseq}.example.com` }).manifest);
  await stage.until("deployed", () => leases.every((lease) => life.state(lease) === "deployed"), 600_000);
  await settle(stage);
  await life.stop();
  const [startedMs, before] = [performance.now(), stage.cluster.counts.requests];
  const next = await stage.start();
  await stage.until("known", () => leases.every((lease) => next.state(lease) === "deployed"), 3_000);
  const requests = stage.cluster.counts.requests - before;
  t.diagnostic(`${leases.length} leases in ${Math.round(performance.now() - startedMs)} ms, ${requests} requests`);
  assert.equal(next.kube.counts.applied, 0);
  assert.ok(requests < 60, "as many as there are kinds of objects, not leases");
});
