import assert from "node:assert/strict";
import { test } from "node:test";
import {
  gib,
  localVolume,
  rbdClass,
  rbdVolume,
  storageClass,
  volume,
} from "../../../../test/support/samples/storage-samples.ts";
import { driverOf, readStorageClass, readVolume, type StorageClass, sumVolumes } from "./classes.ts";

const none = new Map<string, StorageClass>();

test("a class belongs to the backend that its provisioner names", () => {
  const cases: [string, string | undefined][] = [
    ["rook-ceph.rbd.csi.ceph.com", "ceph"],
    ["rook-ceph.cephfs.csi.ceph.com", "ceph"],
    ["rbd.csi.ceph.com", "ceph"],
    ["driver.longhorn.io", "longhorn"],
    ["rancher.io/local-path", "local-path"],
    ["kubernetes.io/no-provisioner", undefined],
    ["csi.ceph.com.example.com", undefined],
    ["", undefined],
  ];
  for (const [provisioner, driver] of cases) assert.equal(driverOf({ provisioner }), driver, provisioner);
});

test("a class is labelled when Go would read the label as true", () => {
  for (const value of ["true", "True", "TRUE", "1", "t", "T"]) {
    const metadata = { name: "beta2", labels: { "akash.network": value } };
    assert.equal(readStorageClass({ metadata }).labelled, true, value);
  }
  for (const value of ["false", "yes", "", "0"]) {
    const metadata = { name: "beta2", labels: { "akash.network": value } };
    assert.equal(readStorageClass({ metadata }).labelled, false, value);
  }
  assert.deepEqual(readStorageClass({ metadata: { name: "odd" }, provisioner: 7, parameters: "x" }).provisioner, "");
});

test("a volume has its class, size, provisioner and location", () => {
  assert.deepEqual(readVolume(rbdVolume("a", "beta3", "10Gi", { dataPool: "ec-data-pool" })), {
    name: "a",
    class: "beta3",
    bytes: 10n * gib,
    provisioner: "rook-ceph.rbd.csi.ceph.com",
    clusterId: "rook-ceph",
    pool: "ec-data-pool",
    node: undefined,
  });
  const local = readVolume(localVolume("b", "local-path", "1500M", "worker-1"));
  assert.equal(local.bytes, 1_500_000_000n);
  assert.equal(local.node, "worker-1");
  assert.equal(local.provisioner, "rancher.io/local-path");
  const old = volume("c", undefined, "1Gi", {
    metadata: { annotations: { "volume.beta.kubernetes.io/storage-class": "beta1" } },
  });
  assert.equal(readVolume(old).class, "beta1");
  assert.equal(readVolume(volume("d", "x", 1024)).bytes, 1024n);
});

test("a volume that makes no sense is read all the same, without its size", () => {
  for (const size of [undefined, null, "", "ten", "-1Gi", {}, "1e99"]) {
    assert.equal(readVolume(volume("a", "beta3", size)).bytes, undefined, String(size));
  }
  assert.equal(readVolume({ metadata: { name: "bare" } }).bytes, undefined);
  assert.equal(readVolume({ metadata: { name: "odd" }, spec: { nodeAffinity: [], csi: 7 } }).node, undefined);
});

test("volumes count for their class in every phase, with and without the class", () => {
  const volumes = [
    volume("a", "beta3", "1Gi", { phase: "Bound" }),
    volume("b", "beta3", "2Gi", { phase: "Released" }),
    volume("c", "beta3", "4Gi", { phase: "Failed" }),
    volume("d", "gone", "8Gi"),
    volume("e", undefined, "16Gi"),
    volume("f", "beta3", "nonsense"),
  ].map(readVolume);
  const sums = sumVolumes(volumes, none);
  assert.deepEqual(sums.ofClass.get("beta3"), { bytes: 7n * gib, count: 3 });
  assert.deepEqual(sums.ofClass.get("gone"), { bytes: 8n * gib, count: 1 });
  assert.equal(sums.ofClass.size, 2);
  assert.deepEqual(sums.sizeless, ["f"]);
});

test("volumes of Ceph count for their pool, by the driver's note or else by their class", () => {
  const classes = new Map([["beta3", readStorageClass(rbdClass("beta3"))]]);
  const volumes = [
    rbdVolume("a", "beta3", "1Gi"),
    rbdVolume("b", "gone", "2Gi"),
    rbdVolume("c", "beta3", "4Gi", { pool: "other" }),
    volume("d", "beta3", "8Gi"),
  ].map(readVolume);
  assert.deepEqual(sumVolumes(volumes, classes).ofPools, [
    { clusterId: "rook-ceph", pool: "replicapool", bytes: 11n * gib },
    { clusterId: "rook-ceph", pool: "other", bytes: 4n * gib },
  ]);
});

test("volumes of local-path count for their node, whatever their class", () => {
  const classes = new Map([["beta1", readStorageClass(storageClass("beta1", "rancher.io/local-path"))]]);
  const volumes = [
    localVolume("a", "beta1", "1Gi", "worker-1"),
    localVolume("b", "gone", "2Gi", "worker-1"),
    volume("c", "beta1", "4Gi"),
  ].map(readVolume);
  const { onNode, onSomeNode } = sumVolumes(volumes, classes);
  assert.deepEqual([...onNode], [["worker-1", 3n * gib]]);
  assert.equal(onSomeNode, 4n * gib);
});
