import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hardware, NamedGpu, NodeInventory } from "../inventory.ts";
import { labelKeys } from "./label-keys.ts";
import { type LabelContext, wantedLabels } from "./wanted-labels.ts";

const none = { capacity: 0n, allocatable: 0n, allocated: 0n };
const hardware: Hardware = {
  architecture: "amd64",
  cpus: [],
  memory: { totalBytes: 0 },
  gpus: [],
  disks: [],
  interfaces: [],
  problems: [],
};

function node(more: Partial<NodeInventory> = {}): NodeInventory {
  return {
    name: "a",
    offered: true,
    notOffered: [],
    cpuMilli: none,
    memoryBytes: none,
    ephemeralBytes: none,
    gpus: none,
    volumes: none,
    storageClasses: [],
    hardware,
    namedGpus: [],
    conditions: [],
    ...more,
  };
}

const h100: NamedGpu = {
  address: "0000:00:06.0",
  vendorId: "10de",
  deviceId: "2330",
  vendor: "nvidia",
  name: "h100",
  interface: "SXM5",
  memorySize: "80Gi",
};

function labels(more: Partial<NodeInventory>, context: Partial<LabelContext> = {}) {
  return wantedLabels(node(more), { live: {}, gtSelected: new Set(), ...context });
}

const gpu = "akash.network/capabilities.gpu";

test("eight H100 and a storage class have the labels of both families", () => {
  const found = labels({ namedGpus: Array.from({ length: 8 }, () => h100), storageClasses: ["beta3"] });
  const both = labelKeys.gpuCount({ vendor: "nvidia", model: "h100", ram: "80Gi", interface: "sxm" });
  assert.deepEqual(found, {
    "akash.network": "true",
    "nvidia.com/gpu.present": "true",
    "akash.network/capabilities.storage.class.beta3": "true",
    [`${gpu}.vendor.nvidia`]: "true",
    [`${gpu}.model.h100`]: "true",
    [`${gpu}.vendor.nvidia.model.h100`]: "8",
    [`${gpu}.vendor.nvidia.model.h100.ram.80Gi`]: "8",
    [`${gpu}.vendor.nvidia.model.h100.interface.sxm`]: "8",
    [both]: "8",
  });
});

test("cards of one model with different memory and interface are counted apart and together", () => {
  const pcie = { ...h100, interface: "PCIe", memorySize: "94Gi" };
  const found = labels({ namedGpus: [h100, pcie, pcie] });
  assert.equal(found[`${gpu}.vendor.nvidia.model.h100`], "3");
  assert.equal(found[`${gpu}.vendor.nvidia.model.h100.ram.94Gi`], "2");
  assert.equal(found[`${gpu}.vendor.nvidia.model.h100.interface.sxm`], "1");
  const mixed = labelKeys.gpuCount({ vendor: "nvidia", model: "h100", ram: "94Gi", interface: "sxm" });
  assert.equal(found[mixed], undefined);
});

test("a card of AMD has its vendor's labels and not NVIDIA's", () => {
  const { memorySize: _, interface: __, ...bare } = h100;
  const found = labels({ namedGpus: [{ ...bare, vendorId: "1002", vendor: "amd", name: "mi100" }] });
  assert.deepEqual(found, {
    "akash.network": "true",
    [`${gpu}.vendor.amd`]: "true",
    [`${gpu}.model.mi100`]: "true",
    [`${gpu}.vendor.amd.model.mi100`]: "1",
  });
});

test("a card that no registry names has a vendor and no model", () => {
  const { name: _, ...unknown } = h100;
  assert.deepEqual(labels({ namedGpus: [unknown] }), {
    "akash.network": "true",
    "nvidia.com/gpu.present": "true",
    [`${gpu}.vendor.nvidia`]: "true",
  });
});

test("a storage class says 1 while a workload selects it with Gt, and the others go on saying true", () => {
  const beta3 = labelKeys.storageClass("beta3");
  const found = labels({ storageClasses: ["beta2", "beta3"] }, { gtSelected: new Set([beta3]) });
  assert.deepEqual([found[labelKeys.storageClass("beta2")], found[beta3]], ["true", "1"]);
});

test("a node that is not offered keeps only the label that its device plugin lives by", () => {
  const found = labels({ offered: false, notOffered: ["cordoned"], namedGpus: [h100], storageClasses: [] });
  assert.deepEqual(found, { "nvidia.com/gpu.present": "true" });
});

test("a node that the configuration excludes has no label of ours", () => {
  const notOffered = ["not ready", "excluded by the configuration (^a$)"];
  assert.deepEqual(labels({ offered: false, notOffered, namedGpus: [h100] }), {});
});

const live = {
  "nvidia.com/gpu.present": "true",
  [`${gpu}.model.h100`]: "true",
  "akash.network/capabilities.storage.class.beta1": "true",
};
const kept = { "akash.network": "true", "nvidia.com/gpu.present": "true", [`${gpu}.model.h100`]: "true" };

test("until discovery has answered, labels about gpus stay as they are, and only those", () => {
  const { hardware: _, ...unseen } = node();
  assert.deepEqual(wantedLabels(unseen, { live, gtSelected: new Set() }), kept);
});

test("discovery that sees no card where the device plugin has some proves nothing", () => {
  assert.deepEqual(labels({ gpus: { capacity: 8n, allocatable: 8n, allocated: 0n } }, { live }), kept);
});

test("labels about gpus go when discovery sees none and there are none", () => {
  assert.deepEqual(labels({}, { live }), { "akash.network": "true" });
});
