import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeNode as Node } from "../../src/box/cluster/components/shapes/node.ts";
import { kinds } from "../../src/kube/kinds.ts";
import {
  clusterStage,
  condition,
  deployment,
  isRunningAndReady,
  node,
  podObject,
  statefulSet,
} from "../support/stages/simulated-cluster-stage.ts";

const nodes = [node("one"), node("two")];

function taintsOf(object: Node | undefined): string[] {
  return (object?.spec.taints ?? []).map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`);
}

test("a node reports what it has, as a kubelet does", (t) => {
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

test("a machine that falls silent is held for lost after 50 seconds, and its pods are given up five minutes later", async (t) => {
  const { server, cluster, clock, get, pods, until } = clusterStage(t, { nodes });
  server.create(kinds.deployment, deployment("web", 4), "test");
  await until(() => pods().filter(isRunningAndReady).length === 4);
  cluster.lose("one");
  await clock.advance(49_000);
  assert.deepEqual(taintsOf(get(kinds.node, "one")), []);
  await clock.advance(2_000);
  assert.deepEqual(taintsOf(get(kinds.node, "one")), ["unreachable:NoSchedule", "unreachable:NoExecute"]);
  const ready = get<Node>(kinds.node, "one")?.status?.conditions?.find(({ type }) => type === "Ready");
  assert.deepEqual([ready?.status, ready?.reason], ["Unknown", "NodeStatusUnknown"]);
  assert.equal(pods().filter(isRunningAndReady).length, 2);
  assert.ok(pods().every(({ metadata }) => metadata.deletionTimestamp === undefined));
  await clock.advance(300_000);
  await until(() => pods().filter(isRunningAndReady).length === 4);
  // No one is there to end those of the lost machine.
  const leaving = () => pods().filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  assert.deepEqual(
    leaving().map(({ spec }) => spec.nodeName),
    ["one", "one"],
  );
  cluster.bringBack("one");
  await until(() => leaving().length === 0);
  assert.deepEqual(taintsOf(get(kinds.node, "one")), []);
});

test("a machine that is back in time keeps its pods", async (t) => {
  const { server, cluster, clock, pods, until } = clusterStage(t, { nodes });
  server.create(kinds.deployment, deployment("web", 4), "test");
  await until(() => pods().filter(isRunningAndReady).length === 4);
  const before = pods().map(({ metadata }) => metadata.uid);
  cluster.lose("one");
  await clock.advance(300_000);
  cluster.bringBack("one");
  await until(() => pods().filter(isRunningAndReady).length === 4);
  await clock.advance(600_000);
  assert.deepEqual(
    pods().map(({ metadata }) => metadata.uid),
    before,
  );
});

test("a drained node loses its pods to the others, and a volume that lies on it keeps its pod waiting", async (t) => {
  const { server, cluster, clock, pod, pods, until } = clusterStage(t, { nodes });
  const storage = { provisioner: "rancher.io/local-path", volumeBindingMode: "WaitForFirstConsumer" };
  server.create(kinds.storageClass, { metadata: { name: "local" }, ...storage }, "test");
  const claim = {
    storageClassName: "local",
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
  };
  const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: claim }];
  server.create(kinds.statefulSet, statefulSet("store", 1, { spec: { volumeClaimTemplates } }), "test");
  server.create(kinds.deployment, deployment("web", 3), "test");
  await until(() => pods().filter(isRunningAndReady).length === 4);
  const home = pod("store-0")?.spec.nodeName ?? "";
  cluster.drain(home);
  await clock.settle();
  const [target] = pods().filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  assert.equal(condition(target, "DisruptionTarget")?.reason, "EvictionByEvictionAPI");
  await until(() => pods().filter(isRunningAndReady).length === 3);
  await clock.advance(60_000);
  assert.match(
    condition(pod("store-0"), "PodScheduled")?.message ?? "",
    /1 node\(s\) didn't match PersistentVolume's node affinity/,
  );
  cluster.uncordon(home);
  await until(() => isRunningAndReady(pod("store-0")));
  assert.equal(pod("store-0")?.spec.nodeName, home);
});

test("a pod that is evicted for memory has failed and says why, another takes its place, and its node takes none", async (t) => {
  const { server, cluster, get, pods, until, notes } = clusterStage(t, { nodes });
  server.create(kinds.deployment, deployment("web", 1), "test");
  await until(() => pods().filter(isRunningAndReady).length === 1);
  const [victim] = pods();
  assert.ok(victim);
  cluster.evict(victim.metadata);
  await until(() => pods().filter(isRunningAndReady).length === 1);
  const failed = pods().find(({ metadata }) => metadata.uid === victim.metadata.uid);
  assert.deepEqual([failed?.status?.phase, failed?.status?.reason], ["Failed", "Evicted"]);
  assert.equal(condition(failed, "DisruptionTarget")?.reason, "TerminationByKubelet");
  assert.ok(notes(victim.metadata.name).includes("Evicted: The node was low on resource: memory. "));
  const home = victim.spec.nodeName ?? "";
  assert.deepEqual(taintsOf(get(kinds.node, home)), ["memory-pressure:NoSchedule"]);
  assert.notEqual(pods().find(isRunningAndReady)?.spec.nodeName, home);
  cluster.relieve(home);
  await until(() => taintsOf(get(kinds.node, home)).length === 0);
});

test("a kubelet that starts again ends the pods whose node has lost the labels that they require", async (t) => {
  const labels = { zone: "a" };
  const { server, cluster, clock, get, pods, until } = clusterStage(t, { nodes: [node("one", { labels })] });
  server.create(kinds.deployment, deployment("web", 1, { nodeSelector: labels }), "test");
  await until(() => pods().filter(isRunningAndReady).length === 1);
  const [first] = pods();
  cluster.restart("one");
  await clock.advance(1_000);
  assert.deepEqual(pods(), [first]);
  const live = get<Node>(kinds.node, "one");
  assert.ok(live);
  server.update(kinds.node, { ...live, metadata: { ...live.metadata, labels: {} } }, "test");
  cluster.restart("one");
  await clock.advance(1_000);
  const rejected = pods().find(({ metadata }) => metadata.uid === first?.metadata.uid);
  assert.deepEqual([rejected?.status?.phase, rejected?.status?.reason], ["Failed", "NodeAffinity"]);
  assert.equal(pods().filter(isRunningAndReady).length, 0);
});
