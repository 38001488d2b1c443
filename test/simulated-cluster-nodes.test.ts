import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../src/kube/kinds.ts";
import type { Node } from "../src/kube/simulated/cluster/shapes/node.ts";
import {
  clusterStage,
  condition,
  daemonSet,
  deployment,
  isRunningAndReady,
  node,
  podObject,
} from "./simulated-cluster-stage.ts";

const nodes = [node("one"), node("two")];

function taintsOf(object: Node | undefined): string[] {
  return (object?.spec.taints ?? []).map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`);
}

test("a node tells what it has, as a kubelet does", (t) => {
  const { get } = clusterStage(t, { nodes: [node("one", { gpus: { "nvidia.com/gpu": 8 }, labels: { zone: "a" } })] });
  const one = get<Node>(kinds.node, "one");
  assert.deepEqual(one?.status?.allocatable, {
    cpu: "4",
    memory: "16Gi",
    "ephemeral-storage": "100Gi",
    "nvidia.com/gpu": "8",
    pods: "110",
  });
  assert.equal(one?.metadata.labels?.["kubernetes.io/hostname"], "one");
  assert.equal(one?.metadata.labels?.["zone"], "a");
  assert.deepEqual(
    one?.status?.conditions?.map(({ type, status }) => `${type}=${status}`),
    ["MemoryPressure=False", "DiskPressure=False", "PIDPressure=False", "Ready=True"],
  );
  assert.deepEqual(one?.status?.addresses?.[0], { type: "InternalIP", address: "192.168.10.1" });
});

test("a node that is not ready is tainted at once, and its pods leave after five minutes", async (t) => {
  const { server, cluster, clock, get, pods, until } = clusterStage(t, { nodes: [node("one")] });
  server.create(kinds.deployment, deployment("web", 1), "test");
  await until(() => pods().some(isRunningAndReady));
  const [first] = pods();
  cluster.notReady("one");
  await clock.settle();
  assert.deepEqual(taintsOf(get(kinds.node, "one")), ["not-ready:NoSchedule", "not-ready:NoExecute"]);
  await clock.advance(299_000);
  assert.deepEqual(
    pods().map(({ metadata }) => metadata.uid),
    [first?.metadata.uid],
  );
  cluster.addNode(node("two"));
  await clock.advance(10_000);
  assert.deepEqual(
    pods().map(({ spec }) => spec.nodeName),
    ["two"],
  );
});

test("a node that comes back in time keeps its pods, and they are ready again", async (t) => {
  const { server, cluster, clock, get, pod, until } = clusterStage(t, { nodes: [node("one")] });
  server.create(kinds.pod, podObject("a"), "test");
  await until(() => isRunningAndReady(pod("a")));
  cluster.unreachable("one");
  await clock.advance(200_000);
  assert.equal(isRunningAndReady(pod("a")), false);
  cluster.ready("one");
  await clock.settle();
  assert.deepEqual(taintsOf(get(kinds.node, "one")), []);
  assert.ok(isRunningAndReady(pod("a")));
  await clock.advance(600_000);
  assert.ok(isRunningAndReady(pod("a")));
});

test("a silent node is unknown after 50 s; its pods are told to go but stay until it is back", async (t) => {
  const { server, cluster, clock, get, pod, until } = clusterStage(t, { nodes: [node("one")] });
  server.create(kinds.pod, podObject("a"), "test");
  await until(() => isRunningAndReady(pod("a")));
  cluster.unreachable("one");
  await clock.advance(49_999);
  assert.deepEqual(taintsOf(get(kinds.node, "one")), []);
  await clock.advance(1);
  assert.deepEqual(taintsOf(get(kinds.node, "one")), ["unreachable:NoSchedule", "unreachable:NoExecute"]);
  assert.equal(condition(pod("a"), "Ready")?.status, "False");
  await clock.advance(3_600_000);
  assert.notEqual(pod("a")?.metadata.deletionTimestamp, undefined);
  assert.equal(condition(pod("a"), "DisruptionTarget")?.reason, "DeletionByTaintManager");
  cluster.ready("one");
  await clock.advance(1_000);
  assert.equal(pod("a"), undefined);
});

test("a pod that tolerates the taint for a shorter time leaves sooner, one that tolerates it for ever stays", async (t) => {
  const { server, cluster, clock, pod, until } = clusterStage(t, { nodes: [node("one")] });
  const toleration = { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" };
  server.create(kinds.pod, podObject("short", { tolerations: [{ ...toleration, tolerationSeconds: 20 }] }), "test");
  server.create(kinds.pod, podObject("long", { tolerations: [toleration] }), "test");
  await until(() => isRunningAndReady(pod("short")) && isRunningAndReady(pod("long")));
  cluster.notReady("one");
  await clock.advance(25_000);
  assert.equal(pod("short"), undefined);
  await clock.advance(3_600_000);
  assert.equal(pod("long")?.metadata.deletionTimestamp, undefined);
});

test("pressure keeps new pods away and leaves the others", async (t) => {
  const { server, cluster, clock, get, pod, until } = clusterStage(t, { nodes: [node("one")] });
  server.create(kinds.pod, podObject("a"), "test");
  await until(() => isRunningAndReady(pod("a")));
  cluster.pressure("one", "Memory", true);
  server.create(kinds.pod, podObject("b"), "test");
  await clock.advance(600_000);
  assert.deepEqual(taintsOf(get(kinds.node, "one")), ["memory-pressure:NoSchedule"]);
  assert.deepEqual([isRunningAndReady(pod("a")), pod("b")?.spec.nodeName], [true, undefined]);
  cluster.pressure("one", "Memory", false);
  await until(() => isRunningAndReady(pod("b")));
});

test("a cordoned node takes no new pods, except those of daemon sets", async (t) => {
  const { server, cluster, clock, get, pods, until } = clusterStage(t, { nodes });
  cluster.cordon("one");
  await clock.settle();
  assert.deepEqual(taintsOf(get(kinds.node, "one")), ["unschedulable:NoSchedule"]);
  server.create(kinds.deployment, deployment("web", 3), "test");
  server.create(kinds.daemonSet, daemonSet("agent"), "test");
  await until(() => pods().filter(isRunningAndReady).length === 5);
  assert.deepEqual(
    pods()
      .map(({ metadata, spec }) => `${metadata.labels?.["app"]} ${spec.nodeName}`)
      .sort(),
    ["agent one", "agent two", "web two", "web two", "web two"],
  );
  cluster.uncordon("one");
  await clock.settle();
  assert.deepEqual(taintsOf(get(kinds.node, "one")), []);
});

test("a drained node loses its pods within their grace; they run elsewhere, those of daemon sets stay", async (t) => {
  const { server, cluster, pods, until } = clusterStage(t, { nodes });
  server.create(kinds.deployment, deployment("web", 4), "test");
  server.create(kinds.daemonSet, daemonSet("agent"), "test");
  await until(() => pods().filter(isRunningAndReady).length === 6);
  cluster.drain("one");
  await until(
    () =>
      pods()
        .filter(({ spec }) => spec.nodeName === "two")
        .filter(isRunningAndReady).length === 5,
  );
  assert.deepEqual(
    pods()
      .filter(({ spec }) => spec.nodeName === "one")
      .map(({ metadata }) => metadata.labels?.["app"]),
    ["agent"],
  );
});

test("pods of a node that is gone are given up after a while and replaced", async (t) => {
  const { server, cluster, clock, pods, until } = clusterStage(t, { nodes });
  server.create(kinds.deployment, deployment("web", 4), "test");
  await until(() => pods().filter(isRunningAndReady).length === 4);
  cluster.removeNode("one");
  await clock.advance(39_000);
  assert.ok(pods().some(({ spec }) => spec.nodeName === "one"));
  await clock.advance(5_000);
  assert.deepEqual(new Set(pods().map(({ spec }) => spec.nodeName)), new Set(["two"]));
  assert.equal(pods().filter(isRunningAndReady).length, 4);
});
