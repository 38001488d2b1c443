import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import {
  cephCluster,
  cephFilesystem,
  cephPool,
  gib,
  localVolume,
  longhornNode,
  longhornSetting,
  longhornVolume,
  rbdClass,
  rbdVolume,
  toolboxPod,
} from "../../../../test/support/samples/storage-samples.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { cephInventory, readCephCluster, readCephFilesystem, readCephPool } from "./ceph.ts";
import { readToolbox } from "./ceph-usage.ts";
import { readStorageClass, readVolume, sumVolumes } from "./classes.ts";
import {
  isDegraded,
  longhornInventory,
  readLonghornNode,
  readLonghornSetting,
  readLonghornVolume,
} from "./longhorn.ts";

/** Every way to lose or spoil one part of an object, its name excepted. */
function* spoilt(value: unknown, spoiler: unknown, at = ""): Generator<unknown> {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    if (at === "metadata" && (key === "name" || key === "namespace")) continue;
    const part = (value as Record<string, unknown>)[key];
    const replaced = (by: unknown) => (Array.isArray(value) ? value.with(Number(key), by) : { ...value, [key]: by });
    if (key !== "metadata") yield replaced(spoiler);
    for (const inner of spoilt(part, spoiler, key)) yield replaced(inner);
  }
}

const samples = [
  rbdClass("beta3"),
  rbdVolume("a", "beta3", "1Gi"),
  localVolume("b", "beta1", "1Gi", "worker"),
  cephCluster(),
  cephPool("replicapool", { replicated: { size: 3 }, deviceClass: "ssd" }),
  cephFilesystem("myfs", [{ name: "replicated", replicated: { size: 3 }, deviceClass: "ssd" }]),
  toolboxPod(),
  longhornNode("worker", { data: { reserved: gib, tags: ["ssd"] } }),
  longhornSetting("default-replica-count", '{"v1":"3"}'),
  longhornVolume("pvc", "degraded"),
];

/** Whatever the object is, each reader makes something of it, and what they make can be summed up. */
function readAll(object: KubeObject): void {
  const storageClass = readStorageClass(object);
  const volumes = sumVolumes([readVolume(object)], new Map([[storageClass.name, storageClass]]));
  readToolbox(object);
  const clusters = [readCephCluster(object)];
  const pools = [readCephPool(object), ...readCephFilesystem(object)];
  cephInventory(storageClass, { clusters, pools, reading: () => ({}), volumes, sold: [storageClass] });
  longhornInventory(storageClass, {
    nodes: [readLonghornNode(object)],
    settings: [readLonghornSetting(object)],
    degraded: [readLonghornVolume(object)].filter(isDegraded),
    classOf: () => storageClass.name,
    volumes,
    sold: [storageClass],
  });
}

test("no object makes a reader throw, whichever part of it is missing or invalid", () => {
  const nonsense = [undefined, null, "", "x", -1, 1e300, Number.NaN, [], [null], {}, { x: null }, true];
  for (const sample of samples) {
    for (const spoiler of nonsense) for (const object of spoilt(sample, spoiler)) readAll(object as KubeObject);
  }
});

test("nor does anything else that JSON can be", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom("spec", "status", "parameters", "value", "provisioner"), fc.jsonValue()),
      (odd) => {
        readAll({ ...odd, metadata: { name: "odd" } });
      },
    ),
    { numRuns: runs(300, 30_000) },
  );
});
