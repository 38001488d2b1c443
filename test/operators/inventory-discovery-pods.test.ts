/** Discovery pods on nodes that will not have them, in the whole inventory operator. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { discoveryPodName } from "../../src/operators/inventory/nodes/discovery-pod.ts";
import { hardware, namespace, pod, stage } from "../support/stages/inventory-stage.ts";

const hourMs = 3_600_000;
const at = { namespace, name: discoveryPodName("one") };

function letPodsBe(cluster: SimulatedCluster, pods: string): void {
  const node = cluster.server.get(kinds.node, { name: "one" });
  assert.ok(node);
  const status = node["status"] as { allocatable: object };
  const changed = { ...status, allocatable: { ...status.allocatable, pods } };
  cluster.server.updateStatus(kinds.node, { ...node, status: changed }, "test");
}

/** Every discovery pod of the node that is made from now on. */
function madePods({ server }: SimulatedCluster, onMade: (pod: KubeObject) => void = () => undefined): KubeObject[] {
  const made: KubeObject[] = [];
  server.subscribe(({ type, object }) => {
    if (type !== "added" || object.metadata.name !== at.name) return;
    made.push(object);
    onMade(object);
  });
  return made;
}

const tooManyPods =
  "OutOfpods: Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1";

test("a node whose processors and memory are all taken is discovered all the same", async (t) => {
  const requests = { cpu: "8", memory: "32Gi" };
  const spec = { nodeName: "one", containers: [{ name: "main", image: "web", resources: { requests } }] };
  const { node, until } = await stage(t, {
    prepare: ({ server }) => void server.create(kinds.pod, pod("large", { spec }), "test"),
  });
  await until("hardware", () => node("one")?.hardware);
  assert.equal(node("one")?.cpuMilli.allocated, 8_000n);
});

test("a node that takes no more pods says so, is seldom tried, and is discovered when there is room", async (t) => {
  let made: KubeObject[] = [];
  const { cluster, clock, node, until } = await stage(t, {
    prepare(simulated) {
      letPodsBe(simulated, "1");
      simulated.server.create(kinds.pod, pod("web", { spec: { nodeName: "one" } }), "test");
      made = madePods(simulated);
    },
  });
  const messages = () => node("one")?.conditions.map(({ message }) => message) ?? [];
  await until("the reason", () => messages().includes(`its discovery pod ${at.name} has ended: ${tooManyPods}`));
  const silent: string[][] = [];
  for (let minute = 0; minute < 60; minute++) {
    await clock.advance(60_000);
    if (!messages().some((message) => message.includes(tooManyPods))) silent.push(messages());
  }
  assert.deepEqual(silent, [], "the reason is always reported");
  assert.ok(made.length >= 10 && made.length <= 20, `${made.length} pods in an hour`);
  cluster.server.delete(kinds.pod, { namespace: "tenants", name: "web" });
  await until("hardware", () => node("one")?.hardware);
  await until("the reason to go", () => messages().length === 0);
});

test("what was known of a node stays while it takes no new pod", async (t) => {
  const { cluster, clock, node, until } = await stage(t);
  await until("hardware", () => node("one")?.hardware);
  letPodsBe(cluster, "0");
  cluster.server.delete(kinds.pod, at);
  await until("the reason", () => node("one")?.conditions.some(({ message }) => message.includes("OutOfpods")));
  await clock.advance(hourMs);
  assert.deepEqual(node("one")?.hardware, hardware);
  assert.equal(node("one")?.namedGpus.length, 2);
});

test("deleted discovery pods are not recreated at once", async (t) => {
  const { cluster, clock, node, until } = await stage(t);
  await until("hardware", () => node("one")?.hardware);
  const made = madePods(cluster, () => queueMicrotask(() => void cluster.server.delete(kinds.pod, at)));
  cluster.server.delete(kinds.pod, at);
  await clock.advance(hourMs);
  assert.ok(made.length >= 10 && made.length <= 20, `${made.length} pods in an hour`);
});

test("a discovery pod that lasted is replaced at once, and its successor not so soon", async (t) => {
  const { cluster, clock, node, until } = await stage(t);
  await until("hardware", () => node("one")?.hardware);
  await clock.advance(hourMs);
  const made = madePods(cluster);
  cluster.server.delete(kinds.pod, at);
  await clock.advance(2_000);
  assert.equal(made.length, 1);
  cluster.server.delete(kinds.pod, at);
  await clock.advance(4_000);
  assert.equal(made.length, 1);
  await clock.advance(8_000);
  assert.equal(made.length, 2);
});
