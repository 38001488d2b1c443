import assert from "node:assert/strict";
import { test } from "node:test";
import type { Workload } from "../../src/box/cluster/components/controllers/replicas.ts";
import type { Pod } from "../../src/box/cluster/components/shapes/pod.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import {
  type ClusterStage,
  clusterStage,
  deployment,
  isRunningAndReady,
  node,
  podSpec,
  statefulSet,
} from "../support/stages/simulated-cluster-stage.ts";

const imageOf = ({ spec }: Pod) => spec.containers[0]?.image;
const namesOf = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);

function change(
  stage: ClusterStage,
  kind: typeof kinds.deployment,
  name: string,
  spec: Record<string, unknown>,
): KubeObject {
  const before = stage.get<Workload>(kind, name);
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

test("a deployment has as many pods as requested, named as in a real cluster, and reports of them", async (t) => {
  const { server, pods, get, until } = clusterStage(t);
  server.create(kinds.deployment, deployment("web", 3), "test");
  await until(() => get<Workload>(kinds.deployment, "web")?.status?.availableReplicas === 3);
  const hash = pods()[0]?.metadata.labels?.["pod-template-hash"];
  for (const name of namesOf(pods())) assert.match(name, new RegExp(`^web-${hash}-[a-z0-9]{5}$`));
  const { status } = get<Workload>(kinds.deployment, "web") ?? {};
  assert.deepEqual(status, {
    observedGeneration: 1,
    replicas: 3,
    updatedReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
  });
});

test("a pod whose service account is missing is rejected, and made once the account is there", async (t) => {
  const { server, pods, notes, until } = clusterStage(t);
  server.create(kinds.deployment, deployment("web", 1, { serviceAccountName: "web" }), "test");
  const namespace = "default";
  await until(() => notes("web").some((note) => note.includes(`error looking up service account ${namespace}/web`)));
  assert.equal(pods().length, 0);
  server.create(kinds.serviceAccount, { metadata: { namespace, name: "web" } }, "test");
  await until(() => pods().some(isRunningAndReady));
});

test("the deprecated name of the service account follows the new one, and comes back when only the new one is cleared", async (t) => {
  const stage = clusterStage(t);
  const { server, get } = stage;
  server.create(kinds.deployment, deployment("web", 0, { serviceAccountName: "web" }), "test");
  const accounts = () => {
    const spec = get<Workload>(kinds.deployment, "web")?.spec.template.spec;
    return [spec?.["serviceAccountName"], spec?.["serviceAccount"]];
  };
  const withAccount = (account: Record<string, string>) =>
    change(stage, kinds.deployment, "web", {
      template: { metadata: { labels: { app: "web" } }, spec: podSpec(account) },
    });
  withAccount({ serviceAccount: "web" });
  assert.deepEqual(accounts(), ["web", "web"]);
  withAccount({ serviceAccountName: "default", serviceAccount: "web" });
  assert.deepEqual(accounts(), ["default", "default"]);
});

test("pods that the API server rejects are tried again, and an event says why", async (t) => {
  const { server, pods, notes, until } = clusterStage(t);
  server.create(kinds.deployment, deployment("web", 1, { runtimeClassName: "nvidia" }), "test");
  await until(() => notes("web").some((note) => /RuntimeClass "nvidia" not found/.test(note)));
  server.create(kinds.runtimeClass, { metadata: { name: "nvidia" }, handler: "nvidia" }, "test");
  await until(() => pods().length === 1 && pods().every(isRunningAndReady));
});

test("an update has one pod more than requested, never fewer that work, and waits where the new one does not", async (t) => {
  const behaviour = (image: string) => (image === "web:2" ? { readyMs: Number.POSITIVE_INFINITY } : undefined);
  const stage = clusterStage(t, { behaviour });
  const { server, clock, pods, until } = stage;
  server.create(kinds.deployment, deployment("web", 4), "test");
  await until(() => pods().filter(isRunningAndReady).length === 4);
  change(stage, kinds.deployment, "web", probed("web:2"));
  await clock.advance(60_000);
  assert.deepEqual(pods().map(imageOf).sort(), ["web:1", "web:1", "web:1", "web:1", "web:2"]);
  let [most, fewest] = [0, 4];
  const stop = server.subscribe(({ kind }) => {
    if (kind !== kinds.pod) return;
    const living = pods().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    most = Math.max(most, living.length);
    fewest = Math.min(fewest, living.filter(isRunningAndReady).length);
  });
  change(stage, kinds.deployment, "web", withImage("web:3"));
  await until(() => pods().every((pod) => imageOf(pod) === "web:3" && isRunningAndReady(pod)) && pods().length === 4);
  stop();
  assert.deepEqual([most, fewest], [5, 4]);
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

test("a pod that is deleted is replaced", async (t) => {
  const { server, pods, until } = clusterStage(t);
  server.create(kinds.deployment, deployment("web", 2), "test");
  await until(() => pods().filter(isRunningAndReady).length === 2);
  const [first = ""] = namesOf(pods());
  server.delete(kinds.pod, { namespace: "default", name: first });
  await until(() => pods().length === 2 && pods().every(isRunningAndReady) && !namesOf(pods()).includes(first));
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
  const { updateRevision, ...counts } = get<Workload>(kinds.statefulSet, "db")?.status ?? {};
  assert.deepEqual(counts, {
    observedGeneration: 1,
    replicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    updatedReplicas: 3,
    currentReplicas: 3,
  });
  assert.equal(pods()[0]?.metadata.labels?.["controller-revision-hash"], updateRevision);
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

function storageClass(name: string): KubeObject {
  return { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name }, provisioner: "example.com/csi" };
}
