/** Conditions of the IP operator, and changes from a pool to a range and back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { readAddressRange } from "../../src/market/ip-range.ts";
import { type IpStage, leaseOf, openIpStage } from "../support/stages/ip-stage.ts";

const [ann, ben, cat] = [leaseOf(1, 1), leaseOf(2, 3), leaseOf(3, 4)];
const rangesOf = (...texts: string[]) => ({ ranges: texts.map(readAddressRange) });

function conditionsOf({ operator }: IpStage): string[] {
  const nameless = (text: string) =>
    [ann, ben, cat].reduce((sum, { owner }, at) => sum.replace(owner, ["ann", "ben", "cat"][at] ?? ""), text);
  return operator.conditions.map(({ type, subject, message }) => `${type} ${nameless(subject)}: ${nameless(message)}`);
}

test("ports of one endpoint on two addresses are reported and left", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  stage.declare(ann, { externalPort: 81 });
  await stage.settled();
  const [, second] = stage.services() as [KubeObject, KubeObject];
  const annotations = { ...second.metadata.annotations, "metallb.io/loadBalancerIPs": "172.30.0.203" };
  const moved = { ...second, metadata: { ...second.metadata, annotations } };
  stage.cluster.server.update(kinds.service, moved, "somebody");
  await stage.settled(30_000);
  assert.deepEqual(conditionsOf(stage), [
    "AddressesDiffer ann-ip-blue: its ports are on 172.30.0.200 and 172.30.0.203",
  ]);
  assert.equal(stage.operator.usage.inUse, 2n);
});

test("an address shared by two owners is reported", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  stage.declare(ben);
  await stage.settled();
  assert.deepEqual(conditionsOf(stage), []);
  await stage.removeMetalLb();
  for (const each of stage.services()) {
    const status = { loadBalancer: { ingress: [{ ip: "172.30.0.202" }] } };
    stage.cluster.server.updateStatus(kinds.service, { ...each, status }, "metallb-controller");
  }
  await stage.settled();
  assert.match(
    conditionsOf(stage).join(),
    /^SharedAcrossOwners (ann|ben)-ip-blue: 172\.30\.0\.202 is (ann|ben)'s too$/,
  );
  assert.equal(stage.operator.usage.inUse, 1n);
});

test("an address outside a changed range stays assigned, and is reported", async (t) => {
  const stage = await openIpStage(t, { pool: "", ranges: ["203.0.113.8-203.0.113.9"] });
  stage.declare(ann);
  await stage.settled();
  await stage.restart(undefined, rangesOf("203.0.113.16-203.0.113.17"));
  stage.declare(ben);
  stage.declare(ann, { externalPort: 81 });
  await stage.settled();
  assert.deepEqual(stage.shown(), [
    "blue TCP 80 → web:8080 of 1 at 203.0.113.8",
    "blue TCP 80 → web:8080 of 3 at 203.0.113.16",
    "blue TCP 81 → web:8080 of 1 at 203.0.113.8",
  ]);
  assert.deepEqual(conditionsOf(stage), [
    "OutsideRange ann-ip-blue: 203.0.113.8 is in use and not in 203.0.113.16-203.0.113.17",
  ]);
  const { total, inUse } = stage.operator.usage;
  assert.deepEqual([total, inUse], [2n, 1n]);
  stage.withdraw(ann);
  stage.withdraw(ann, { externalPort: 81 });
  await stage.settled();
  assert.deepEqual(conditionsOf(stage), []);
  assert.equal(stage.cluster.server.list(kinds.ipAddressPool).length, 1);
});

test("a service with a long name gets a Service with a hashed name", async (t) => {
  const stage = await openIpStage(t);
  const service = "w".repeat(63);
  stage.declare(ann, { service });
  await stage.settled();
  assert.deepEqual(stage.shown(), [`blue TCP 80 → ${service}:8080 of 1 at 172.30.0.200`]);
  await stage.restart();
  await stage.settled();
  assert.equal(stage.life.kube.counts.applied, 0);
  stage.withdraw(ann);
  await stage.settled();
  assert.deepEqual([stage.shown(), conditionsOf(stage)], [[], []]);
});

test("switching from a pool to a range and back loses and leaks no address", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  await stage.settled();
  await stage.restart(undefined, rangesOf("203.0.113.8-203.0.113.9"));
  stage.declare(ben);
  stage.declare(ann, { externalPort: 81 });
  await stage.settled();
  const both = [
    "blue TCP 80 → web:8080 of 1 at 172.30.0.200",
    "blue TCP 80 → web:8080 of 3 at 203.0.113.8",
    "blue TCP 81 → web:8080 of 1 at 172.30.0.200",
  ];
  assert.deepEqual([stage.shown(), conditionsOf(stage)], [both, []]);
  assert.deepEqual([stage.operator.usage.total, stage.operator.usage.inUse], [2n, 1n]);
  await stage.restart(undefined, { ranges: [] });
  stage.declare(cat);
  stage.declare(ben, { externalPort: 82 });
  await stage.settled();
  assert.deepEqual(
    stage.shown(),
    [...both, "blue TCP 80 → web:8080 of 4 at 172.30.0.201", "blue TCP 82 → web:8080 of 3 at 203.0.113.8"].sort(),
  );
  assert.deepEqual([stage.operator.usage.total, stage.operator.usage.inUse], [4n, 2n]);
  stage.withdraw(ben);
  stage.withdraw(ben, { externalPort: 82 });
  await stage.settled();
  const pools = stage.cluster.server.list(kinds.ipAddressPool).map(({ metadata }) => metadata.name);
  assert.deepEqual(
    [pools, stage.cluster.server.list(kinds.l2Advertisement), conditionsOf(stage)],
    [["default"], [], []],
  );
});
