import assert from "node:assert/strict";
import { test } from "node:test";
import { hardware, pod, stage } from "../../../test/support/stages/inventory-stage.ts";
import { kinds } from "../../kube/kinds.ts";
import { condition } from "../../runtime/condition.ts";
import { createMetrics } from "../../runtime/metrics.ts";
import type { Inventory } from "./inventory.ts";
import { measureInventory } from "./inventory-service.ts";

const gi = 2 ** 30;

/** The series of one metric of the inventory, without its name. */
async function seriesOf(t: { after(done: () => void): void }, inventory: Inventory | undefined) {
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  const counts = {
    snapshots: 1,
    pods: 3,
    drifts: 0,
    labelled: 0,
    cephFailures: 0,
    registryFailures: 0,
  };
  const publisher = { ready: true, publishedCount: 1 };
  measureInventory(metrics, { operator: { inventory, ageMs: 0, counts }, publisher, grpc: { streams: 0 } });
  const text = await metrics.text();
  return (name: string) => {
    const lines = text.split("\n").filter((line) => line.startsWith(`akash_provider_inventory_${name}{`));
    return Object.fromEntries(
      lines.map((line) => [line.slice(line.indexOf("{") + 1, line.lastIndexOf("}")), Number(line.split(" ").at(-1))]),
    );
  };
}

test("what each node, GPU model and storage class has and what of it is taken is measured", async (t) => {
  const { cluster, node, until, operator } = await stage(t, {
    prepare({ server }) {
      server.create(kinds.pod, pod("web", { cpu: "1500m", gpus: "1", spec: { nodeName: "one" } }), "test");
    },
  });
  await until("the pod is counted", () => node("one")?.gpus.allocated === 1n && node("two")?.hardware);
  assert.ok(operator.inventory);
  const storage = { driver: "ceph", provisioner: "rbd.csi.ceph.com", conditions: [] } as const;
  const bytes = { capacity: 30n, allocatable: 20n, allocated: 5n };
  const series = await seriesOf(t, { ...operator.inventory, storage: [{ ...storage, class: "beta2", bytes }] });
  const nodes = series("node_resources");
  assert.equal(nodes['node="one",resource="cpu",amount="allocated"'], Number(node("one")?.cpuMilli.allocated) / 1_000);
  assert.equal(nodes['node="one",resource="cpu",amount="allocatable"'], 8);
  assert.equal(nodes['node="two",resource="memory",amount="allocatable"'], 32 * gi);
  assert.equal(nodes['node="two",resource="gpu",amount="allocated"'], 0);
  assert.equal(Object.keys(nodes).length, 2 * 4 * 2);
  assert.deepEqual(series("gpus"), {
    [`model="${node("one")?.namedGpus[0]?.name}",amount="allocatable"`]: 4,
    [`model="${node("one")?.namedGpus[0]?.name}",amount="allocated"`]: 1,
  });
  assert.deepEqual(series("storage_bytes"), {
    'class="beta2",amount="allocatable"': 20,
    'class="beta2",amount="allocated"': 5,
  });
  assert.ok(cluster.counts.requests > 0);
});

test('GPUs of several models in one node are "mixed", unnamed ones "unknown"', async (t) => {
  const [gpu] = hardware.gpus;
  assert.ok(gpu);
  const { node, until, operator } = await stage(t, {
    hardware: () => ({ ...hardware, gpus: [gpu, { ...gpu, deviceId: "ffff" }] }),
  });
  await until("both nodes answer", () => node("one")?.hardware && node("two")?.hardware);
  assert.ok(operator.inventory);
  const [one, two] = operator.inventory.nodes;
  assert.ok(one && two);
  const unnamed = { ...two, namedGpus: two.namedGpus.slice(1) };
  const series = await seriesOf(t, { ...operator.inventory, nodes: [one, unnamed] });
  assert.deepEqual(series("gpus"), {
    'model="mixed",amount="allocatable"': 2,
    'model="mixed",amount="allocated"': 0,
    'model="unknown",amount="allocatable"': 2,
    'model="unknown",amount="allocated"': 0,
  });
});

test("conditions are counted by type and node, those of the cluster and its storage without a node", async (t) => {
  const { node, until, operator } = await stage(t, { hardware: () => undefined });
  await until(
    "the nonsense of discovery is noticed",
    () => node("one")?.conditions.length && node("two")?.conditions.length,
  );
  assert.ok(operator.inventory);
  const stale = condition("Stale", "pods may be out of date");
  const odd = condition("RoomShared", "two classes share their room");
  const bytes = { capacity: 0n, allocatable: 0n, allocated: 0n };
  const storage = { class: "beta2", driver: "ceph", provisioner: "rbd", bytes, conditions: [odd, odd] } as const;
  const series = await seriesOf(t, { ...operator.inventory, conditions: [stale], storage: [storage] });
  const types = (name: string) => node(name)?.conditions.map(({ type }) => `type="${type}",node="${name}"`) ?? [];
  assert.deepEqual(series("conditions"), {
    'type="Stale",node=""': 1,
    'type="RoomShared",node=""': 2,
    ...Object.fromEntries([...types("one"), ...types("two")].map((labels) => [labels, 1])),
  });
  assert.ok(types("one").length > 0);
});

test("before the first snapshot no metrics of the cluster are exported", async (t) => {
  const series = await seriesOf(t, undefined);
  for (const name of ["node_resources", "gpus", "storage_bytes", "conditions"]) assert.deepEqual(series(name), {});
});
