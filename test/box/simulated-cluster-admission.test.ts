/** Pods that name their node themselves: the scheduler never sees them, so the kubelet has to say no. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/box/cluster/components/shapes/pod.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { clusterStage, isRunningAndReady, node, podObject } from "../support/stages/simulated-cluster-stage.ts";

const nodeName = "one";
const why = (pod: Pod | undefined) => [pod?.status?.phase, pod?.status?.reason, pod?.status?.message];

const lack = (resource: string, requested: number, used: number, capacity: number) =>
  `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;

for (const { resource, first, second, message } of [
  { resource: "cpu", first: "3", second: "1500m", message: lack("cpu", 1500, 3000, 4000) },
  { resource: "memory", first: "1Gi", second: "16Gi", message: lack("memory", 2 ** 34, 2 ** 30, 2 ** 34) },
  {
    resource: "ephemeral-storage",
    first: "1Gi",
    second: "100Gi",
    message: lack("ephemeral-storage", 100 * 2 ** 30, 2 ** 30, 100 * 2 ** 30),
  },
  { resource: "nvidia.com/gpu", first: "2", second: "1", message: lack("nvidia.com/gpu", 1, 2, 2) },
]) {
  test(`a pod that names a node without enough ${resource} is turned away as by a kubelet`, async (t) => {
    const { server, clock, pod, notes } = clusterStage(t, {
      nodes: [node(nodeName, { gpus: { "nvidia.com/gpu": 2 } })],
    });
    server.create(kinds.pod, podObject("first", { nodeName, requests: { [resource]: first } }), "test");
    await clock.settle();
    server.create(kinds.pod, podObject("second", { nodeName, requests: { [resource]: second } }), "test");
    await clock.advance(60_000);
    assert.equal(pod("first")?.status?.phase, "Running");
    assert.deepEqual(why(pod("second")), ["Failed", `OutOf${resource}`, `Pod was rejected: ${message}`]);
    assert.deepEqual(notes("second"), [`OutOf${resource}: ${message}`]);
    assert.equal(pod("second")?.status?.containerStatuses, undefined);
  });
}

test("a node takes no more pods than it may, and one that requests nothing is let in where all else is taken", async (t) => {
  const { server, clock, pod } = clusterStage(t, { nodes: [node(nodeName, { pods: 2 })] });
  server.create(kinds.pod, podObject("large", { nodeName, requests: { cpu: "4", memory: "16Gi" } }), "test");
  await clock.settle();
  server.create(kinds.pod, podObject("modest", { nodeName, requests: { cpu: "0", memory: "0" } }), "test");
  await clock.settle();
  server.create(kinds.pod, podObject("third", { nodeName }), "test");
  await clock.advance(60_000);
  assert.ok(isRunningAndReady(pod("modest")));
  assert.deepEqual(why(pod("third")), ["Failed", "OutOfpods", `Pod was rejected: ${lack("pods", 1, 2, 2)}`]);
});

test("a pod that was turned away stays so, takes nothing, and can be deleted; the next one gets the room that is free by then", async (t) => {
  const { server, clock, pod, until } = clusterStage(t);
  const all = { nodeName, requests: { cpu: "4" } };
  server.create(kinds.pod, podObject("first", all), "test");
  await clock.settle();
  server.create(kinds.pod, podObject("second", all), "test");
  await clock.settle();
  server.delete(kinds.pod, { namespace: "default", name: "first" });
  await until(() => pod("first") === undefined);
  await clock.advance(60_000);
  assert.equal(pod("second")?.status?.phase, "Failed");
  server.create(kinds.pod, podObject("third", all), "test");
  await until(() => isRunningAndReady(pod("third")));
  server.delete(kinds.pod, { namespace: "default", name: "second" });
  await until(() => pod("second") === undefined);
});

test("a pod may request what its node has never heard of, as it may be the cluster's", async (t) => {
  const { server, pod, until } = clusterStage(t);
  server.create(kinds.pod, podObject("a", { nodeName, requests: { "example.com/licence": "1" } }), "test");
  await until(() => isRunningAndReady(pod("a")));
});
