/** Storage on the simulated cluster when Rook or Longhorn cannot be heard, under the virtual clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { storageKinds } from "../../src/operators/inventory/storage/classes.ts";
import type { Owner } from "../support/owner.ts";
import {
  cephCluster,
  gib,
  longhornClass,
  longhornNode,
  rbdClass,
  storageClass,
  toolboxPod,
} from "../support/samples/storage-samples.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { longhorn, openStorage, rook } from "./inventory-storage-stage.ts";

/** Rook and Longhorn at work, each with a class that has room, beside one of local-path. */
async function openBoth(t: Owner) {
  const clock = createVirtualClock();
  const opened = openStorage(t, ["beta1", "beta2", "beta3"], clock);
  const { install, put, ofClass, storage } = opened;
  install([...rook, ...longhorn]);
  put(storageKinds.cephCluster, cephCluster());
  put(kinds.pod, toolboxPod());
  put(storageKinds.longhornNode, longhornNode("a", { data: {} }));
  put(kinds.storageClass, storageClass("beta1", "rancher.io/local-path"));
  put(kinds.storageClass, longhornClass("beta2", { numberOfReplicas: "1" }));
  put(kinds.storageClass, rbdClass("beta3"));
  // The disk of local-path is half for ephemeral storage, which is not news.
  const full = (name: string) => ofClass(name)?.bytes.allocatable === (name === "beta1" ? 50n : 100n) * gib;
  await clock.advanceUntil(() => ["beta1", "beta2", "beta3"].every(full) && storage.stale.length === 0);
  const conditions = (name: string) =>
    (ofClass(name)?.conditions ?? [])
      .filter(({ type }) => type !== "RoomShared")
      .map(({ type, message }) => `${type}: ${message}`);
  return { ...opened, until: clock.advanceUntil, full, conditions };
}

test("a class whose backend is unreachable is stale and keeps its amounts; others are unaffected", async (t) => {
  const { faults, storage, until, full, conditions, read } = await openBoth(t);
  const cases = [
    ["beta3", storageKinds.cephCluster, "the clusters of Rook"],
    ["beta3", storageKinds.cephBlockPool, "the block pools of Rook"],
    ["beta2", storageKinds.longhornNode, "the nodes of Longhorn"],
    ["beta2", storageKinds.longhornSetting, "the settings of Longhorn"],
    ["beta2", storageKinds.longhornVolume, "the volumes of Longhorn"],
  ] as const;
  for (const [name, kind, what] of cases) {
    faults.reject({ status: 503, times: Number.POSITIVE_INFINITY, kind });
    faults.cutWatches();
    // The cut hits all watches; the others go on at once.
    await until(() => storage.stale.length === 1);
    assert.match(conditions(name)[0] ?? "", new RegExp(`^Stale: ${what} may be out of date: `));
    assert.ok(full(name));
    for (const other of ["beta1", "beta2", "beta3"].filter((each) => each !== name)) {
      assert.deepEqual(conditions(other), [], other);
    }
    assert.deepEqual(read().conditions, []);
    faults.clear();
    await until(() => storage.stale.length === 0 && conditions(name).length === 0);
  }
});

test("a kind that is not installed is no problem, a forbidden one is", async (t) => {
  const { faults, install, storage, until, conditions } = await openBoth(t);
  assert.deepEqual([conditions("beta3"), storage.stale], [[], []]);
  faults.forbid("list", storageKinds.cephFilesystem);
  install([storageKinds.cephFilesystem]);
  await until(() => storage.stale.length > 0);
  assert.match(conditions("beta3")[0] ?? "", /^Stale: the filesystems of Rook were not seen yet: .*forbidden/);
  faults.clear();
  await until(() => conditions("beta3").length === 0);
});
