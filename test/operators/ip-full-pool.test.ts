/** The IP operator with a full pool: an address that its tenant releases for a moment is not given to another. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { idLabels } from "../../src/kube/objects/lease-labels.ts";
import { sharingAnnotation } from "../../src/kube/objects/metallb.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { addressCleanUpMs } from "../../src/operators/ip/address-loop.ts";
import { type IpStage, leaseOf, openIpStage } from "../support/stages/ip-stage.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 3)];
const hour = 3_600_000;
const pool = "172.30.0.200/32";

/** Both want the only address at once; which of the two has it afterwards. */
async function withTwoAtOnce(stage: IpStage): Promise<typeof ann> {
  stage.declare(ann);
  stage.declare(ben);
  await stage.settled(30_000);
  return stage.shown().some((each) => each.endsWith("of 1 at 172.30.0.200")) ? ann : ben;
}

/** Services that come and go from now on. */
function countServices(stage: IpStage): { created: number; deleted: number } {
  const counts = { created: 0, deleted: 0 };
  stage.cluster.server.subscribe(({ kind, type }) => {
    if (kind !== kinds.service) return;
    if (type === "added") counts.created += 1;
    if (type === "deleted") counts.deleted += 1;
  });
  return counts;
}

for (const seed of [1, 2, 3]) {
  test(`who waits for an address does not get the one whose service is renamed, seed ${seed}`, async (t) => {
    const stage = await openIpStage(t, { pool, seed });
    const holder = await withTwoAtOnce(stage);
    assert.deepEqual(stage.shown(), [`blue TCP 80 → web:8080 of ${holder.dseq} at 172.30.0.200`]);
    stage.declare(holder, { service: "api" });
    await stage.settled(30_000);
    assert.deepEqual(stage.shown(), [`blue TCP 80 → api:8080 of ${holder.dseq} at 172.30.0.200`]);
  });
}

test("a waiting lease does not get an address that moves to another lease of its owner", async (t) => {
  const stage = await openIpStage(t, { pool });
  const { owner } = await withTwoAtOnce(stage);
  stage.declare({ ...ann, owner, dseq: 77n });
  await stage.settled(30_000);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 77 at 172.30.0.200"]);
});

test("a lease that lost its address to a smaller pool does not take another lease's", async (t) => {
  const stage = await openIpStage(t, { pool: "172.30.0.200-172.30.0.201" });
  for (const lease of [ann, ben]) {
    stage.declare(lease);
    await stage.settled();
  }
  stage.declare(ben, { externalPort: 81 });
  await stage.settled();
  stage.setPool("default", [pool]);
  await stage.settled(30_000);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 172.30.0.200"]);
  stage.declare(ann, { service: "api" });
  await stage.settled(30_000);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → api:8080 of 1 at 172.30.0.200"]);
  const conditions = stage.operator.conditions.filter(({ subject }) => subject.startsWith(ben.owner));
  assert.deepEqual(
    conditions.map(({ type }) => type),
    ["PoolExhausted"],
  );
  stage.setPool("default", ["172.30.0.200/31"]);
  await stage.settled(1_000);
  assert.deepEqual(stage.shown(), [
    "blue TCP 80 → api:8080 of 1 at 172.30.0.200",
    "blue TCP 80 → web:8080 of 3 at 172.30.0.201",
    "blue TCP 81 → web:8080 of 3 at 172.30.0.201",
  ]);
});

test("waiting keys are retried once per free address, and not while none is free", async (t) => {
  const stage = await openIpStage(t, { pool });
  stage.declare(ann);
  await stage.settled();
  const waiting = [2, 3, 4, 5].map((owner) => leaseOf(owner, 10 * owner));
  for (const lease of waiting) stage.declare(lease);
  await stage.settled(30_000);
  const counts = countServices(stage);
  await stage.settled(hour);
  assert.deepEqual(counts, { created: 0, deleted: 0 });
  stage.withdraw(ann);
  await stage.settled(hour);
  assert.equal(stage.shown().length, 1);
  assert.match(stage.shown()[0] ?? "", /at 172\.30\.0\.200$/);
  assert.ok(counts.created <= waiting.length, JSON.stringify(counts));
  stage.setPool("default", ["172.30.0.200/30"]);
  await stage.settled(1_000);
  assert.equal(stage.shown().filter((each) => !each.endsWith(" none")).length, 4);
});

test("a waiting key gets an address freed at any moment", async (t) => {
  for (let ms = 0; ms < 40; ms += 5) {
    const stage = await openIpStage(t, { pool });
    stage.declare(ann);
    await stage.settled();
    stage.declare(ben);
    // Made by the network's operator, which lets it wait.
    const metadata = { ...stage.services()[0]?.metadata, namespace: stage.namespaceOf(ben) };
    const { uid: _, resourceVersion: __, managedFields: ___, ...plain } = metadata;
    const labels = { ...plain.labels, ...idLabels(ben) };
    const annotations = { [sharingAnnotation]: `${ben.owner}-ip-blue` };
    const spec = { type: "LoadBalancer", ports: [{ port: 80, targetPort: 8_080, protocol: "TCP" }] };
    const object = { metadata: { ...plain, name: "web-ip-80-tcp", labels, annotations }, spec };
    stage.cluster.server.create(kinds.service, object, "akash-operator");
    await stage.settled(ms);
    stage.withdraw(ann);
    await stage.settled(30_000);
    assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 3 at 172.30.0.200"], `after ${ms} ms`);
    await stage.life.stop();
  }
});

test("Services without an address are removed once the last address is assigned", async (t) => {
  const stage = await openIpStage(t, { pool: "172.30.0.200-172.30.0.201" });
  await stage.removeMetalLb();
  for (const owner of [1, 2, 3, 4]) stage.declare(leaseOf(owner));
  await stage.settled(hour);
  assert.equal(stage.shown().length, 4);
  stage.bringMetalLb();
  await stage.settled(1_000);
  assert.deepEqual(
    stage.shown().map((each) => each.replace(/^.* at /, "")),
    ["172.30.0.200", "172.30.0.201"],
  );
});

test("a port that moves to a lease whose Service cannot be written yet keeps its address until it can", async (t) => {
  const stage = await openIpStage(t, { pool });
  for (const lease of [ann, ben]) {
    stage.declare(lease);
    await stage.settled();
  }
  stage.declare(annToo);
  stage.cluster.server.delete(kinds.namespace, { name: leaseNamespace(annToo) });
  await stage.settled(20_000);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 172.30.0.200"]);
  stage.namespaceOf(annToo);
  await stage.settled(200_000);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 2 at 172.30.0.200"]);
});

test("a renamed service keeps its address while the new Service is rejected, up to the clean-up limit", async (t) => {
  const stage = await openIpStage(t, { pool });
  for (const lease of [ann, ben]) {
    stage.declare(lease);
    await stage.settled();
  }
  const rejected = { status: 403, kind: kinds.service, verb: "patch", path: "api-ip-80-tcp" } as const;
  stage.cluster.faults.reject({ ...rejected, times: 2 });
  stage.declare(ann, { service: "api" });
  await stage.settled(1_000);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 172.30.0.200"]);
  await stage.settled(60_000);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → api:8080 of 1 at 172.30.0.200"]);
  stage.cluster.faults.reject({ ...rejected, path: "new-ip-80-tcp", times: Number.POSITIVE_INFINITY });
  stage.declare(ann, { service: "new" });
  await stage.settled(60_000);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → api:8080 of 1 at 172.30.0.200"]);
  await stage.settled(3 * addressCleanUpMs);
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 3 at 172.30.0.200"]);
});

test("a lease whose Services cannot be written does not block other leases of the endpoint", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(annToo, { externalPort: 443 });
  stage.cluster.server.delete(kinds.namespace, { name: leaseNamespace(annToo) });
  stage.declare(ann, { externalPort: 80 });
  stage.declare(ann, { externalPort: 81 });
  await stage.settled(30_000);
  const shown = ["blue TCP 80 → web:8080 of 1 at 172.30.0.200", "blue TCP 81 → web:8080 of 1 at 172.30.0.200"];
  assert.deepEqual(stage.shown(), shown);
  stage.namespaceOf(annToo);
  await stage.settled(200_000);
  assert.deepEqual(stage.shown(), ["blue TCP 443 → web:8080 of 2 at 172.30.0.200", ...shown]);
  assert.equal(stage.operator.usage.inUse, 1n);
});
