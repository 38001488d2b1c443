import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeNode as Node } from "../src/box/cluster/components/shapes/node.ts";
import { kinds } from "../src/kube/kinds.ts";
import { clusterStage, deployment, isRunningAndReady, node, podObject } from "./simulated-cluster-stage.ts";

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

test("a node that is not ready is tainted, and takes no new pods until it is", async (t) => {
  const { server, cluster, clock, get, pod, until } = clusterStage(t, { nodes: [node("one")] });
  cluster.notReady("one");
  await clock.settle();
  assert.deepEqual(taintsOf(get(kinds.node, "one")), ["not-ready:NoSchedule", "not-ready:NoExecute"]);
  server.create(kinds.pod, podObject("a"), "test");
  await clock.advance(60_000);
  assert.equal(pod("a")?.spec.nodeName, undefined);
  cluster.ready("one");
  await until(() => isRunningAndReady(pod("a")));
  assert.deepEqual(taintsOf(get(kinds.node, "one")), []);
});

test("a cordoned node takes no new pods", async (t) => {
  const { server, cluster, clock, get, pods, until } = clusterStage(t, { nodes });
  cluster.cordon("one");
  await clock.settle();
  assert.deepEqual(taintsOf(get(kinds.node, "one")), ["unschedulable:NoSchedule"]);
  server.create(kinds.deployment, deployment("web", 3), "test");
  await until(() => pods().filter(isRunningAndReady).length === 3);
  assert.deepEqual(
    pods().map(({ spec }) => spec.nodeName),
    ["two", "two", "two"],
  );
  cluster.uncordon("one");
  await clock.settle();
  assert.deepEqual(taintsOf(get(kinds.node, "one")), []);
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
