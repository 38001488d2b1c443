/** What one lease, or one loss, must not take from another: addresses, ports and their ends. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { idLabels } from "../../src/kube/objects/lease-labels.ts";
import { leasedIp, leasedIpName } from "../../src/kube/objects/leased-ip.ts";
import { metalLbNamespace } from "../../src/kube/objects/metallb.ts";
import { namesFor } from "../../src/operators/ip/objects.ts";
import { addressUsageMs } from "../../src/operators/ip/operator.ts";
import { declarationOf, type IpStage, leaseOf, manifestNamespace, openIpStage } from "../support/stages/ip-stage.ts";

const [ann, annToo, ben, cai] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 3), leaseOf(3, 4)];
const hour = 3_600_000;

function losePools(stage: IpStage, most = Number.POSITIVE_INFINITY): void {
  for (const kind of [kinds.ipAddressPool, kinds.l2Advertisement]) {
    const own = stage.cluster.server.list(kind).filter(({ metadata: { name } }) => name.startsWith("akash-ip-"));
    for (const { metadata } of own.slice(0, most))
      stage.cluster.server.delete(kind, { namespace: metalLbNamespace, name: metadata.name });
  }
}

/** Edited by hand, under the name that it has. */
function edit(stage: IpStage, changed: Readonly<Record<string, unknown>>): void {
  const at = { namespace: manifestNamespace, name: leasedIpName(declarationOf(ann)) };
  const live = stage.cluster.server.get(kinds.providerLeasedIp, at);
  assert.ok(live);
  const spec = { ...fieldsOf(live["spec"]), ...changed };
  stage.cluster.server.update(kinds.providerLeasedIp, { ...live, spec }, "admin");
}

test("services of a tenant that are called as the operator's would be are never written, however many there are", async (t) => {
  const stage = await openIpStage(t);
  const declaration = declarationOf(ann, { service: "p".repeat(56) });
  const namespace = stage.namespaceOf(ann);
  const names = [...namesFor({ ...declaration, resource: "", namespace, changedAtMs: 0 }).take(6)];
  for (const name of names) {
    const labels = { ...idLabels(ann), "akash.network/manifest-service": name };
    const object = { metadata: { name, namespace, labels }, spec: { ports: [{ port: 7_000, targetPort: 7_000 }] } };
    stage.cluster.server.apply(kinds.service, object, { manager: "akash-provider", force: true });
  }
  const versions = () =>
    names.map((name) => stage.cluster.server.get(kinds.service, { namespace, name })?.metadata.resourceVersion);
  const before = versions();
  stage.declare(ann, { service: "p".repeat(56) });
  await stage.settled(hour);
  assert.deepEqual(versions(), before);
  assert.equal(stage.services().length, 1);
  assert.match(stage.shown()[0] ?? "", /at 172\.30\.0\.200$/);
});

test("a lost pool of a full range is restored before waiting keys get an address", async (t) => {
  const stage = await openIpStage(t, { pool: "", ranges: ["10.9.0.0/31"] });
  for (const lease of [ann, ben, cai]) {
    stage.declare(lease);
    await stage.settled();
  }
  const before = stage.shown();
  losePools(stage, 1);
  await stage.settled(hour);
  assert.deepEqual(stage.shown(), before);
  await stage.life.stop();
  losePools(stage, 1);
  await stage.restart();
  await stage.settled(hour);
  assert.deepEqual(stage.shown(), before);
});

for (const isAway of [true, false]) {
  test(`when all pools of the range are lost while ${isAway ? "the operator" : "MetalLB"} is away, each has its address again and newcomers another`, async (t) => {
    const stage = await openIpStage(t, { pool: "172.30.0.200/30", ranges: ["10.9.0.0/28"] });
    for (const lease of [ben, cai]) {
      stage.declare(lease);
      await stage.settled();
    }
    const before = stage.shown();
    if (isAway) await stage.life.stop();
    else await stage.removeMetalLb();
    losePools(stage);
    stage.declare(ann);
    await stage.clock.advance(10_000);
    if (isAway) await stage.restart();
    else stage.bringMetalLb();
    await stage.settled(hour);
    assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 10.9.0.2", ...before]);
  });
}

test("nothing of a range is free while MetalLB is away or has another pool with its addresses", async (t) => {
  const ranges = ["10.9.0.0/30"];
  const away = await openIpStage(t, { metalLb: false, ranges });
  const overlapping = await openIpStage(t, { pool: "10.9.0.0/29", ranges });
  for (const stage of [away, overlapping]) {
    stage.declare(ann);
    await stage.settled(2 * addressUsageMs);
    const { total, inUse, free } = stage.operator.usage;
    assert.deepEqual([total, inUse, free], [0n, 0n, 0n]);
  }
  away.bringMetalLb();
  await away.settled(2 * addressUsageMs);
  assert.deepEqual(away.operator.usage.free, 3n);
});

test("a port that cannot be written does not keep a withdrawn port, and only its lease is listed", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  stage.declare(ann, { externalPort: 82 });
  await stage.settled();
  // Its namespace is not there.
  const { object } = leasedIp(declarationOf(annToo, { externalPort: 81 }), { manifestNamespace });
  stage.cluster.server.create(kinds.providerLeasedIp, object, "provider");
  await stage.settled();
  stage.withdraw(ann);
  await stage.settled();
  assert.deepEqual(stage.shown(), ["blue TCP 82 → web:8080 of 1 at 172.30.0.200"]);
  await stage.settled(60_000);
  const listed = Object.keys(stage.operator.ignored.view() ?? {});
  assert.deepEqual([listed.length, listed[0]?.split("/")[1]], [1, "2"]);
  // Held for the other port for a while, and not for ever.
  stage.withdraw(ann, { externalPort: 82 });
  await stage.settled(60_000);
  assert.equal(stage.shown().length, 1);
  await stage.settled(hour);
  assert.deepEqual([stage.shown(), stage.operator.usage.inUse], [[], 0n]);
});

test("a resource that is edited in place leaves neither its old port served nor its old address in use", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  await stage.settled();
  edit(stage, { external_port: 81 });
  await stage.settled(hour);
  assert.deepEqual(stage.shown(), ["blue TCP 81 → web:8080 of 1 at 172.30.0.200"]);
  edit(stage, { sharing_key: `${ann.owner}-ip-green` });
  await stage.settled(hour);
  assert.deepEqual([stage.shown().length, stage.operator.usage.inUse], [1, 1n]);
});

test("a closed lease, or one of another leader, leaves the ignore list", async (t) => {
  const stage = await openIpStage(t, { pool: "172.30.0.200/32" });
  stage.declare(ann);
  await stage.settled();
  stage.declare(ben);
  await stage.settled(60_000);
  assert.equal(stage.operator.ignored.size, 1);
  stage.withdraw(ben);
  await stage.settled();
  assert.equal(stage.operator.ignored.size, 0);
  const leading = new AbortController();
  const second = stage.startOperator(undefined, () => ({
    leading: true,
    run: (signal, lead) => lead(AbortSignal.any([signal, leading.signal])).catch(() => undefined),
  }));
  t.after(() => second.stop());
  stage.declare(ben);
  await stage.settled(60_000);
  const types = () => second.operator.conditions.flatMap(({ type, subject }) => (subject === "" ? [] : type));
  assert.deepEqual([types(), second.operator.ignored.size], [["PoolExhausted"], 1]);
  leading.abort();
  await stage.settled();
  assert.deepEqual([types(), second.operator.ignored.size], [[], 0]);
});

test("an address requested while an earlier pool is being deleted comes from the range", async (t) => {
  const stage = await openIpStage(t, { pool: "172.30.0.200/30", ranges: ["10.9.0.0/30"] });
  stage.declare(ann);
  await stage.settled();
  const [pool] = stage.cluster.server.list(kinds.ipAddressPool).filter(({ metadata }) => metadata.name !== "default");
  assert.ok(pool);
  const held = { ...pool, metadata: { ...pool.metadata, finalizers: ["example.com/hold"] } };
  stage.cluster.server.update(kinds.ipAddressPool, held, "admin");
  stage.withdraw(ann);
  await stage.settled();
  stage.declare(ann);
  await stage.settled();
  assert.deepEqual(stage.shown(), []);
  const { resourceVersion: _, ...metadata } =
    stage.cluster.server.get(kinds.ipAddressPool, pool.metadata)?.metadata ?? {};
  stage.cluster.server.update(
    kinds.ipAddressPool,
    { ...pool, metadata: { ...metadata, name: pool.metadata.name, finalizers: [] } },
    "admin",
  );
  await stage.settled(60_000);
  assert.match(stage.shown().join(), /at 10\.9\.0\./);
});
