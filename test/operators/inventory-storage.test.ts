/** Storage on the simulated cluster: what is installed late, goes away, comes twice or comes back under the same name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { storageKinds } from "../../src/operators/inventory/storage/classes.ts";
import { eventually } from "../support/eventually.ts";
import {
  cephCluster,
  cephDf,
  cephFilesystem,
  cephfsClass,
  cephPool,
  gib,
  localVolume,
  longhornClass,
  longhornNode,
  rbdClass,
  rbdVolume,
  storageClass,
  toolboxPod,
  volume,
} from "../support/samples/storage-samples.ts";
import { longhorn, openStorage, rook } from "./inventory-storage-stage.ts";

test("the order in which Rook, its cluster, the toolbox and the class come does not matter", async (t) => {
  const { install, put, ofClass, standIn } = openStorage(t, ["beta3"]);
  const reported = (text: string) =>
    eventually(text, () => ofClass("beta3")?.conditions.some(({ message }) => message.includes(text)));
  put(kinds.storageClass, rbdClass("beta3"));
  put(kinds.persistentVolume, rbdVolume("a", "beta3", "10Gi"));
  await reported("the cluster does not know cephclusters.ceph.rook.io");
  assert.equal(ofClass("beta3")?.bytes.allocatable, 0n);
  assert.equal(standIn.ran.length, 0);
  install(rook);
  await reported("there is no CephCluster");
  put(storageKinds.cephCluster, cephCluster());
  await reported("no toolbox pod is ready there");
  put(kinds.pod, toolboxPod("rook-ceph", false));
  put(storageKinds.cephBlockPool, cephPool("replicapool", { replicated: { size: 3 } }));
  put(kinds.pod, toolboxPod());
  const seen = await eventually(
    "the room",
    () => ofClass("beta3")?.bytes.allocatable === 100n * gib && ofClass("beta3"),
  );
  assert.deepEqual(seen.bytes, { capacity: 100n * gib, allocatable: 100n * gib, allocated: 10n * gib });
  assert.equal(seen.conditions.length, 0);
  await eventually("replicas", () => ofClass("beta3")?.replicas === 3);
});

test("Longhorn may be installed after its class, and is not watched without one", async (t) => {
  const { install, put, ofClass, storage, watched } = openStorage(t, ["beta2"]);
  await storage.synced();
  assert.ok(!longhorn.some((kind) => watched.has(kind)));
  put(kinds.storageClass, longhornClass("beta2", { numberOfReplicas: "1" }));
  await eventually("a condition", () => ofClass("beta2")?.conditions[0]?.message.includes("nodes.longhorn.io"));
  install(longhorn);
  put(storageKinds.longhornNode, longhornNode("a", { data: {} }));
  await eventually("room", () => ofClass("beta2")?.bytes.allocatable === 100n * gib);
  assert.deepEqual(ofClass("beta2")?.conditions, []);
  assert.deepEqual([...storage.classNames], ["beta2"]);
});

test("a class that goes leaves the others alone, and finds its volumes again when it comes back", async (t) => {
  const { put, remove, ofClass, allocated, read, settled } = openStorage(t, ["beta1", "other"]);
  put(kinds.storageClass, storageClass("beta1", "rancher.io/local-path"));
  put(kinds.storageClass, storageClass("other", "rancher.io/local-path"));
  put(kinds.persistentVolume, localVolume("a", "beta1", "10Gi", "worker"));
  put(kinds.persistentVolume, localVolume("b", "other", "20Gi", "worker"));
  await settled("other", 20n);
  await settled("beta1", 10n);
  remove(kinds.storageClass, "beta1");
  await eventually("beta1 gone", () => ofClass("beta1") === undefined);
  assert.match(read().conditions[0]?.message ?? "", /beta1 is configured, but does not exist; 1 of its volumes/);
  assert.equal(allocated("other"), 20n);
  remove(kinds.persistentVolume, "a");
  put(kinds.persistentVolume, localVolume("c", "beta1", "5Gi", "worker"));
  put(kinds.storageClass, storageClass("beta1", "rancher.io/local-path"));
  await settled("beta1", 5n);
  // Of the 75 that are left of the disk, each class and the ephemeral storage have a third.
  assert.equal(ofClass("other")?.bytes.allocatable, (20n + 25n) * gib);
});

test("a volume counts once, however many events it has", async (t) => {
  const { put, remove, faults, settled, read, changes } = openStorage(t, ["beta1"]);
  put(kinds.storageClass, storageClass("beta1", "rancher.io/local-path"));
  put(kinds.persistentVolume, localVolume("a", "beta1", "10Gi", "worker"));
  await settled("beta1", 10n);
  const before = changes();
  const again = localVolume("a", "beta1", "10Gi", "worker");
  put(kinds.persistentVolume, { ...again, metadata: { ...again.metadata, labels: { seen: "again" } } });
  put(kinds.persistentVolume, { ...again, status: { phase: "Released" } });
  await eventually("both changes", () => changes() >= before + 2);
  await settled("beta1", 10n);
  put(kinds.persistentVolume, localVolume("a", "beta1", "12Gi", "worker"));
  await settled("beta1", 12n);
  remove(kinds.persistentVolume, "a");
  put(kinds.persistentVolume, localVolume("a", "beta1", "3Gi", "worker"));
  await settled("beta1", 3n);
  // Nothing is lost or counted twice when the watch has to begin anew.
  faults.forgetPast();
  faults.cutWatches();
  put(kinds.persistentVolume, localVolume("b", "beta1", "4Gi", "worker"));
  await settled("beta1", 7n);
  put(kinds.persistentVolume, volume("odd", undefined, "1Gi"));
  put(kinds.persistentVolume, volume("sizeless", "beta1", "1Gi", { spec: { capacity: {} } }));
  await eventually("the odd one", () => read().conditions.some(({ type }) => type === "VolumeUnreadable"));
  await settled("beta1", 7n);
});

test("until classes and volumes were seen, nothing is said to be free", async (t) => {
  const { put, faults, storage, read } = openStorage(t, ["beta1"]);
  faults.forbid("list", kinds.persistentVolume);
  put(kinds.storageClass, storageClass("beta1", "rancher.io/local-path"));
  await eventually("the reason", () =>
    read().conditions[0]?.message.includes('cannot list resource "persistentvolumes"'),
  );
  assert.deepEqual(read().storage, []);
  assert.equal(storage.ready, false);
  faults.allow("list", kinds.persistentVolume);
  await eventually("ready", () => storage.ready);
  assert.equal(read().storage.length, 1);
});

test("a class of files learns of its replicas and disks when its filesystem comes", async (t) => {
  const { install, put, ofClass, standIn } = openStorage(t, ["files"]);
  standIn.says = { stdout: cephDf({ "myfs-replicated": [0n, 100n * gib] }) };
  install([...rook, storageKinds.cephFilesystem]);
  put(storageKinds.cephCluster, cephCluster());
  put(kinds.pod, toolboxPod());
  put(kinds.storageClass, cephfsClass("files"));
  await eventually("room", () => ofClass("files")?.bytes.allocatable === 100n * gib);
  assert.equal(ofClass("files")?.replicas, undefined);
  const dataPools = [{ name: "replicated", replicated: { size: 3 }, deviceClass: "nvme" }];
  put(storageKinds.cephFilesystem, cephFilesystem("myfs", dataPools));
  await eventually("replicas", () => ofClass("files")?.replicas === 3);
  assert.equal(ofClass("files")?.performance, "nvme");
});
