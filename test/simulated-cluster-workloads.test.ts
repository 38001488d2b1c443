import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../src/kube/kinds.ts";
import type { KubeObject } from "../src/kube/kube.ts";
import type { Pod } from "../src/kube/simulated/cluster/shapes/pod.ts";
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "../src/kube/simulated/cluster/shapes/workload.ts";
import {
  type ClusterStage,
  clusterStage,
  condition,
  daemonSet,
  deployment,
  isRunningAndReady,
  node,
  podObject,
  podSpec,
  statefulSet,
} from "./simulated-cluster-stage.ts";

const imageOf = ({ spec }: Pod) => spec.containers[0]?.image;
const namesOf = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);

function change(
  stage: ClusterStage,
  kind: typeof kinds.deployment,
  name: string,
  spec: Record<string, unknown>,
): KubeObject {
  const before = stage.get<Deployment>(kind, name);
  assert.ok(before);
  return stage.server.update(kind, { ...before, spec: { ...before.spec, ...spec } }, "test");
}

function withImage(image: string, name = "web"): Record<string, unknown> {
  return { template: { metadata: { labels: { app: name } }, spec: podSpec({ image }) } };
}

/** Its pods are ready only when they say so. */
function probed(image: string): Record<string, unknown> {
  const readinessProbe = { tcpSocket: { port: 80 }, periodSeconds: 1 };
  const containers = [{ name: "web", image, readinessProbe }];
  return { template: { metadata: { labels: { app: "web" } }, spec: podSpec({ containers }) } };
}

test("a deployment makes a replica set, that makes pods, and all are named as in a real cluster", async (t) => {
  const stage = clusterStage(t);
  const { server, pods, get, until } = stage;
  server.create(kinds.deployment, deployment("web", 3), "test");
  await until(() => get<Deployment>(kinds.deployment, "web")?.status?.availableReplicas === 3);
  const [set] = server.list(kinds.replicaSet) as ReplicaSet[];
  const hash = set?.metadata.labels?.["pod-template-hash"];
  assert.equal(set?.metadata.name, `web-${hash}`);
  for (const name of namesOf(pods())) assert.match(name, new RegExp(`^web-${hash}-[a-z0-9]{5}$`));
  const { status, metadata } = get<Deployment>(kinds.deployment, "web") ?? {};
  const { conditions: _, ...counts } = status ?? {};
  assert.deepEqual(counts, {
    observedGeneration: 1,
    replicas: 3,
    updatedReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
  });
  assert.equal(metadata?.annotations?.["deployment.kubernetes.io/revision"], "1");
  assert.equal(condition(get(kinds.deployment, "web"), "Available")?.reason, "MinimumReplicasAvailable");
  const progress = condition(get(kinds.deployment, "web"), "Progressing");
  assert.deepEqual(
    [progress?.reason, progress?.message],
    ["NewReplicaSetAvailable", `ReplicaSet "web-${hash}" has successfully progressed.`],
  );
});

test("an update rolls from old to new within its bounds, and never loses service", async (t) => {
  const stage = clusterStage(t);
  const { server, clock, pods, get, until } = stage;
  const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } };
  server.create(kinds.deployment, deployment("web", 4, { spec: { strategy } }), "test");
  await until(() => pods().filter(isRunningAndReady).length === 4);
  change(stage, kinds.deployment, "web", withImage("web:2"));
  let [most, fewest] = [0, 4];
  const stop = server.subscribe(({ kind }) => {
    if (kind !== kinds.pod) return;
    const living = pods().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    most = Math.max(most, living.length);
    fewest = Math.min(fewest, living.filter(isRunningAndReady).length);
  });
  await until(() => pods().every((pod) => imageOf(pod) === "web:2" && isRunningAndReady(pod)) && pods().length === 4);
  stop();
  assert.deepEqual([most, fewest], [5, 3]);
  await clock.settle();
  assert.equal(
    get<Deployment>(kinds.deployment, "web")?.metadata.annotations?.["deployment.kubernetes.io/revision"],
    "2",
  );
  assert.equal(condition(get(kinds.deployment, "web"), "Progressing")?.reason, "NewReplicaSetAvailable");
});

test("an update whose pods never get ready keeps the old ones and is called late after its deadline", async (t) => {
  const behaviour = (image: string) => (image === "web:2" ? { readyMs: Number.POSITIVE_INFINITY } : undefined);
  const stage = clusterStage(t, { behaviour });
  const { server, clock, pods, get, until } = stage;
  server.create(
    kinds.deployment,
    deployment("web", 2, { spec: { progressDeadlineSeconds: 60, minReadySeconds: 5 } }),
    "test",
  );
  await until(() => get<Deployment>(kinds.deployment, "web")?.status?.availableReplicas === 2);
  change(stage, kinds.deployment, "web", probed("web:2"));
  await clock.advance(50_000);
  assert.equal(condition(get(kinds.deployment, "web"), "Progressing")?.status, "True");
  await clock.advance(20_000);
  const late = condition(get(kinds.deployment, "web"), "Progressing");
  assert.deepEqual([late?.status, late?.reason], ["False", "ProgressDeadlineExceeded"]);
  assert.equal(pods().filter((pod) => imageOf(pod) === "web:1" && isRunningAndReady(pod)).length, 2);
  change(stage, kinds.deployment, "web", withImage("web:1"));
  await until(() => pods().length === 2 && pods().every(isRunningAndReady));
  await clock.advance(10_000);
  assert.equal(condition(get(kinds.deployment, "web"), "Progressing")?.reason, "NewReplicaSetAvailable");
});

test("a deployment that recreates has no new pod before the last old one is gone", async (t) => {
  const stage = clusterStage(t);
  const { server, pods, until } = stage;
  server.create(kinds.deployment, deployment("web", 2, { spec: { strategy: { type: "Recreate" } } }), "test");
  await until(() => pods().filter(isRunningAndReady).length === 2);
  let mixed = false;
  const stop = server.subscribe(() => {
    if (new Set(pods().map(imageOf)).size > 1) mixed = true;
  });
  change(stage, kinds.deployment, "web", withImage("web:2"));
  await until(() => pods().length === 2 && pods().every((pod) => imageOf(pod) === "web:2" && isRunningAndReady(pod)));
  stop();
  assert.equal(mixed, false);
});

test("a deployment grows and shrinks, also to nothing, also in the middle of a rollout", async (t) => {
  const stage = clusterStage(t, { nodes: [node("one", { cpuMilli: 64_000n })] });
  const { server, pods, until } = stage;
  server.create(kinds.deployment, deployment("web", 2), "test");
  await until(() => pods().filter(isRunningAndReady).length === 2);
  change(stage, kinds.deployment, "web", { replicas: 10 });
  await until(() => pods().filter(isRunningAndReady).length === 10);
  change(stage, kinds.deployment, "web", withImage("web:2"));
  await until(() => pods().some((pod) => imageOf(pod) === "web:2"));
  change(stage, kinds.deployment, "web", { replicas: 20 });
  await until(() => pods().length === 20 && pods().every((pod) => imageOf(pod) === "web:2" && isRunningAndReady(pod)));
  change(stage, kinds.deployment, "web", { replicas: 0 });
  await until(() => pods().length === 0);
});

test("only so many old replica sets are kept", async (t) => {
  const stage = clusterStage(t);
  const { server, pods, clock, until } = stage;
  server.create(kinds.deployment, deployment("web", 1, { spec: { revisionHistoryLimit: 2 } }), "test");
  for (const version of [2, 3, 4, 5]) {
    await until(() => pods().length === 1 && pods().every(isRunningAndReady));
    change(stage, kinds.deployment, "web", withImage(`web:${version}`));
  }
  await until(() => pods().length === 1 && pods().every((pod) => imageOf(pod) === "web:5" && isRunningAndReady(pod)));
  await clock.settle();
  assert.equal(server.list(kinds.replicaSet).length, 3);
});

test("a pod that is deleted or fails is replaced, and a foreign one that matches is taken in", async (t) => {
  const { server, pods, get, pod, until } = clusterStage(t);
  server.create(kinds.deployment, deployment("web", 2), "test");
  await until(() => pods().filter(isRunningAndReady).length === 2);
  const [first = ""] = namesOf(pods());
  server.delete(kinds.pod, { namespace: "default", name: first });
  await until(() => pods().length === 2 && pods().every(isRunningAndReady) && !namesOf(pods()).includes(first));
  const [set] = server.list(kinds.replicaSet) as ReplicaSet[];
  server.create(kinds.pod, podObject("stray", { labels: set?.metadata.labels ?? {} }), "test");
  await until(() => pod("stray") === undefined || pods().length === 2);
  assert.equal(get<Deployment>(kinds.deployment, "web")?.status?.replicas, 2);
});

const claimed = {
  resources: { requests: { storage: "1Gi" } },
  accessModes: ["ReadWriteOnce"],
  storageClassName: "beta2",
};
const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: claimed }];

test("a stateful set makes its pods in order, each with its own claim", async (t) => {
  const { server, pods, get, until } = clusterStage(t);
  server.create(kinds.storageClass, storageClass("beta2"), "test");
  server.create(kinds.statefulSet, statefulSet("db", 3, { spec: { volumeClaimTemplates } }), "test");
  const seen: string[] = [];
  const stop = server.subscribe(({ type, kind, object }) => {
    if (kind !== kinds.pod) return;
    if (type === "added") seen.push(`${object.metadata.name} made`);
    if (isRunningAndReady(object as Pod) && !seen.includes(`${object.metadata.name} ready`))
      seen.push(`${object.metadata.name} ready`);
  });
  await until(() => pods().filter(isRunningAndReady).length === 3);
  stop();
  assert.deepEqual(
    seen,
    ["db-0", "db-1", "db-2"].flatMap((name) => [`${name} made`, `${name} ready`]),
  );
  const claims = server.list(kinds.persistentVolumeClaim);
  assert.deepEqual(
    claims.map(({ metadata }) => metadata.name),
    ["data-db-0", "data-db-1", "data-db-2"],
  );
  assert.deepEqual(
    claims.map((claim) => (claim["status"] as { phase: string }).phase),
    ["Bound", "Bound", "Bound"],
  );
  const { currentRevision, updateRevision, ...counts } = get<StatefulSet>(kinds.statefulSet, "db")?.status ?? {};
  assert.equal(currentRevision, updateRevision);
  assert.deepEqual(counts, {
    observedGeneration: 1,
    replicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    currentReplicas: 3,
    updatedReplicas: 3,
    collisionCount: 0,
  });
  assert.equal(pods()[1]?.metadata.labels?.["apps.kubernetes.io/pod-index"], "1");
});

test("a stateful set updates and shrinks from the last pod to the first; its claims stay", async (t) => {
  const stage = clusterStage(t);
  const { server, pods, until, clock } = stage;
  server.create(kinds.storageClass, storageClass("beta2"), "test");
  server.create(kinds.statefulSet, statefulSet("db", 3, { spec: { volumeClaimTemplates } }), "test");
  await until(() => pods().filter(isRunningAndReady).length === 3);
  const gone: string[] = [];
  const stop = server.subscribe(({ type, kind, object }) => {
    if (kind === kinds.pod && type === "deleted") gone.push(object.metadata.name);
  });
  change(stage, kinds.statefulSet as never, "db", withImage("db:2", "db"));
  await until(() => pods().length === 3 && pods().every((pod) => imageOf(pod) === "db:2" && isRunningAndReady(pod)));
  await clock.settle();
  change(stage, kinds.statefulSet as never, "db", { replicas: 1 });
  await until(() => pods().length === 1);
  stop();
  assert.deepEqual(gone, ["db-2", "db-1", "db-0", "db-2", "db-1"]);
  assert.equal(server.list(kinds.persistentVolumeClaim).length, 3);
});

test("a partition holds back the pods below it", async (t) => {
  const stage = clusterStage(t);
  const { server, pods, pod, until, clock } = stage;
  const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 1 } };
  server.create(kinds.statefulSet, statefulSet("db", 2, { spec: { updateStrategy } }), "test");
  await until(() => pods().filter(isRunningAndReady).length === 2);
  change(stage, kinds.statefulSet as never, "db", withImage("db:2", "db"));
  await until(() => isRunningAndReady(pod("db-1")) && pods().some((each) => imageOf(each) === "db:2"));
  server.delete(kinds.pod, { namespace: "default", name: "db-0" });
  await clock.advance(10_000);
  assert.deepEqual(pods().map(imageOf), ["web:1", "db:2"]);
});

test("a daemon set has one pod on every node that it may run on, and follows nodes that come and go", async (t) => {
  const taints = [{ key: "special", effect: "NoSchedule" } as const];
  const { server, cluster, pods, get, until, clock } = clusterStage(t, {
    nodes: [node("one"), node("two", { taints })],
  });
  server.create(kinds.daemonSet, daemonSet("agent"), "test");
  await until(() => pods().length === 1 && pods().every(isRunningAndReady));
  cluster.addNode(node("three"));
  await until(() => pods().length === 2 && pods().every(isRunningAndReady));
  assert.deepEqual(
    pods()
      .map(({ spec }) => spec.nodeName)
      .sort(),
    ["one", "three"],
  );
  const { desiredNumberScheduled, numberReady, numberAvailable } =
    get<DaemonSet>(kinds.daemonSet, "agent")?.status ?? {};
  assert.deepEqual([desiredNumberScheduled, numberReady, numberAvailable], [2, 2, 2]);
  cluster.removeNode("three");
  await clock.advance(60_000);
  assert.deepEqual(
    pods().map(({ spec }) => spec.nodeName),
    ["one"],
  );
});

test("a daemon set updates one node after the other", async (t) => {
  const stage = clusterStage(t, { nodes: [node("one"), node("two"), node("three")] });
  const { server, pods, until } = stage;
  server.create(kinds.daemonSet, daemonSet("agent"), "test");
  await until(() => pods().filter(isRunningAndReady).length === 3);
  let fewest = 3;
  const stop = server.subscribe(() => {
    fewest = Math.min(fewest, pods().filter((pod) => isRunningAndReady(pod) && !pod.metadata.deletionTimestamp).length);
  });
  change(stage, kinds.daemonSet as never, "agent", withImage("agent:2", "agent"));
  await until(() => pods().filter((pod) => imageOf(pod) === "agent:2" && isRunningAndReady(pod)).length === 3);
  stop();
  assert.equal(fewest, 2);
});

function storageClass(name: string): KubeObject {
  return { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name }, provisioner: "example.com/csi" };
}
