/** How the parts of the inventory operator play together: storage, volumes, labels and the recount. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { labelKeys } from "../../src/kube/node-labels.ts";
import { inventoryStaleCheckMs } from "../../src/operators/inventory/assembly.ts";
import { inventoryGtKeptMs } from "../../src/operators/inventory/labels/wanted-labels.ts";
import { storageKinds } from "../../src/operators/inventory/storage/classes.ts";
import { type Log, silentLog } from "../../src/runtime/log.ts";
import { definitionOf } from "../support/kube/kube-definition.ts";
import type { Owner } from "../support/owner.ts";
import { gib, localVolume, longhornClass, longhornNode, storageClass } from "../support/samples/storage-samples.ts";
import { pod, type Stage, type StageOptions, stage } from "../support/stages/inventory-stage.ts";
import { longhorn } from "./inventory-storage-stage.ts";

const beta1 = storageClass("beta1", "rancher.io/local-path");
const sellsBeta1 = "version: v1\ncluster_storage: [beta1]";

/** Both nodes were discovered and labelled: for half a minute now, a new snapshot has a reason that the test made. */
async function quietStage(t: Owner, options: StageOptions = {}): Promise<Stage> {
  const made = await stage(t, options);
  await made.until("hardware of both", () => made.node("one")?.hardware && made.node("two")?.hardware);
  await made.clock.advance(soonMs);
  return made;
}

/** Longer than changes are gathered, and than labels take to be written and seen. */
const soonMs = 1_000;

test("a volume refolds only its own node, a class all nodes", async (t) => {
  const { cluster, clock, operator, node } = await quietStage(t, {
    config: sellsBeta1,
    prepare: ({ server }) => void server.create(kinds.storageClass, beta1, "test"),
  });
  const before = operator.inventory;
  cluster.server.create(kinds.persistentVolume, localVolume("a", "beta1", "10Gi", "one"), "test");
  await clock.advance(soonMs);
  assert.equal(operator.inventory?.storage[0]?.bytes.allocated, 10n * gib);
  assert.deepEqual(node("one")?.storageClasses, ["beta1"]);
  assert.deepEqual(
    operator.inventory?.nodes.map((each, index) => each === before?.nodes[index]),
    [false, true],
  );
  cluster.server.delete(kinds.storageClass, { name: "beta1" });
  await clock.advance(soonMs);
  assert.equal(operator.inventory?.storage.length, 0);
  assert.deepEqual(
    operator.inventory?.nodes.map(({ storageClasses }) => storageClasses),
    [[], []],
  );
});

test("a class that is kept from a node has no part of its disk", async (t) => {
  const { cluster, operator, until } = await stage(t, {
    config: `${sellsBeta1}\nexclude:\n  node_storage: [{ node_filter: ^two$, classes: [beta1] }]`,
    prepare: ({ server }) => void server.create(kinds.storageClass, beta1, "test"),
  });
  await until("the class", () => operator.inventory?.storage.length === 1);
  assert.equal(operator.inventory?.storage[0]?.bytes.capacity, 100n * gib);
  cluster.nodes.cordon("one");
  await until("no room", () => operator.inventory?.storage[0]?.bytes.allocatable === 0n);
});

test("a snapshot reports an unreachable storage backend without any other change", async (t) => {
  const { cluster, clock, operator, until } = await quietStage(t, {
    config: "version: v1\ncluster_storage: [beta2]",
    prepare({ server }) {
      for (const kind of longhorn) server.create(kinds.customResourceDefinition, definitionOf(kind), "test");
      server.create(kinds.namespace, { metadata: { name: "longhorn-system" } }, "test");
      server.create(kinds.storageClass, longhornClass("beta2"), "test");
      server.create(storageKinds.longhornNode, longhornNode("one", { data: {} }), "test");
    },
  });
  const stale = () => operator.inventory?.storage[0]?.conditions.filter(({ type }) => type === "Stale") ?? [];
  assert.equal(operator.inventory?.storage[0]?.replicas, 3);
  assert.deepEqual(stale(), []);
  cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY, kind: storageKinds.longhornSetting });
  cluster.faults.cutWatches();
  await clock.advance(2 * inventoryStaleCheckMs);
  assert.match(stale()[0]?.message ?? "", /^the settings of Longhorn may be out of date/);
  cluster.faults.clear();
  await until("its end", () => stale().length === 0);
});

test("a node without a status is reported and not offered", async (t) => {
  const { cluster, node, until, labels } = await stage(t);
  cluster.server.create(kinds.node, { metadata: { name: "bare" } }, "test");
  await until("labels", () => labels("one")["akash.network"] && labels("two")["akash.network"]);
  await until("the node", () => node("bare"));
  assert.equal(node("bare")?.offered, false);
  assert.ok(node("bare")?.conditions.some(({ type }) => type === "StatusMissing"));
  assert.equal(node("bare")?.cpuMilli.capacity, 0n);
  assert.equal(labels("bare")["akash.network"], undefined);
  assert.ok(node("one")?.offered && node("two")?.offered);
});

test("a node shows the volumes attached to it, and how many its drivers take", async (t) => {
  const { cluster, clock, node } = await quietStage(t);
  assert.deepEqual(node("one")?.volumes, { capacity: 0n, allocatable: 0n, allocated: 0n });
  const drivers = [{ name: "rbd.csi.ceph.com", nodeID: "one", allocatable: { count: 25 } }];
  cluster.server.create(kinds.csiNode, { metadata: { name: "one" }, spec: { drivers } }, "test");
  await clock.advance(soonMs);
  assert.deepEqual(node("one")?.volumes, { capacity: 25n, allocatable: 25n, allocated: 0n });
  const live = cluster.server.get(kinds.node, { name: "one" });
  assert.ok(live);
  const volumesAttached = [{ name: "kubernetes.io/csi/rbd.csi.ceph.com^a", devicePath: "" }];
  const status = { ...(live["status"] as object), volumesAttached };
  cluster.server.updateStatus(kinds.node, { ...live, status }, "test");
  await clock.advance(soonMs);
  assert.deepEqual(node("one")?.volumes, { capacity: 25n, allocatable: 25n, allocated: 1n });
  assert.equal(node("two")?.volumes.allocatable, 0n);
  cluster.server.delete(kinds.csiNode, { name: "one" });
  await clock.advance(soonMs);
  assert.equal(node("one")?.volumes.allocatable, 1n);
});

test("a class label that a pod selects with Gt becomes a number on all nodes, and a word again when it is gone", async (t) => {
  const { cluster, clock, labels } = await quietStage(t, {
    config: sellsBeta1,
    prepare: ({ server }) => void server.create(kinds.storageClass, beta1, "test"),
  });
  const key = labelKeys.storageClass("beta1");
  const both = (value: string) => labels("one")[key] === value && labels("two")[key] === value;
  assert.ok(both("true"));
  const nodeSelectorTerms = [{ matchExpressions: [{ key, operator: "Gt", values: ["0"] }] }];
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
  cluster.server.create(kinds.pod, pod("web", { spec: { affinity } }), "test");
  await clock.advance(soonMs);
  assert.ok(both("1"));
  cluster.server.delete(kinds.pod, { namespace: "tenants", name: "web" });
  // It may only be restarting.
  await clock.advance(inventoryGtKeptMs / 2);
  assert.ok(both("1"));
  await clock.advance(inventoryGtKeptMs);
  assert.ok(both("true"));
});

test("a lost event is corrected, counted and logged by the next recount", async (t) => {
  const errors: unknown[] = [];
  const log: Log = { ...silentLog, error: (message, fields) => void errors.push([message, fields]), with: () => log };
  /** The cache has all pods, but emits no change for one of them. */
  const deaf = (kube: Kube): Kube => ({
    ...kube,
    watch: (options) =>
      kube.watch({ ...options, handle: (change) => (change.name === "lost" ? undefined : options.handle?.(change)) }),
  });
  // Without discovery, which has every node folded each minute.
  const { cluster, clock, operator, node, until } = await stage(t, { through: deaf, log, image: () => undefined });
  await until("the first snapshot", () => node("one"));
  await clock.advance(60_000);
  cluster.server.create(kinds.pod, pod("lost", { gpus: "1", spec: { nodeName: "one" } }), "test");
  await until("a recount", () => operator.counts.drifts === 1);
  assert.deepEqual(errors, [["corrected the use of nodes that had drifted", { nodes: ["one"] }]]);
  await until("the pod to count", () => node("one")?.gpus.allocated === 1n);
  await clock.advance(10 * 60_000);
  assert.equal(operator.counts.drifts, 1);
});
