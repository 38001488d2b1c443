import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/box/cluster/components/shapes/pod.ts";
import { kinds } from "../../src/kube/kinds.ts";
import {
  clusterStage,
  condition,
  isRunningAndReady,
  node,
  podObject,
} from "../support/stages/simulated-cluster-stage.ts";

const nodeOf = (pod: Pod | undefined) => pod?.spec.nodeName;

test("a pod goes to the node with the most room", async (t) => {
  const { server, clock, pod } = clusterStage(t, { nodes: [node("small", { cpuMilli: 1_000n }), node("large")] });
  server.create(kinds.pod, podObject("a", { requests: { cpu: "500m" } }), "test");
  await clock.settle();
  assert.equal(nodeOf(pod("a")), "large");
});

test("a pod that fits nowhere says why, as a real one does, and runs when there is room", async (t) => {
  const nodes = [
    node("one"),
    node("two", { cpuMilli: 1_000n }),
    node("three", { taints: [{ key: "t", effect: "NoSchedule" }] }),
  ];
  const { server, cluster, until, clock, pod, notes } = clusterStage(t, { nodes });
  server.create(kinds.pod, podObject("first", { requests: { cpu: "3" } }), "test");
  await clock.settle();
  server.create(kinds.pod, podObject("second", { requests: { cpu: "2" } }), "test");
  await clock.settle();
  const message = "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.";
  const scheduled = condition(pod("second"), "PodScheduled");
  assert.deepEqual([scheduled?.status, scheduled?.reason, scheduled?.message], ["False", "Unschedulable", message]);
  assert.deepEqual(notes("second"), [`FailedScheduling: ${message}`]);
  assert.equal(pod("second")?.status?.phase, "Pending");
  cluster.addNode(node("four"));
  await until(() => isRunningAndReady(pod("second")));
  assert.equal(nodeOf(pod("second")), "four");
  assert.equal(condition(pod("second"), "PodScheduled")?.status, "True");
});

test("a pod that waits gets the room of one that is deleted or has finished", async (t) => {
  const behaviour = (image: string) => (image === "job:1" ? { exitAfterMs: 5_000 } : undefined);
  const { server, until, clock, pod } = clusterStage(t, { nodes: [node("one", { cpuMilli: 1_000n })], behaviour });
  const big = { requests: { cpu: "1" } };
  server.create(kinds.pod, podObject("job", { ...big, image: "job:1", restartPolicy: "Never" }), "test");
  await clock.settle();
  server.create(kinds.pod, podObject("next", big), "test");
  await clock.settle();
  assert.equal(nodeOf(pod("next")), undefined);
  await until(() => nodeOf(pod("next")) === "one");
  assert.equal(pod("job")?.status?.phase, "Succeeded");
  server.create(kinds.pod, podObject("last", big), "test");
  await clock.settle();
  assert.equal(nodeOf(pod("last")), undefined);
  server.delete(kinds.pod, { namespace: "default", name: "next" });
  await until(() => nodeOf(pod("last")) === "one");
});

test("a pod with a demand that is not simulated waits and says so, and one that only prefers it runs", async (t) => {
  const { server, clock, pod, notes } = clusterStage(t, { nodes: [node("one")] });
  const term = { labelSelector: { matchLabels: { app: "web" } }, topologyKey: "kubernetes.io/hostname" };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] };
  const spread = (whenUnsatisfiable: string) => ({
    topologySpreadConstraints: [{ ...term, maxSkew: 1, whenUnsatisfiable }],
  });
  const demands = {
    "required pod affinity": { affinity: { podAffinity: required } },
    "required pod anti-affinity": { affinity: { podAntiAffinity: required } },
    "topology spread constraints": spread("DoNotSchedule"),
    "init containers": { initContainers: [{ name: "first", image: "init:1" }] },
  };
  for (const [index, [what, demand]] of Object.entries(demands).entries()) {
    server.create(kinds.pod, podObject(`demands-${index}`, demand), "test");
    await clock.settle();
    assert.equal(nodeOf(pod(`demands-${index}`)), undefined, what);
    assert.match(
      notes(`demands-${index}`).join(),
      new RegExp(`^FailedScheduling: 0/1 nodes .*: the simulated scheduler does not know ${what}\\.`),
    );
  }
  const wishes = { affinity: { podAffinity: preferred, podAntiAffinity: preferred }, ...spread("ScheduleAnyway") };
  server.create(kinds.pod, podObject("prefers", wishes), "test");
  await clock.settle();
  assert.equal(nodeOf(pod("prefers")), "one");
});

test("a limit without a request is a request", async (t) => {
  const { server, clock, pod } = clusterStage(t, { nodes: [node("one", { cpuMilli: 1_000n })] });
  const containers = [{ name: "web", image: "web:1", resources: { limits: { cpu: "2" } } }];
  server.create(kinds.pod, podObject("a", { containers }), "test");
  await clock.settle();
  assert.match(condition(pod("a"), "PodScheduled")?.message ?? "", /Insufficient cpu/);
});

test("extended resources are counted, and a node without them has none", async (t) => {
  const nodes = [node("plain"), node("gpu", { gpus: { "nvidia.com/gpu": 2 } })];
  const { server, clock, pod } = clusterStage(t, { nodes });
  for (const name of ["a", "b", "c"]) {
    server.create(kinds.pod, podObject(name, { requests: { "nvidia.com/gpu": "1" } }), "test");
    await clock.settle();
  }
  assert.deepEqual(
    ["a", "b", "c"].map((name) => nodeOf(pod(name))),
    ["gpu", "gpu", undefined],
  );
  assert.match(condition(pod("c"), "PodScheduled")?.message ?? "", /2 Insufficient nvidia\.com\/gpu/);
});

test("a node takes no more pods than it allows", async (t) => {
  const { server, clock, pod } = clusterStage(t, { nodes: [node("one", { pods: 2 })] });
  for (const name of ["a", "b", "c"]) server.create(kinds.pod, podObject(name), "test");
  await clock.settle();
  assert.match(condition(pod("c"), "PodScheduled")?.message ?? "", /^0\/1 nodes are available: 1 Too many pods\./);
});

test("selectors, affinity and taints decide where a pod may go", async (t) => {
  const taints = [{ key: "gpu", value: "only", effect: "NoSchedule" } as const];
  const nodes = [node("a", { labels: { zone: "a" } }), node("b", { labels: { zone: "b" } }), node("gpu", { taints })];
  const { server, clock, pod } = clusterStage(t, { nodes });
  const zoneB = { matchExpressions: [{ key: "zone", operator: "In", values: ["b"] }] };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zoneB] } };
  server.create(kinds.pod, podObject("selector", { nodeSelector: { zone: "b" } }), "test");
  server.create(kinds.pod, podObject("required", { affinity: { nodeAffinity: required } }), "test");
  const tolerations = [{ key: "gpu", operator: "Equal", value: "only", effect: "NoSchedule" }];
  const toGpu = { nodeSelector: { "kubernetes.io/hostname": "gpu" } };
  server.create(kinds.pod, podObject("tolerant", { ...toGpu, tolerations }), "test");
  server.create(kinds.pod, podObject("intolerant", toGpu), "test");
  await clock.settle();
  const placed = ["selector", "required", "tolerant", "intolerant"].map((name) => nodeOf(pod(name)));
  assert.deepEqual(placed, ["b", "b", "gpu", undefined]);
});

test("a pod that names its node, or another scheduler, is none of ours", async (t) => {
  const { server, until, pod } = clusterStage(t, { nodes: [node("one"), node("two", { cpuMilli: 100n })] });
  server.create(kinds.pod, podObject("named", { nodeName: "two", requests: { cpu: "50m" } }), "test");
  server.create(kinds.pod, podObject("foreign", { schedulerName: "mine" }), "test");
  await until(() => isRunningAndReady(pod("named")));
  assert.equal(nodeOf(pod("named")), "two");
  assert.equal(nodeOf(pod("foreign")), undefined);
});

test("no nodes at all is said in words of its own", async (t) => {
  const { server, clock, pod } = clusterStage(t, { nodes: [] });
  server.create(kinds.pod, podObject("a"), "test");
  await clock.settle();
  assert.equal(condition(pod("a"), "PodScheduled")?.message, "no nodes available to schedule pods");
});
