import assert from "node:assert/strict";
import { test } from "node:test";
import type { Claim, PersistentVolume } from "../../src/box/cluster/components/shapes/storage.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import {
  clusterStage,
  condition,
  isRunningAndReady,
  node,
  podObject,
} from "../support/stages/simulated-cluster-stage.ts";

function storageClass(name: string, more: Record<string, unknown> = {}): KubeObject {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner: "example.com/csi",
    ...more,
  };
}

function claim(name: string, storageClassName: string | undefined, storage = "1Gi"): KubeObject {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } };
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default" },
    spec: storageClassName === undefined ? spec : { ...spec, storageClassName },
  };
}

const using = (claimName: string) => ({ volumes: [{ name: "data", persistentVolumeClaim: { claimName } }] });

test("a claim of an immediate class gets its volume at once, and the volume goes with it", async (t) => {
  const { server, clock, get } = clusterStage(t);
  server.create(kinds.storageClass, storageClass("beta2"), "test");
  server.create(kinds.persistentVolumeClaim, claim("data", "beta2", "5Gi"), "test");
  await clock.settle();
  const bound = get<Claim>(kinds.persistentVolumeClaim, "data");
  assert.equal(bound?.status?.phase, "Bound");
  assert.deepEqual(bound?.status?.capacity, { storage: "5Gi" });
  const volume = get<PersistentVolume>(kinds.persistentVolume, bound?.spec.volumeName ?? "");
  assert.equal(volume?.metadata.name, `pvc-${bound?.metadata.uid}`);
  assert.deepEqual([volume?.status?.phase, volume?.spec.claimRef?.name], ["Bound", "data"]);
  server.delete(kinds.persistentVolumeClaim, { namespace: "default", name: "data" });
  await clock.settle();
  assert.equal(server.list(kinds.persistentVolume).length, 0);
});

test("a volume that is to be retained outlives its claim", async (t) => {
  const { server, clock } = clusterStage(t);
  server.create(kinds.storageClass, storageClass("keep", { reclaimPolicy: "Retain" }), "test");
  server.create(kinds.persistentVolumeClaim, claim("data", "keep"), "test");
  await clock.settle();
  server.delete(kinds.persistentVolumeClaim, { namespace: "default", name: "data" });
  await clock.settle();
  const volumes = server.list(kinds.persistentVolume) as PersistentVolume[];
  assert.deepEqual(
    volumes.map(({ status }) => status?.phase),
    ["Released"],
  );
});

test("a claim that waits for its first consumer is bound when a pod of it has a node, on that node", async (t) => {
  const { server, clock, get, pod, until } = clusterStage(t, { nodes: [node("one"), node("two")] });
  const local = { provisioner: "rancher.io/local-path", volumeBindingMode: "WaitForFirstConsumer" };
  server.create(kinds.storageClass, storageClass("local", local), "test");
  server.create(kinds.persistentVolumeClaim, claim("data", "local"), "test");
  await clock.advance(60_000);
  assert.equal(get<Claim>(kinds.persistentVolumeClaim, "data")?.status?.phase, "Pending");
  server.create(kinds.pod, podObject("a", using("data")), "test");
  await until(() => isRunningAndReady(pod("a")));
  assert.equal(get<Claim>(kinds.persistentVolumeClaim, "data")?.status?.phase, "Bound");
  const home = pod("a")?.spec.nodeName ?? "";
  server.create(
    kinds.pod,
    podObject("filler", { requests: { cpu: "1" }, nodeSelector: { "kubernetes.io/hostname": home } }),
    "test",
  );
  server.create(kinds.pod, podObject("b", using("data")), "test");
  await until(() => isRunningAndReady(pod("b")));
  assert.equal(pod("b")?.spec.nodeName, home);
});

test("a pod waits for a claim that is not there, or not bound, and says so", async (t) => {
  const { server, clock, pod, until } = clusterStage(t);
  server.create(kinds.pod, podObject("a", using("data")), "test");
  await clock.settle();
  assert.match(
    condition(pod("a"), "PodScheduled")?.message ?? "",
    /^0\/1 nodes are available: persistentvolumeclaim "data" not found\./,
  );
  server.create(kinds.persistentVolumeClaim, claim("data", "later"), "test");
  await clock.advance(2_000);
  assert.match(condition(pod("a"), "PodScheduled")?.message ?? "", /pod has unbound immediate PersistentVolumeClaims/);
  server.create(kinds.storageClass, storageClass("later"), "test");
  await until(() => isRunningAndReady(pod("a")));
});

test("a claim without a class gets the default one", async (t) => {
  const { server, clock } = clusterStage(t);
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  server.create(kinds.storageClass, storageClass("plain", { metadata: { name: "plain", annotations } }), "test");
  server.create(kinds.persistentVolumeClaim, claim("data", undefined), "test");
  await clock.settle();
  const volumes = server.list(kinds.persistentVolume) as PersistentVolume[];
  assert.deepEqual(
    volumes.map(({ spec }) => spec.storageClassName),
    ["plain"],
  );
});

test("a claim takes the smallest volume that is there and large enough", async (t) => {
  const { server, clock, get } = clusterStage(t);
  for (const [name, storage] of [
    ["small", "1Gi"],
    ["large", "100Gi"],
    ["right", "10Gi"],
  ]) {
    const spec = { capacity: { storage }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } };
    server.create(kinds.persistentVolume, { metadata: { name: name ?? "" }, spec }, "test");
  }
  server.create(kinds.persistentVolumeClaim, claim("data", "", "5Gi"), "test");
  await clock.settle();
  assert.equal(get<Claim>(kinds.persistentVolumeClaim, "data")?.spec.volumeName, "right");
});

test("a claim in use is not deleted before its pod is gone", async (t) => {
  const { server, clock, get, pod, until } = clusterStage(t);
  server.create(kinds.storageClass, storageClass("beta2"), "test");
  server.create(kinds.persistentVolumeClaim, claim("data", "beta2"), "test");
  server.create(kinds.pod, podObject("a", using("data")), "test");
  await until(() => isRunningAndReady(pod("a")));
  server.delete(kinds.persistentVolumeClaim, { namespace: "default", name: "data" });
  await clock.advance(60_000);
  assert.notEqual(get(kinds.persistentVolumeClaim, "data")?.metadata.deletionTimestamp, undefined);
  server.delete(kinds.pod, { namespace: "default", name: "a" });
  await until(() => get(kinds.persistentVolumeClaim, "data") === undefined);
});
