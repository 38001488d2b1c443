/** The IP operator with manually edited objects, or an unusual MetalLB configuration. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { otherName } from "../../src/operators/ip/objects.ts";
import { leaseOf, openIpStage } from "../support/stages/ip-stage.ts";

const [ann, ben] = [leaseOf(1, 1), leaseOf(2, 3)];

test("an address pinned in another spelling is counted once", async (t) => {
  const stage = await openIpStage(t, { pool: "2001:db8::1/128", clusterIp: "fd00::1" });
  stage.declare(ann);
  await stage.settled();
  await stage.removeMetalLb();
  const [service] = stage.services() as [KubeObject];
  const spec = { ...fieldsOf(service["spec"]), loadBalancerIP: "2001:DB8:0::1" };
  const status = { loadBalancer: { ingress: [{ ip: "2001:db8::1" }] } };
  await stage.life.stop();
  const pinned = stage.cluster.server.update(kinds.service, { ...service, spec }, "somebody");
  stage.cluster.server.updateStatus(kinds.service, { ...pinned, status }, "metallb-controller");
  await stage.restart();
  await stage.settled();
  assert.equal(stage.operator.usage.inUse, 1n);
});

test("a lease with several ports without an address has failed once, not once for each", async (t) => {
  const stage = await openIpStage(t, { pool: "172.30.0.200/32" });
  stage.declare(ben);
  await stage.settled();
  await stage.life.stop();
  for (const externalPort of [80, 81, 82, 83]) stage.declare(ann, { externalPort });
  await stage.restart();
  await stage.settled();
  const [entry] = Object.values(stage.operator.ignored.view() ?? {}) as { "failure-count": number }[];
  assert.ok(entry === undefined || entry["failure-count"] < 4, JSON.stringify(entry));
});

test("of two Services for one port, the one with the address stays", async (t) => {
  const stage = await openIpStage(t);
  const port = stage.declare(ann);
  await stage.settled();
  const before = stage.shown();
  const [{ metadata, spec }] = stage.services() as [KubeObject];
  const { namespace = "", labels = {}, annotations = {} } = metadata;
  const name = otherName({ ...port, resource: "", namespace, changedAtMs: 0 });
  const { selector } = fieldsOf(spec);
  const ports = [{ protocol: "TCP", port: 80, targetPort: 8080 }];
  const double = {
    metadata: { name, namespace, labels, annotations },
    spec: { type: "LoadBalancer", selector, ports },
  };
  stage.cluster.server.create(kinds.service, double, "another-operator");
  await stage.settled();
  assert.deepEqual(stage.shown(), before);
});

test("a Service with removed labels is repaired and keeps its address", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ben);
  stage.declare(ann);
  await stage.settled();
  const before = stage.shown();
  stage.withdraw(ben);
  await stage.settled();
  const [service] = stage.services() as [KubeObject];
  stage.cluster.server.update(kinds.service, { ...service, metadata: { ...service.metadata, labels: {} } }, "somebody");
  await stage.settled();
  assert.deepEqual(stage.shown(), before.slice(0, 1));
});

test("a Service whose type was changed becomes a LoadBalancer again", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  await stage.settled();
  const [before, [service]] = [stage.shown(), stage.services() as [KubeObject]];
  const { loadBalancerIP: _, allocateLoadBalancerNodePorts: __, ...spec } = fieldsOf(service["spec"]);
  stage.cluster.server.update(kinds.service, { ...service, spec: { ...spec, type: "ClusterIP" } }, "somebody");
  await stage.settled();
  assert.deepEqual(stage.shown(), before);
});

test("a pool without autoAssign is named in Services", async (t) => {
  const stage = await openIpStage(t, { pool: "" });
  stage.setPool("default", ["172.30.0.200/30"], { autoAssign: false });
  stage.declare(ann);
  stage.declare(ann, { externalPort: 81 });
  await stage.settled();
  assert.deepEqual(stage.shown(), [
    "blue TCP 80 → web:8080 of 1 at 172.30.0.200",
    "blue TCP 81 → web:8080 of 1 at 172.30.0.200",
  ]);
});

test("no address is assigned from another pool, and an existing one stays", async (t) => {
  const stage = await openIpStage(t);
  stage.declare(ann);
  await stage.settled();
  stage.setPool("tenants", ["192.0.2.0/30"]);
  await stage.restart(undefined, { pool: "tenants" });
  await stage.settled();
  stage.declare(ben);
  await stage.settled();
  stage.declare(ben, { externalPort: 81 });
  await stage.settled();
  assert.deepEqual(stage.shown(), [
    "blue TCP 80 → web:8080 of 1 at 172.30.0.200",
    "blue TCP 80 → web:8080 of 3 at 192.0.2.0",
    "blue TCP 81 → web:8080 of 3 at 192.0.2.0",
  ]);
  const { total, inUse } = stage.operator.usage;
  assert.deepEqual([total, inUse, stage.operator.conditions], [4n, 1n, []]);
  const versions = () => stage.services().map(({ metadata }) => metadata.resourceVersion);
  const written = versions();
  await stage.restart();
  await stage.settled();
  assert.deepEqual([versions(), stage.life.kube.counts.applied], [written, 0]);
});

test("a pool edited to another tenant's address is repaired without blocking others", async (t) => {
  const stage = await openIpStage(t, { pool: "", ranges: ["203.0.113.8-203.0.113.11"] });
  stage.declare(ann);
  stage.declare(ben);
  await stage.settled();
  const before = stage.shown();
  const [one, other] = stage.cluster.server.list(kinds.ipAddressPool) as [KubeObject, KubeObject];
  stage.cluster.server.update(kinds.ipAddressPool, { ...one, spec: other["spec"] }, "somebody");
  await stage.settled(30_000);
  stage.declare(leaseOf(3, 4));
  await stage.settled();
  assert.deepEqual(stage.shown().slice(0, 2), before);
  assert.equal(stage.shown().filter((each) => each.endsWith(" none")).length, 0);
  assert.deepEqual(
    [stage.operator.conditions, stage.metalLb?.rejectedBecause, stage.operator.usage.inUse],
    [[], undefined, 3n],
  );
});
