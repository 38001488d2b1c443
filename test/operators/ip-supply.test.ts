/** Which addresses count as capacity: the pools and families that MetalLB serves, and only while its controller works. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { addressUsageMs } from "../../src/operators/ip/operator.ts";
import { controllerSilentMs, silenceKeptMs } from "../../src/operators/ip/supply.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";
import { type IpStage, leaseOf, openIpStage } from "../support/stages/ip-stage.ts";

const [ann, ben, cat] = [leaseOf(1), leaseOf(2), leaseOf(3)];

const counts = ({ operator: { usage } }: IpStage) => [usage.total, usage.inUse, usage.free];
const conditions = ({ operator }: IpStage) => operator.conditions.map(({ type, message }) => `${type}: ${message}`);
const addresses = (stage: IpStage) => stage.shown().map((line) => line.replace(/.* of (\d+) at /, "$1 "));

function eventsOf({ cluster }: IpStage): string[] {
  return cluster.server
    .list(kinds.event)
    .filter((event) => event["reportingController"] === "akash.network/operator-ip")
    .map((event) => `${event["type"]} ${event["reason"]} ${fieldsOf(event["regarding"])["kind"]}: ${event["note"]}`);
}

test("the pool name default leases every pool that assigns by itself, whatever it is called", async (t) => {
  const stage = await openIpStage(t, { pool: "" });
  stage.setPool("tenants", ["172.30.0.200/30"]);
  stage.setPool("more", ["192.0.2.8/31"]);
  stage.setPool("office", ["198.51.100.0/24"], { autoAssign: false });
  stage.setPool("team", ["198.51.101.0/24"], { serviceAllocation: { namespaces: ["team"] } });
  await stage.settled();
  assert.deepEqual([counts(stage), conditions(stage)], [[6n, 0n, 6n], []]);
  for (const lease of [ann, ben, cat]) stage.declare(lease);
  await stage.settled();
  assert.deepEqual([counts(stage), conditions(stage)], [[6n, 3n, 3n], []]);
  for (const { metadata } of stage.services())
    assert.equal(metadata.annotations?.["metallb.universe.tf/address-pool"], undefined);
});

test("a missing pool is reported with the pools that assign nothing by themselves", async (t) => {
  const stage = await openIpStage(t, { pool: "" });
  stage.setPool("office", ["198.51.100.0/24"], { autoAssign: false });
  await stage.settled();
  assert.deepEqual(conditions(stage), [
    "PoolMissing: MetalLB has no IPAddressPool default, and none that assigns by itself: there are office",
  ]);
  assert.deepEqual(counts(stage), [0n, 0n, 0n]);
});

test("a named pool that serves other namespaces only is no capacity, and says why", async (t) => {
  const stage = await openIpStage(t, { pool: "", operator: { pool: "tenants" } });
  stage.setPool("tenants", ["172.30.0.200/30"], { serviceAllocation: { namespaces: ["team"] } });
  await stage.settled();
  assert.deepEqual(counts(stage), [0n, 0n, 0n]);
  assert.deepEqual(conditions(stage), [
    "PoolMissing: the serviceAllocation of IPAddressPool tenants names namespaces, which leave out those of leases",
  ]);
  const selectors = { serviceAllocation: { namespaces: ["team"], namespaceSelectors: [{ matchLabels: {} }] } };
  stage.setPool("tenants", ["172.30.0.200/30"], selectors);
  await stage.settled();
  assert.deepEqual([counts(stage), conditions(stage)], [[4n, 0n, 4n], []]);
});

test("IPv6 addresses are neither counted nor claimed where Services are of IPv4", async (t) => {
  const ranges = ["2001:db8::/126", "203.0.113.8-203.0.113.9"];
  const stage = await openIpStage(t, { pool: "", ranges });
  assert.deepEqual(counts(stage), [2n, 0n, 2n]);
  for (const lease of [ann, ben, cat]) {
    stage.declare(lease);
    await stage.settled();
  }
  assert.deepEqual(addresses(stage), ["1 203.0.113.8", "2 203.0.113.9"]);
  assert.deepEqual(counts(stage), [2n, 2n, 0n]);
});

test("an address of the wrong family that an earlier version claimed is exchanged", async (t) => {
  const ranges = ["2001:db8::/126", "203.0.113.8-203.0.113.9"];
  const stage = await openIpStage(t, { pool: "", ranges, clusterIp: "fd00::1" });
  stage.declare(ann);
  await stage.settled();
  assert.deepEqual(addresses(stage), ["1 none"]);
  stage.setClusterIp("10.96.0.1");
  await stage.restart();
  await stage.settled();
  assert.deepEqual([addresses(stage), conditions(stage)], [["1 203.0.113.8"], []]);
});

test("a pool without addresses of the cluster's family is no capacity, and says why", async (t) => {
  const stage = await openIpStage(t, { pool: "2001:db8::/126" });
  await stage.settled();
  assert.deepEqual(counts(stage), [0n, 0n, 0n]);
  const message = "default has no IPv4 addresses, the family of this cluster's Services";
  assert.deepEqual(conditions(stage), [`PoolMissing: ${message}`]);
  stage.setClusterIp("fd00::1");
  await stage.settled();
  assert.deepEqual([counts(stage), conditions(stage)], [[4n, 0n, 4n], []]);
});

test("without a ready controller pod of MetalLB there is no capacity, and it comes back with the pod", async (t) => {
  const stage = await openIpStage(t);
  await stage.settled();
  assert.equal(stage.operator.usage.free, 4n);
  stage.setControllerReady(false);
  stage.declare(ann);
  await stage.settled();
  const message = "no controller pod in metallb-system is ready";
  assert.deepEqual(conditions(stage), Array(2).fill(`MetalLbMissing: MetalLB assigns no addresses: ${message}`));
  assert.deepEqual([stage.shown(), counts(stage)], [[], [0n, 0n, 0n]]);
  stage.setControllerReady(true);
  await stage.settled();
  assert.deepEqual([addresses(stage), counts(stage), conditions(stage)], [["1 172.30.0.200"], [4n, 1n, 3n], []]);
});

test("a controller that assigns no free address is no capacity until it does, and the tenant's resource has Events", async (t) => {
  const stage = await openIpStage(t);
  await stage.removeMetalLb();
  stage.declare(ann);
  await stage.settled(controllerSilentMs / 2);
  assert.equal(stage.operator.usage.free, 4n);
  await stage.settled(controllerSilentMs);
  assert.equal(stage.operator.usage.free, 0n);
  await stage.settled(addressUsageMs);
  stage.declare(ben);
  await stage.settled();
  assert.deepEqual(counts(stage), [0n, 0n, 0n]);
  const message = "MetalLB has not assigned a free address for more than 30 s";
  assert.deepEqual(new Set(conditions(stage)), new Set([`MetalLbSilent: ${message}`]));
  assert.equal(stage.services().length, 1);
  assert.ok(eventsOf(stage).includes(`Warning MetalLbSilent ProviderLeasedIP: ${message}`));
  stage.bringMetalLb();
  await stage.settled(controllerSilentMs);
  assert.deepEqual([counts(stage), conditions(stage)], [[4n, 2n, 2n], []]);
  assert.ok(eventsOf(stage).some((event) => /^Normal AddressAssigned ProviderLeasedIP: 172\.30\.0\.200 /.test(event)));
});

test("while MetalLB is silent a waiting copy and a restarted operator count no capacity either", async (t) => {
  const stage = await openIpStage(t);
  await stage.removeMetalLb();
  stage.declare(ann);
  await stage.settled(2 * controllerSilentMs);
  const waits = { leading: false, run: (signal: AbortSignal) => untilAborted(signal) };
  const standby = stage.startOperator(undefined, () => waits);
  t.after(standby.stop);
  await stage.restart();
  await stage.settled(100);
  assert.deepEqual([stage.operator.usage.free, standby.operator.usage.free], [0n, 0n]);
  assert.deepEqual(
    standby.operator.conditions.map(({ type }) => type),
    ["MetalLbSilent"],
  );
  stage.bringMetalLb();
  await stage.settled();
  assert.deepEqual([stage.operator.usage.free, standby.operator.usage.free], [3n, 3n]);
});

test("a silent MetalLB stays no capacity for a while after the lease that waited for it ended", async (t) => {
  const stage = await openIpStage(t);
  await stage.removeMetalLb();
  stage.declare(ann);
  await stage.settled(2 * controllerSilentMs);
  stage.withdraw(ann);
  await stage.settled(silenceKeptMs / 2);
  assert.equal(stage.services().length, 0);
  assert.deepEqual(counts(stage), [0n, 0n, 0n]);
  assert.match(conditions(stage).join(), /^MetalLbSilent/);
  // Otherwise a recovered source would never be queried again.
  await stage.settled(silenceKeptMs);
  assert.deepEqual([counts(stage), conditions(stage)], [[4n, 0n, 4n], []]);
});

test("an operator that may not list pods counts addresses and reports the missing permission", async (t) => {
  const stage = await openIpStage(t, { pool: "172.30.0.200/30" });
  stage.cluster.faults.reject({ status: 403, verb: "list", kind: kinds.pod, times: Number.POSITIVE_INFINITY });
  await stage.restart();
  await stage.settled();
  assert.equal(stage.operator.usage.free, 4n);
  assert.match(conditions(stage).join(), /^Stale: pods are not followed: /);
});

test("Services bear MetalLB's annotations under both prefixes, and take no node ports", async (t) => {
  const stage = await openIpStage(t, { pool: "", operator: { pool: "tenants" } });
  stage.setPool("tenants", ["172.30.0.200/30"], { autoAssign: false });
  const { sharingKey } = stage.declare(ann);
  await stage.settled();
  const [service] = stage.services();
  assert.ok(service);
  for (const prefix of ["metallb.io", "metallb.universe.tf"]) {
    assert.equal(service.metadata.annotations?.[`${prefix}/allow-shared-ip`], sharingKey);
    assert.equal(service.metadata.annotations?.[`${prefix}/address-pool`], "tenants");
  }
  const spec = fieldsOf(service["spec"]);
  assert.equal(spec["allocateLoadBalancerNodePorts"], false);
  assert.doesNotMatch(JSON.stringify(spec["ports"]), /nodePort/);
});
