import assert from "node:assert/strict";
import { test } from "node:test";
import { attachedVolumes, volumeAmounts, volumeLimits } from "./volumes.ts";

const csiNode = {
  metadata: { name: "a" },
  spec: {
    drivers: [
      { name: "driver.longhorn.io", nodeID: "a", allocatable: { count: 25 } },
      { name: "rook-ceph.rbd.csi.ceph.com", nodeID: "a" },
      { name: "odd.example", nodeID: "a", allocatable: { count: -3 } },
    ],
  },
};
const longhorn = (handle: string) => ({ name: `kubernetes.io/csi/driver.longhorn.io^${handle}`, devicePath: "" });
const ceph = (handle: string) => ({ name: `kubernetes.io/csi/rook-ceph.rbd.csi.ceph.com^${handle}`, devicePath: "" });

test("a driver that names a limit has room up to it", () => {
  const amounts = volumeAmounts(attachedVolumes([longhorn("a"), longhorn("b")]), volumeLimits(csiNode));
  assert.deepEqual(amounts, { capacity: 25n, allocatable: 25n, allocated: 2n });
});

test("a driver that names no limit promises nothing beyond what is attached", () => {
  const amounts = volumeAmounts(attachedVolumes([longhorn("a"), ceph("b"), ceph("c")]), volumeLimits(csiNode));
  assert.deepEqual(amounts, { capacity: 27n, allocatable: 27n, allocated: 3n });
});

test("a driver above its limit shows", () => {
  const attached = attachedVolumes(Array.from({ length: 26 }, (_, n) => longhorn(`v${n}`)));
  assert.deepEqual(volumeAmounts(attached, volumeLimits(csiNode)), { capacity: 25n, allocatable: 25n, allocated: 26n });
});

test("volumes of another kind count, whatever their name", () => {
  const attached = attachedVolumes([{ name: "kubernetes.io/aws-ebs/vol-1" }, {}, null]);
  assert.deepEqual(volumeAmounts(attached, new Map()), { capacity: 3n, allocatable: 3n, allocated: 3n });
});

test("a node without volumes and drivers has none", () => {
  const limits = volumeLimits({ metadata: { name: "a" }, spec: { drivers: null } });
  assert.deepEqual(volumeAmounts(attachedVolumes(undefined), limits), { capacity: 0n, allocatable: 0n, allocated: 0n });
});
