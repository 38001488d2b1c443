/** The IP operator with a range of addresses that is its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { type IpStage, leaseOf, openIpStage } from "../support/stages/ip-stage.ts";

const [ann, annToo, ben, cat] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 3), leaseOf(3, 4)];
const ranges = ["203.0.113.8-203.0.113.9"];

const poolsOf = ({ cluster }: IpStage) =>
  cluster.server
    .list(kinds.ipAddressPool)
    .map(({ metadata, spec }) => `${metadata.name}: ${JSON.stringify(fieldsOf(spec)["addresses"])}`);
const announced = ({ cluster }: IpStage) =>
  cluster.server.list(kinds.l2Advertisement).flatMap(({ spec }) => fieldsOf(spec)["ipAddressPools"]);

test("each sharing key has a pool of one address, an advertisement, and Services pinned to it", async (t) => {
  const stage = await openIpStage(t, { pool: "", ranges });
  stage.declare(ann);
  stage.declare(ann, { externalPort: 53, protocol: "UDP" });
  stage.declare(annToo, { externalPort: 81 });
  await stage.settled();
  stage.declare(ben);
  await stage.settled();
  assert.deepEqual(stage.shown(), [
    "blue TCP 80 → web:8080 of 1 at 203.0.113.8",
    "blue TCP 80 → web:8080 of 3 at 203.0.113.9",
    "blue TCP 81 → web:8080 of 2 at 203.0.113.8",
    "blue UDP 53 → web:8080 of 1 at 203.0.113.8",
  ]);
  const names = [`akash-ip-${ann.owner}-ip-blue-tcp-80`, `akash-ip-${ben.owner}-ip-blue-tcp-80`];
  assert.deepEqual(poolsOf(stage).sort(), names.map((name, at) => `${name}: ["203.0.113.${8 + at}/32"]`).sort());
  assert.deepEqual(announced(stage).sort(), names.toSorted());
  const pool = stage.cluster.server.get(kinds.ipAddressPool, { namespace: "metallb-system", name: names[0] ?? "" });
  assert.equal(fieldsOf(pool?.["spec"])["autoAssign"], false);
  for (const service of stage.services())
    assert.match(String(fieldsOf(service["spec"])["loadBalancerIP"]), /^203\.0\.113\.[89]$/);
  const { total, inUse, free } = stage.operator.usage;
  assert.deepEqual([total, inUse, free], [2n, 2n, 0n]);
});

test("a released address returns to the range, and a waiting key gets it", async (t) => {
  const stage = await openIpStage(t, { pool: "", ranges });
  for (const lease of [ann, ben, cat]) {
    stage.declare(lease);
    await stage.settled();
  }
  assert.equal(stage.shown().length, 2);
  assert.deepEqual(
    stage.operator.conditions.map(({ type, message }) => `${type}: ${message}`),
    Array(2).fill("PoolExhausted: no IP addresses available in pool"),
  );
  stage.withdraw(ann);
  await stage.settled();
  assert.match(stage.shown().join("\n"), /of 4 at 203\.0\.113\.8/);
  for (const lease of [ben, cat]) stage.withdraw(lease);
  await stage.settled();
  assert.deepEqual([poolsOf(stage), announced(stage), stage.shown(), stage.operator.usage.inUse], [[], [], [], 0n]);
});

test("a port goes to another lease of its owner with its address", async (t) => {
  const stage = await openIpStage(t, { pool: "", ranges });
  stage.declare(ben);
  stage.declare(ann);
  await stage.settled();
  const [before] = stage.shown();
  stage.withdraw(ben);
  stage.declare(annToo);
  await stage.settled();
  assert.deepEqual(stage.shown(), [before?.replace("of 1", "of 2")]);
});

test("a range that overlaps with a foreign pool assigns nothing until the overlap ends", async (t) => {
  const stage = await openIpStage(t, { pool: "203.0.113.0/28", ranges });
  stage.declare(ann);
  await stage.settled();
  assert.deepEqual(stage.shown(), []);
  const [condition] = stage.operator.conditions;
  assert.deepEqual(
    [condition?.type, condition?.message],
    ["RangeOverlap", "the range 203.0.113.8-203.0.113.9 overlaps with the IPAddressPool default"],
  );
  stage.setPool("default", ["203.0.113.0/29"]);
  await stage.settled();
  assert.deepEqual(stage.shown(), ["blue TCP 80 → web:8080 of 1 at 203.0.113.8"]);
});

test("a pool rejected by MetalLB's webhook is reported and retried", async (t) => {
  const stage = await openIpStage(t, { pool: "", ranges });
  stage.cluster.faults.reject({ status: 403, kind: kinds.ipAddressPool, verb: "patch", times: 20 });
  stage.declare(ann);
  await stage.settled(4_000);
  assert.equal(stage.operator.conditions[0]?.type, "Failed");
  stage.declare(ben, { endpoint: "green" });
  await stage.settled(600_000);
  assert.equal(stage.shown().length, 2);
  assert.deepEqual(
    stage.operator.conditions.map(({ subject }) => subject),
    [""],
  );
});

test("a deleted pool is created again with the address that the Services request", async (t) => {
  const stage = await openIpStage(t, { pool: "", ranges });
  stage.declare(ben);
  stage.declare(ann);
  await stage.settled();
  const before = stage.shown();
  for (const { metadata } of stage.cluster.server.list(kinds.ipAddressPool))
    stage.cluster.server.delete(kinds.ipAddressPool, metadata);
  await stage.settled();
  assert.deepEqual(stage.shown(), before);
  assert.equal(poolsOf(stage).length, 2);
});

test("a restart with nothing to do writes nothing", async (t) => {
  const stage = await openIpStage(t, { pool: "", ranges });
  for (const lease of [ann, ben]) stage.declare(lease);
  await stage.settled();
  const before = stage.shown();
  await stage.restart();
  await stage.settled();
  assert.equal(stage.life.kube.counts.applied, 0);
  assert.deepEqual(stage.shown(), before);
});
