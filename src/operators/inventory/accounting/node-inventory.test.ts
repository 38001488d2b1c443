import assert from "node:assert/strict";
import { test } from "node:test";
import { createAllocations } from "../../../../test/support/pod-allocations.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { defaultInventoryConfig } from "../configuration/inventory-config.ts";
import type { NamedGpu, NodeInventory } from "../inventory.ts";
import { type NodeInputs, nodeInventory, sharedDisk } from "./node-inventory.ts";
import { projectNode } from "./watched-node.ts";
import { allocationOf, projectPod } from "./watched-pod.ts";

const resources = { cpu: "8", memory: "16Gi", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "4" };
const conditions = [{ type: "Ready", status: "True" }];
const status = { capacity: resources, allocatable: resources, conditions };

function fold(inputs: Partial<NodeInputs> = {}): NodeInventory {
  const node = projectNode({ metadata: { name: "a" }, status });
  const config = defaultInventoryConfig;
  return nodeInventory({
    node,
    allocation: allocationOf([]),
    config,
    storageClasses: ["beta3"],
    namedGpus: [],
    ...inputs,
  });
}

function allocated(...requests: Record<string, string>[]) {
  const allocations = createAllocations();
  for (const [n, list] of requests.entries()) {
    const spec = { nodeName: "a", containers: [{ name: "c", resources: { requests: list } }] };
    allocations.seen(projectPod({ metadata: { name: `web-${n}`, namespace: "lease", uid: `u${n}` }, spec }));
  }
  return allocations.ofNode("a");
}

function only(found: readonly Condition[]): Condition {
  const [condition] = found;
  assert.equal(found.length, 1);
  assert.ok(condition);
  return condition;
}

const h200: NamedGpu = { address: "0000:00:06.0", vendorId: "10de", deviceId: "2335", vendor: "nvidia", name: "h200" };

test("a sound node shows what it has, what is taken, and nothing to worry about", () => {
  const node = fold({ allocation: allocated({ cpu: "1500m", memory: "1Gi" }, { "nvidia.com/gpu": "1" }) });
  assert.ok(node.offered);
  assert.deepEqual(node.cpuMilli, { capacity: 8_000n, allocatable: 8_000n, allocated: 1_500n });
  assert.deepEqual(node.gpus, { capacity: 4n, allocatable: 4n, allocated: 1n });
  assert.deepEqual([node.storageClasses, node.conditions], [["beta3"], []]);
});

const cordoned = { type: "Cordoned", message: "cordoned" };
const fullOfPods = { type: "Full", message: "full: it has 2 pods and takes 2" };

test("a node that is not offered shows its numbers, but no storage class", () => {
  const node = fold({ node: projectNode({ metadata: { name: "a" }, spec: { unschedulable: true }, status }) });
  assert.deepEqual([node.offered, node.notOffered, node.storageClasses], [false, [cordoned], []]);
  assert.equal(node.cpuMilli.allocatable, 8_000n);
});

test("a node at its limit of pods offers nothing, and is back when a pod goes", () => {
  const node = projectNode({
    metadata: { name: "a" },
    status: { ...status, allocatable: { ...resources, pods: "2" } },
  });
  const full = fold({ node, allocation: allocated({ cpu: "1" }, { cpu: "1" }) });
  assert.deepEqual([full.offered, full.notOffered], [false, [fullOfPods]]);
  // The scheduler knows that limit, so what the node can do stays known to what runs there.
  assert.deepEqual([full.storageClasses, full.conditions], [["beta3"], []]);
  assert.ok(fold({ node, allocation: allocated({ cpu: "1" }) }).offered);
  assert.ok(fold({ allocation: allocated(...Array.from({ length: 500 }, () => ({ cpu: "1m" }))) }).offered);
});

test("more taken than there is keeps its number and names the pods that take the most", () => {
  const pods = [{ cpu: "1" }, { cpu: "5", memory: "20Gi" }, { cpu: "2" }, { cpu: "500m" }, { memory: "0" }];
  const node = fold({ allocation: allocated(...(pods as Record<string, string>[])) });
  assert.equal(node.cpuMilli.allocated, 8_500n);
  assert.deepEqual(
    only(node.conditions),
    condition(
      "Overbooked",
      "cpu: 8500m of 8 allocatable are taken by 4 pods: lease/web-1 5, lease/web-2 2, lease/web-0 1, and 1 more; " +
        "memory: 20Gi of 16Gi allocatable are taken by 1 pod: lease/web-1 20Gi",
    ),
  );
});

test("a gpu that becomes unhealthy under a workload leaves the node overbooked, with both reasons", () => {
  const unhealthy = { ...status, allocatable: { ...resources, "nvidia.com/gpu": "3" } };
  const node = fold({
    node: projectNode({ metadata: { name: "a" }, status: unhealthy }),
    allocation: allocated({ "nvidia.com/gpu": "4" }),
  });
  assert.deepEqual(node.gpus, { capacity: 4n, allocatable: 3n, allocated: 4n });
  assert.deepEqual(
    node.conditions.map(({ type }) => type),
    ["Overbooked", "UnhealthyGpu"],
  );
  assert.match(node.conditions[1]?.message ?? "", /reports 1 of 4 unhealthy/);
});

test("a GPU that discovery holds for unhealthy is shown, and the device plugin's count stays", () => {
  const node = fold({
    namedGpus: [
      h200,
      h200,
      h200,
      { ...h200, address: "0000:00:07.0", health: { healthy: false, reason: "off the bus" } },
    ],
  });
  assert.equal(node.gpus.allocatable, 4n);
  assert.deepEqual(only(node.conditions), condition("UnhealthyGpu", "h200 at 0000:00:07.0: off the bus"));
});

test("GPUs without a name are shown once per kind, with the line that would name them", () => {
  const { name: _, ...unnamed } = { ...h200, deviceId: "ffff", registryLine: '"ffff": {}' };
  const message = only(fold({ namedGpus: [unnamed, unnamed, unnamed, unnamed] }).conditions).message;
  assert.match(message, /nvidia GPU 10de:ffff; .*: "ffff": \{\}$/);
});

test("graphics of AMD without a name are a condition only where AMD's device plugin counts GPUs", () => {
  const { name: _, ...bare } = h200;
  const integrated = { ...bare, vendorId: "1002", deviceId: "164e", vendor: "amd" };
  assert.deepEqual(fold({ namedGpus: [integrated] }).conditions, []);
  const plugged = {
    ...status,
    capacity: { ...resources, "amd.com/gpu": "1" },
    allocatable: { ...resources, "amd.com/gpu": "1" },
  };
  const node = fold({ node: projectNode({ metadata: { name: "a" }, status: plugged }), namedGpus: [integrated] });
  assert.equal(only(node.conditions).type, "UnknownGpu");
});

test("a node without a status is shown with nothing, and it is said", () => {
  const node = fold({ node: projectNode({ metadata: { name: "a" } }) });
  assert.equal(node.offered, false);
  assert.deepEqual(node.memoryBytes, { capacity: 0n, allocatable: 0n, allocated: 0n });
  assert.equal(only(node.conditions).type, "StatusMissing");
});

test("quantities that cannot be read are a condition of the node", () => {
  const broken = projectNode({ metadata: { name: "a" }, status: { ...status, capacity: { ...resources, cpu: "x" } } });
  const node = fold({ node: broken, allocation: allocated({ cpu: "y" }, { cpu: "z" }, { cpu: "1" }) });
  assert.deepEqual(
    node.conditions.map(({ type }) => type),
    ["QuantityMalformed", "QuantityMalformed"],
  );
  assert.match(node.conditions[0]?.message ?? "", /capacity\.cpu: .*"x"/);
  assert.match(node.conditions[1]?.message ?? "", /of pod lease\/web-0, .*"y".*, and of 1 more pod/);
});

test("what others say about the node, its hardware and its use are passed on", () => {
  const said = condition("DiscoveryMissing", "the pod does not answer");
  const hardware = {
    architecture: "amd64",
    cpus: [],
    memory: { totalBytes: 1 },
    gpus: [],
    disks: [],
    interfaces: [],
    problems: [],
  };
  const usage = { cpuMilli: 5n, memoryBytes: 6n };
  const node = fold({ conditions: [said], hardware, hardwareAtMs: 7, usage });
  assert.deepEqual([node.conditions, node.hardware, node.hardwareAtMs, node.usage], [[said], hardware, 7, usage]);
});

const gib = 1024n ** 3n;

function look(requested: bigint, volumes: bigint, classes: number) {
  const whole = { capacity: 110n * gib, allocatable: 100n * gib, allocated: requested * gib };
  const { amounts, debt } = sharedDisk(whole, { volumesBytes: volumes * gib, classes });
  return { allocatable: amounts.allocatable / gib, allocated: amounts.allocated / gib, debt };
}

test("a disk without volumes is all for pods, overbooked or not", () => {
  assert.deepEqual(look(30n, 0n, 0), { allocatable: 100n, allocated: 30n, debt: undefined });
  assert.deepEqual(look(130n, 0n, 0), { allocatable: 100n, allocated: 130n, debt: undefined });
});

test("what volumes hold of the disk is not sold as ephemeral storage, be their class sold or not", () => {
  assert.deepEqual(look(30n, 20n, 0), { allocatable: 80n, allocated: 30n, debt: undefined });
});

test("where such a class is sold, a part of what is left is kept for it", () => {
  assert.deepEqual(look(30n, 20n, 1), { allocatable: 55n, allocated: 30n, debt: undefined });
  assert.deepEqual(look(30n, 10n, 2), { allocatable: 50n, allocated: 30n, debt: undefined });
});

test("a disk that volumes and pods overbook together says what each of them holds", () => {
  const debt = "disk: pods hold 80Gi and local-path volumes 50Gi of its 100Gi";
  assert.deepEqual(look(80n, 50n, 1), { allocatable: 50n, allocated: 80n, debt });
  const volumesAlone = "disk: pods hold 0 and local-path volumes 130Gi of its 100Gi";
  assert.deepEqual(look(0n, 130n, 1), { allocatable: 0n, allocated: 0n, debt: volumesAlone });
});
