/** Random histories: whatever happens, no node is overfull, no pod is where it may not be, and nothing is left behind. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ServerEvent } from "../../src/box/cluster/api-server/in-process.ts";
import type { KubeNode as Node } from "../../src/box/cluster/components/shapes/node.ts";
import type { Pod } from "../../src/box/cluster/components/shapes/pod.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { runs } from "../support/runs.ts";
import {
  type ClusterStage,
  clusterStage,
  deployment,
  isRunningAndReady,
  node,
  podObject,
} from "../support/stages/simulated-cluster-stage.ts";

const slot = fc.integer({ min: 0, max: 3 });
const cpu = fc.constantFrom(100, 300, 700, 1_500);
const zone = fc.constantFrom(undefined, "a", "b");

const step = fc.oneof(
  fc.record({ do: fc.constant("pod" as const), slot, cpu, zone, tolerant: fc.boolean() }),
  fc.record({ do: fc.constant("deploy" as const), slot, cpu, zone, replicas: fc.integer({ min: 0, max: 4 }) }),
  fc.record({ do: fc.constantFrom("unpod" as const, "undeploy" as const, "evict" as const), slot }),
  fc.record({ do: fc.constant("node" as const), slot, zone, tainted: fc.boolean() }),
  fc.record({ do: fc.constantFrom("unnode" as const, "cordon" as const, "uncordon" as const), slot }),
  fc.record({ do: fc.constantFrom("notReady" as const, "ready" as const), slot }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(0, 700, 5_000, 60_000, 400_000) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Two nodes come first: most histories would else be about nothing. */
const history = fc
  .array(step, { maxLength: 25 })
  .map((steps): Step[] => [
    { do: "node", slot: 0, zone: "a", tainted: false },
    { do: "node", slot: 1, zone: "b", tainted: true },
    ...steps,
  ]);

const names = ["one", "two", "three", "four"] as const;
const taint = { key: "special", effect: "NoSchedule" } as const;
const tolerations = [{ key: "special", operator: "Exists" }];
const cpuOf = ({ spec }: Pod) => Number.parseInt(String(spec.containers[0]?.resources?.requests?.["cpu"] ?? "0"), 10);
const nodeCpu = 2_000;

function play(stage: ClusterStage, next: Step): void {
  const { server, cluster } = stage;
  const name = "slot" in next ? (names[next.slot] ?? "one") : "";
  const there = server.get(kinds.node, { name }) !== undefined;
  const at = { namespace: "default", name };
  if (next.do === "pod" && !server.get(kinds.pod, at)) server.create(kinds.pod, podObject(name, wish(next)), "test");
  if (next.do === "deploy")
    server.apply(kinds.deployment, deployment(name, next.replicas, wish(next)), { manager: "test" });
  if (next.do === "unpod") server.delete(kinds.pod, at);
  if (next.do === "undeploy") server.delete(kinds.deployment, at);
  if (next.do === "evict")
    for (const { metadata } of stage.pods().slice(next.slot, next.slot + 1)) server.delete(kinds.pod, metadata);
  if (next.do === "node" && !there) {
    const labels = next.zone ? { zone: next.zone } : {};
    cluster.addNode(node(name, { cpuMilli: BigInt(nodeCpu), labels, ...(next.tainted ? { taints: [taint] } : {}) }));
  }
  if (!there) return;
  if (next.do === "unnode") cluster.removeNode(name);
  if (next.do === "cordon" || next.do === "uncordon") cluster[next.do](name);
  if (next.do === "notReady" || next.do === "ready") cluster[next.do](name);
}

function wish(next: { cpu: number; zone: string | undefined; tolerant?: boolean }) {
  return {
    requests: { cpu: `${next.cpu}m` },
    ...(next.zone ? { nodeSelector: { zone: next.zone } } : {}),
    ...(next.tolerant ? { tolerations } : {}),
  };
}

/** Judges every binding in the moment in which it is made; what was wrong with them. */
function watchBindings({ server }: ClusterStage): string[] {
  const faults: string[] = [];
  const bound = new Set<string>();
  server.subscribe(({ type, kind, object }: ServerEvent) => {
    if (kind !== kinds.pod || type === "deleted") return;
    const pod = object as Pod;
    const { nodeName } = pod.spec;
    if (!nodeName || bound.has(pod.metadata.uid)) return;
    bound.add(pod.metadata.uid);
    const home = server.get(kinds.node, { name: nodeName }) as Node | undefined;
    const obstacle = home ? obstacleFor(pod, home) : "it is not there";
    if (obstacle) faults.push(`${pod.metadata.name} was given to ${nodeName}: ${obstacle}`);
    const here = (server.list(kinds.pod) as Pod[]).filter(({ spec }) => spec.nodeName === nodeName);
    const taken = here.reduce((sum, each) => sum + cpuOf(each), 0);
    if (taken > nodeCpu) faults.push(`${nodeName} has ${taken} of ${nodeCpu} cpu`);
  });
  return faults;
}

function obstacleFor({ spec }: Pod, { metadata, spec: { unschedulable, taints = [] } }: Node): string | undefined {
  if (unschedulable) return "closed";
  if (spec.nodeSelector?.["zone"] && metadata.labels?.["zone"] !== spec.nodeSelector["zone"]) return "zone";
  const tolerated = (key: string) =>
    (spec.tolerations ?? []).some((each) => each.key === key && !each.tolerationSeconds);
  return taints.find(({ key }) => !tolerated(key))?.key;
}

test("no history overfills a node, misplaces a pod, or leaves anything behind", async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.nat(), async (steps, seed) => {
      const closing: (() => unknown)[] = [];
      const stage = clusterStage({ after: (close) => void closing.push(close) }, { nodes: [], seed });
      const { server, clock, cluster, pods } = stage;
      const faults = watchBindings(stage);
      for (const next of steps) {
        play(stage, next);
        await clock.advance(next.do === "wait" ? next.ms : 0);
      }
      // When all nodes are well and time has passed, every pod runs, or there is no node for it.
      for (const { metadata } of server.list(kinds.node)) {
        cluster.ready(metadata.name);
        cluster.uncordon(metadata.name);
      }
      await clock.advance(600_000);
      assert.deepEqual(faults, []);
      assert.deepEqual(
        pods()
          .filter((pod) => !isSettled(stage, pod))
          .map(({ metadata }) => metadata.name),
        [],
      );
      for (const { metadata } of server.list(kinds.deployment)) server.delete(kinds.deployment, metadata);
      await clock.advance(600_000);
      assert.equal(server.list(kinds.replicaSet).length, 0);
      assert.deepEqual(
        pods().filter(({ metadata }) => metadata.ownerReferences),
        [],
      );
      for (const close of closing) await close();
    }),
    { numRuns: runs(25, 2_000) },
  );
});

function isSettled(stage: ClusterStage, pod: Pod): boolean {
  const { nodeName } = pod.spec;
  if (nodeName) return isRunningAndReady(pod) && stage.get(kinds.node, nodeName) !== undefined;
  return (stage.server.list(kinds.node) as Node[]).every((home) => {
    const here = stage.pods().filter(({ spec }) => spec.nodeName === home.metadata.name);
    const taken = here.reduce((sum, each) => sum + cpuOf(each), 0);
    return obstacleFor(pod, home) !== undefined || taken + cpuOf(pod) > nodeCpu;
  });
}

test("the same seed gives the same history, another seed another one", async (t) => {
  const historyOf = async (seed: number) => {
    const stage = clusterStage(t, { nodes: names.map((name) => node(name)), seed });
    const seen: string[] = [];
    stage.server.subscribe(({ type, kind, object }) => void seen.push(JSON.stringify([type, kind.kind, object])));
    stage.server.create(kinds.deployment, deployment("web", 6, { requests: { cpu: "300m" } }), "test");
    await stage.clock.advance(20_000);
    stage.cluster.removeNode("two");
    await stage.clock.advance(60_000);
    return seen;
  };
  const [first, second, third] = [await historyOf(3), await historyOf(3), await historyOf(4)];
  assert.ok(first.length > 50);
  assert.deepEqual(second, first);
  assert.notDeepEqual(third, first);
});

test("hundreds of pods are placed and run, and as quickly as the machine allows", async (t) => {
  const nodes = Array.from({ length: runs(10, 200) }, (_, n) => node(`node-${n}`, { cpuMilli: 32_000n }));
  const { server, pods, until } = clusterStage(t, { nodes });
  const replicas = 25;
  for (const [n] of nodes.entries()) {
    server.create(kinds.deployment, deployment(`web-${n}`, replicas, { requests: { cpu: "500m" } }), "test");
  }
  const startedMs = performance.now();
  await until(() => pods().filter(isRunningAndReady).length === nodes.length * replicas, 60_000);
  t.diagnostic(
    `${nodes.length * replicas} pods on ${nodes.length} nodes in ${Math.round(performance.now() - startedMs)} ms`,
  );
  const onNodes = new Map<string, number>();
  for (const { spec } of pods()) onNodes.set(spec.nodeName ?? "", (onNodes.get(spec.nodeName ?? "") ?? 0) + 1);
  assert.deepEqual(new Set(onNodes.values()), new Set([replicas]));
});
