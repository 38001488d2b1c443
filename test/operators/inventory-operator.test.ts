/** The whole inventory operator on the simulated cluster, under the virtual clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import type { Hardware } from "../../src/operators/inventory/hardware.ts";
import type { NodeInventory } from "../../src/operators/inventory/inventory.ts";
import { discoveryPodName } from "../../src/operators/inventory/nodes/discovery-pod.ts";
import { discoveryAnswerBytes } from "../../src/operators/inventory/nodes/discovery-pods.ts";
import { gib, localVolume, storageClass } from "../support/samples/storage-samples.ts";
import { discoveryImage, hardware, namespace, pod, stage } from "../support/stages/inventory-stage.ts";

const modelKey = "akash.network/capabilities.gpu.vendor.nvidia.model.h200";

function reasonsOf(node: NodeInventory | undefined) {
  return node?.notOffered.map(({ message }) => message);
}

test("every node is discovered, counted and labelled", async (t) => {
  const { node, until, discoveryPods, labels } = await stage(t);
  await until("hardware of both", () => node("one")?.hardware && node("two")?.hardware);
  assert.deepEqual(
    discoveryPods()
      .map(({ spec }) => (spec as { nodeName: string }).nodeName)
      .sort(),
    ["one", "two"],
  );
  assert.deepEqual(
    node("one")?.namedGpus.map(({ name, memorySize }) => [name, memorySize]),
    [
      ["h200", "141Gi"],
      ["h200", "141Gi"],
    ],
  );
  await until("labels", () => labels("one")[modelKey] === "2");
  assert.equal(labels("one")["akash.network"], "true");
  assert.equal(labels("one")["nvidia.com/gpu.present"], "true");
  assert.equal(labels("one")["example.com/theirs"], "yes");
});

test("a pod is counted where it was put, and given back when it is gone", async (t) => {
  const { cluster, node, until } = await stage(t);
  await until("the first snapshot", () => node("one"));
  const idle = node("one")?.cpuMilli.allocated;
  cluster.server.create(kinds.pod, pod("web", { gpus: "1", spec: { nodeName: "one" } }), "test");
  await until("the pod to count", () => node("one")?.gpus.allocated === 1n);
  const busy = node("one")?.cpuMilli.allocated;
  // The discovery pod may have come meanwhile; it requests no resources.
  assert.ok(busy !== undefined && idle !== undefined);
  assert.equal(busy - idle, 1_500n);
  cluster.server.delete(kinds.pod, { namespace: "tenants", name: "web" });
  await until("the pod to go", () => node("one")?.gpus.allocated === 0n);
  assert.equal(node("one")?.cpuMilli.allocated, 0n);
});

test("a node that is not ready, cordoned or excluded is not offered, and says why", async (t) => {
  const { cluster, node, until, labels } = await stage(t, { config: "version: v1\nexclude:\n  nodes: [^two$]" });
  await until("labels", () => labels("one")[modelKey] === "2");
  assert.deepEqual(reasonsOf(node("two")), ["excluded by the configuration (^two$)"]);
  cluster.nodes.notReady("one");
  await until("it to be withdrawn", () => node("one")?.offered === false);
  assert.deepEqual(reasonsOf(node("one")), ["not ready"]);
  cluster.nodes.ready("one");
  cluster.nodes.cordon("one");
  await until("the other reason", () => reasonsOf(node("one"))?.[0] === "cordoned");
  // Its pods require them, also when its kubelet starts again.
  assert.equal(labels("one")[modelKey], "2");
  assert.equal(labels("one")["example.com/theirs"], "yes");
  cluster.nodes.uncordon("one");
  await until("it to be back", () => node("one")?.offered);
});

test("a discovery pod that is deleted is replaced, and one of an excluded or gone node goes", async (t) => {
  const { cluster, node, until, discoveryPods } = await stage(t);
  await until("hardware of both", () => node("one")?.hardware && node("two")?.hardware);
  const uidOn = (name: string) =>
    discoveryPods().find(({ spec }) => (spec as { nodeName: string }).nodeName === name)?.metadata.uid;
  const [first] = [uidOn("one")];
  cluster.server.delete(kinds.pod, { namespace, name: discoveryPods()[0]?.metadata.name ?? "" });
  await until(
    "another one",
    () => uidOn("one") !== undefined && uidOn("one") !== first && discoveryPods().length === 2,
  );
  cluster.nodes.removeNode("two");
  await until("the pod of the gone node to go", () => discoveryPods().length === 1);
  assert.deepEqual(node("two"), undefined);
});

test("no discovery pod is created before its image is known", async (t) => {
  let image: string | undefined;
  const { node, until, discoveryPods } = await stage(t, { image: () => image });
  await until("the condition", () => node("one")?.conditions.some(({ type }) => type === "DiscoveryMissing"));
  assert.equal(node("one")?.cpuMilli.allocatable, 8_000n);
  assert.deepEqual(discoveryPods(), []);
  image = discoveryImage;
  await until("hardware of both", () => node("one")?.hardware && node("two")?.hardware);
});

test("another program's pod with the name of a discovery pod is left alone and reported", async (t) => {
  const name = discoveryPodName("one");
  const { cluster, node, until, operator } = await stage(t, {
    prepare: ({ server }) => void server.create(kinds.pod, { ...pod(name), metadata: { name, namespace } }, "test"),
  });
  await until("the condition", () => node("one")?.conditions.some(({ message }) => message.includes(`${name} exists`)));
  await until("hardware of the other", () => node("two")?.hardware);
  assert.equal(cluster.server.get(kinds.pod, { namespace, name })?.metadata.labels, undefined);
  assert.equal(operator.queues[0]?.counts.outcomes.failed, 0);
});

test("an invalid answer of discovery keeps the last good one and is reported", async (t) => {
  let answer: Hardware | undefined = hardware;
  const { clock, node, until, labels } = await stage(t, { hardware: () => answer });
  await until("labels", () => labels("one")[modelKey] === "2");
  answer = undefined;
  await until("the condition", () => node("one")?.conditions.some(({ type }) => type === "DiscoveryMissing"));
  await clock.advance(3_600_000);
  assert.equal(node("one")?.namedGpus.length, 2);
  assert.equal(labels("one")[modelKey], "2");
  answer = hardware;
  await until("the end of the condition", () => node("one")?.conditions.length === 0);
});

test("changed or removed labels of ours are restored, foreign ones left alone", async (t) => {
  const { cluster, until, labels } = await stage(t);
  await until("labels", () => labels("one")[modelKey] === "2");
  const live = cluster.server.get(kinds.node, { name: "one" });
  assert.ok(live);
  const { [modelKey]: _, ...rest } = labels("one");
  const edited = { ...rest, "akash.network": "false", "example.com/new": "1" };
  cluster.server.update(kinds.node, { ...live, metadata: { ...live.metadata, labels: edited } }, "kubectl-edit");
  await until("ours to be back", () => labels("one")[modelKey] === "2" && labels("one")["akash.network"] === "true");
  assert.equal(labels("one")["example.com/new"], "1");
});

test("while the API server is unreachable the last snapshot stays, with its age and the reason", async (t) => {
  const { cluster, clock, operator, node, until } = await stage(t);
  await until("hardware", () => node("one")?.hardware && node("two")?.hardware);
  cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
  cluster.faults.cutWatches();
  await clock.advance(400_000);
  assert.equal(operator.inventory?.nodes.length, 2);
  assert.ok(operator.ageMs > 300_000);
  assert.ok(operator.inventory?.conditions.some(({ type }) => type === "Stale"));
  cluster.faults.clear();
  await until("the end of the condition", () => operator.inventory?.conditions.length === 0);
});

test("a node that pods are kept from by a taint, or by their number, is not offered", async (t) => {
  const { cluster, node, until, labels } = await stage(t);
  const { server } = cluster;
  await until("labels", () => labels("one")[modelKey] === "2" && labels("two")[modelKey] === "2");
  const taint = (...taints: object[]) => {
    const live = server.get(kinds.node, { name: "one" });
    assert.ok(live);
    server.update(kinds.node, { ...live, spec: { ...(live["spec"] as object), taints } }, "kubectl-taint");
  };
  taint({ key: "team", value: "ml", effect: "NoSchedule" });
  await until("it to be withdrawn", () => node("one")?.offered === false);
  assert.deepEqual(reasonsOf(node("one")), ["tainted team=ml:NoSchedule, which workloads of tenants do not tolerate"]);
  taint();
  await until("it to be back", () => node("one")?.offered && labels("one")[modelKey] === "2");

  /** The kubelet's default. */
  const limit = 110;
  const spec = { nodeName: "two", containers: [{ name: "main", image: "web" }] };
  // The discovery pod is one of them.
  for (let n = 1; n < limit; n += 1) server.create(kinds.pod, pod(`small-${n}`, { spec }), "test");
  await until("it to be full", () => node("two")?.offered === false);
  assert.deepEqual(reasonsOf(node("two")), [`full: it has ${limit} pods and takes ${limit}`]);
  assert.equal(labels("two")[modelKey], "2");
  server.delete(kinds.pod, { namespace: "tenants", name: "small-1" });
  await until("it to be back", () => node("two")?.offered);
});

test("time-sliced GPUs lose their market names when the plugin counts them", async (t) => {
  const { cluster, node, until, labels } = await stage(t);
  await until("labels", () => labels("one")[modelKey] === "2");
  const live = cluster.server.get(kinds.node, { name: "one" });
  assert.ok(live);
  const status = live["status"] as { capacity: object; allocatable: object };
  const sliced = { "nvidia.com/gpu": "8" };
  const capacity = { ...status.capacity, ...sliced };
  const allocatable = { ...status.allocatable, ...sliced };
  cluster.server.updateStatus(kinds.node, { ...live, status: { ...status, capacity, allocatable } }, "device-plugin");
  await until("the labels to go", () => labels("one")[modelKey] === undefined);
  assert.ok(node("one")?.conditions.some(({ type }) => type === "GpuShared"));
  assert.deepEqual(node("one")?.gpus, { capacity: 8n, allocatable: 8n, allocated: 0n });
  assert.equal(node("one")?.offered, true);
});

test("the disk of a node is not sold as ephemeral storage and as volumes of local-path at once", async (t) => {
  const config = "version: v1\ncluster_storage: [beta1]";
  const { cluster, operator, node, until } = await stage(t, { config });
  const { server } = cluster;
  const ephemeralFree = (name: string) => {
    const { allocatable = 0n, allocated = 0n } = node(name)?.ephemeralBytes ?? {};
    return (allocatable - allocated) / gib;
  };
  const classFree = () => {
    const { allocatable = 0n, allocated = 0n } = operator.inventory?.storage[0]?.bytes ?? {};
    return (allocatable - allocated) / gib;
  };
  await until("the disks", () => ephemeralFree("one") === 100n && ephemeralFree("two") === 100n);
  const beta1 = storageClass("beta1", "rancher.io/local-path");
  server.create(kinds.storageClass, beta1, "test");
  await until("the class", () => classFree() === 100n);
  assert.deepEqual([ephemeralFree("one"), ephemeralFree("two")], [50n, 50n]);
  server.create(kinds.persistentVolume, localVolume("data", "beta1", "40Gi", "one"), "test");
  await until("the volume", () => classFree() === 80n);
  assert.deepEqual([ephemeralFree("one"), ephemeralFree("two")], [30n, 50n]);
  server.update(kinds.storageClass, { ...beta1, metadata: { name: "beta1" } }, "test");
  await until("the class to be withdrawn", () => operator.inventory?.storage.length === 0);
  assert.deepEqual([ephemeralFree("one"), ephemeralFree("two")], [60n, 100n]);
  server.delete(kinds.persistentVolume, { name: "data" });
  await until("the volume to go", () => ephemeralFree("one") === 100n);
});

test("a node whose discovery answer is too large is reported, and the others are unaffected", async (t) => {
  const big = { ...hardware, interfaces: Array.from({ length: 60_000 }, (_, n) => ({ name: `veth${n}`, up: true })) };
  const limits: (number | undefined)[] = [];
  const { node, until, labels } = await stage(t, {
    through: (kube) => ({
      ...kube,
      async proxy(target, request) {
        if (target.name !== discoveryPodName("one")) return kube.proxy(target, request);
        limits.push(request?.mostBytes);
        return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(big)) };
      },
    }),
  });
  await until("the other node's labels", () => labels("two")[modelKey] === "2");
  await until("the condition", () =>
    node("one")?.conditions.some(({ message }) => /interfaces: Too big/.test(message)),
  );
  assert.equal(node("one")?.hardware, undefined);
  assert.equal(node("one")?.offered, true);
  assert.deepEqual(node("two")?.conditions, []);
  assert.deepEqual([...new Set(limits)], [discoveryAnswerBytes]);
});
