import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "../../../kube/kube.ts";
import { defaultInventoryConfig, parseInventoryConfig } from "../configuration/inventory-config.ts";
import { nodeInventory } from "./node-inventory.ts";
import { nothing } from "./resources.ts";
import { attachedVolumes, projectNode, volumeAmounts, volumeLimits } from "./watched-node.ts";
import { allocationOf } from "./watched-pod.ts";

const amounts = { cpu: "8", memory: "16Gi", "ephemeral-storage": "100Gi" };
const ready = { type: "Ready", status: "True" };

function node(status: unknown, more: Record<string, unknown> = {}): KubeObject {
  return { metadata: { name: "gpu-1", uid: "n1" }, status, ...more };
}

function withConditions(...conditions: unknown[]): KubeObject {
  return node({ capacity: amounts, allocatable: amounts, conditions });
}

function fold(object: KubeObject, config = defaultInventoryConfig) {
  const inputs = { allocation: allocationOf([]), config, storageClasses: [], namedGpus: [] };
  return nodeInventory({ node: projectNode(object), ...inputs });
}

function reasons(object: KubeObject, config = defaultInventoryConfig): string[] {
  return fold(object, config).notOffered.map(({ message }) => message);
}

test("a node has what its kubelet says, with the gpus of all device plugins", () => {
  const gpus = { "nvidia.com/gpu": "8", "amd.com/gpu": "2" };
  const status = {
    capacity: { ...amounts, ...gpus },
    allocatable: { ...amounts, cpu: "7800m", "nvidia.com/gpu": "7" },
  };
  const { capacity, allocatable, problem } = projectNode(node(status));
  assert.deepEqual(fold(node(status)).pluginVendors, ["nvidia", "amd"]);
  assert.deepEqual(capacity, { cpuMilli: 8_000n, memoryBytes: 2n ** 34n, ephemeralBytes: 100n * 2n ** 30n, gpus: 10n });
  assert.deepEqual([allocatable.cpuMilli, allocatable.gpus, problem], [7_800n, 7n, undefined]);
});

test("a device plugin counts for its vendor as long as it has a GPU, healthy or not", () => {
  const vendors = (capacity: unknown) => fold(node({ capacity, allocatable: { "amd.com/gpu": "0" } })).pluginVendors;
  assert.deepEqual(vendors({ "nvidia.com/gpu": "0", "amd.com/gpu": "1" }), ["amd"]);
  assert.deepEqual(vendors(amounts), []);
});

test("a healthy node is offered", () => {
  assert.deepEqual(reasons(withConditions(ready, { type: "DiskPressure", status: "False" })), []);
  assert.deepEqual(reasons(tainted({ key: "spot", effect: "PreferNoSchedule" })), []);
});

function tainted(...taints: object[]): KubeObject {
  return { ...withConditions(ready), spec: { taints } };
}

const noSchedule = (key: string) => ({ key: `node.kubernetes.io/${key}`, effect: "NoSchedule" });

const hindered: [string, KubeObject, string[]][] = [
  ["not ready", withConditions({ type: "Ready", status: "False" }), ["not ready"]],
  ["not heard of", withConditions({ type: "Ready", status: "Unknown" }), ["not ready"]],
  ["without any condition", withConditions(), ["not ready"]],
  ["short of memory", withConditions(ready, { type: "MemoryPressure", status: "True" }), ["under memory pressure"]],
  ["short of disk", withConditions(ready, { type: "DiskPressure", status: "True" }), ["under disk pressure"]],
  ["short of processes", withConditions(ready, { type: "PIDPressure", status: "True" }), ["under PID pressure"]],
  ["without network", withConditions(ready, { type: "NetworkUnavailable", status: "True" }), ["without network"]],
  ["cordoned", { ...withConditions(ready), spec: { unschedulable: true } }, ["cordoned"]],
  ["without a status", node(undefined), ["without a status", "not ready"]],
  [
    "kept for others",
    tainted({ key: "team", value: "ml", effect: "NoSchedule" }),
    ["tainted team=ml:NoSchedule, which workloads of tenants do not tolerate"],
  ],
  [
    "emptied",
    tainted({ key: "maintenance", effect: "NoExecute" }),
    ["tainted maintenance:NoExecute, which workloads of tenants do not tolerate"],
  ],
  [
    "cordoned, which Kubernetes also writes as a taint",
    { ...withConditions(ready), spec: { unschedulable: true, taints: [noSchedule("unschedulable")] } },
    ["cordoned"],
  ],
  [
    "ready again, before Kubernetes has taken its taints away",
    tainted(noSchedule("not-ready"), noSchedule("unreachable"), noSchedule("disk-pressure")),
    ["not ready", "under disk pressure"],
  ],
];

for (const [what, object, expected] of hindered) {
  test(`a node that is ${what} is not offered, and it is said why`, () => assert.deepEqual(reasons(object), expected));
}

test("a node that is being deleted is not offered", () => {
  const object = withConditions(ready);
  const metadata = { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
  assert.deepEqual(reasons({ ...object, metadata }), ["being deleted"]);
});

test("a node that the configuration excludes is not offered, and the pattern is named", () => {
  const config = parseInventoryConfig("version: v1\nexclude:\n  nodes: ['^gpu-']\n");
  const excluded = { type: "Excluded", message: "excluded by the configuration (^gpu-)" };
  assert.deepEqual(fold(withConditions(ready), config).notOffered, [excluded]);
  const { notOffered } = fold({ ...withConditions(ready), spec: { unschedulable: true } });
  assert.deepEqual(notOffered, [{ type: "Cordoned", message: "cordoned" }]);
});

test("a node without a status has nothing", () => {
  const { capacity, allocatable, hasStatus } = projectNode(node(null));
  assert.deepEqual([capacity, allocatable, hasStatus], [nothing, nothing, false]);
});

test("an unreadable quantity is reported", () => {
  const { allocatable, problem } = projectNode(node({ allocatable: { ...amounts, memory: "16GB" } }));
  assert.deepEqual([allocatable.cpuMilli, allocatable.memoryBytes], [8_000n, 0n]);
  assert.match(problem ?? "", /allocatable\.memory: .*"16GB"/);
});

test("of the labels only those about capabilities are kept", () => {
  const labels = {
    "akash.network": "true",
    "akash.network/capabilities.gpu.model.h100": "true",
    "akash.network/capabilities.storage.class.beta3": "1",
    "akash.network/storageclasses": "beta3",
    "kubernetes.io/hostname": "gpu-1",
    "nvidia.com/gpu.present": "true",
    "nvidia.com/gpu.count": "8",
  };
  const kept = projectNode({ metadata: { name: "gpu-1", labels } }).labels;
  assert.deepEqual(Object.keys(kept).toSorted(), [
    "akash.network",
    "akash.network/capabilities.gpu.model.h100",
    "akash.network/capabilities.storage.class.beta3",
    "nvidia.com/gpu.present",
  ]);
});

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
