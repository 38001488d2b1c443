import assert from "node:assert/strict";
import { test } from "node:test";
import { labelKeys } from "../../../kube/node-labels.ts";
import type { Hardware } from "../hardware.ts";
import { mixedReason, type NamedGpu, type NodeInventory } from "../inventory.ts";
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
    pluginVendors: [],
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
const cordoned = { type: "Cordoned", message: "cordoned" } as const;

test("a GPU that is not sold as one has no labels but that it is there", () => {
  const parts = [h100, h100].map((gpu) => ({ ...gpu, notSold: "it is shared" }));
  const found = labels({ namedGpus: parts, pluginVendors: ["nvidia"] }, { live: { [`${gpu}.vendor.nvidia`]: "true" } });
  assert.deepEqual(found, { "akash.network": "true", "nvidia.com/gpu.present": "true" });
});

test("a node that is only full of pods keeps its labels", () => {
  const parts = { namedGpus: [h100], storageClasses: ["beta3"] };
  const full = { type: "Full", message: "full: it has 110 pods and takes 110" } as const;
  assert.deepEqual(labels({ ...parts, offered: false, notOffered: [full] }), labels(parts));
});

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

test("GPUs of one model with different memory and interface are counted apart and together", () => {
  const pcie = { ...h100, interface: "PCIe", memorySize: "94Gi" };
  const found = labels({ namedGpus: [h100, pcie, pcie] });
  assert.equal(found[`${gpu}.vendor.nvidia.model.h100`], "3");
  assert.equal(found[`${gpu}.vendor.nvidia.model.h100.ram.94Gi`], "2");
  assert.equal(found[`${gpu}.vendor.nvidia.model.h100.interface.sxm`], "1");
  const mixed = labelKeys.gpuCount({ vendor: "nvidia", model: "h100", ram: "94Gi", interface: "sxm" });
  assert.equal(found[mixed], undefined);
});

test("a GPU of AMD has its vendor's labels and not NVIDIA's", () => {
  const { memorySize: _, interface: __, ...bare } = h100;
  const found = labels({ namedGpus: [{ ...bare, vendorId: "1002", vendor: "amd", name: "mi100" }] });
  assert.deepEqual(found, {
    "akash.network": "true",
    [`${gpu}.vendor.amd`]: "true",
    [`${gpu}.model.mi100`]: "true",
    [`${gpu}.vendor.amd.model.mi100`]: "1",
  });
});

test("a GPU that no registry names has a vendor and no model, once its device plugin counts it", () => {
  const { name: _, ...unknown } = h100;
  const present = { "akash.network": "true", "nvidia.com/gpu.present": "true" };
  assert.deepEqual(labels({ namedGpus: [unknown] }), present);
  assert.deepEqual(labels({ namedGpus: [unknown], pluginVendors: ["nvidia"] }), {
    ...present,
    [`${gpu}.vendor.nvidia`]: "true",
  });
});

const unhealthy: NamedGpu = { ...h100, health: { healthy: false, reason: "off the bus" } };

test("an unhealthy GPU is not counted", () => {
  const found = labels({ namedGpus: [h100, unhealthy, { ...h100, health: { healthy: true } }] });
  assert.equal(found[`${gpu}.vendor.nvidia.model.h100`], "2");
  assert.equal(found[`${gpu}.vendor.nvidia.model.h100.ram.80Gi`], "2");
});

test("where all GPUs are unhealthy nothing can select them, and their device plugin stays", () => {
  const live = { [`${gpu}.vendor.nvidia`]: "true", [`${gpu}.model.h100`]: "true", "nvidia.com/gpu.present": "true" };
  assert.deepEqual(labels({ namedGpus: [unhealthy], pluginVendors: ["nvidia"] }, { live }), {
    "akash.network": "true",
    "nvidia.com/gpu.present": "true",
  });
});

test("a storage class says 1 while a workload selects it with Gt, and the others go on saying true", () => {
  const beta3 = labelKeys.storageClass("beta3");
  const found = labels({ storageClasses: ["beta2", "beta3"] }, { gtSelected: new Set([beta3]) });
  assert.deepEqual([found[labelKeys.storageClass("beta2")], found[beta3]], ["true", "1"]);
});

test("a node that is away keeps the labels that its pods require, and gets none but the one its device plugin needs", () => {
  const away = { offered: false, notOffered: [cordoned], namedGpus: [h100], storageClasses: [] };
  assert.deepEqual(labels(away), { "nvidia.com/gpu.present": "true" });
  const carried = labels({ namedGpus: [h100], storageClasses: ["beta3"] });
  assert.deepEqual(labels(away, { live: carried }), carried);
});

test("a node that the configuration excludes has no label of ours", () => {
  const notOffered = [
    { type: "NotReady", message: "not ready" },
    { type: "Excluded", message: "excluded by the configuration (^a$)" },
  ] as const;
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

test("discovery that sees no GPU where the device plugin has some proves nothing", () => {
  assert.deepEqual(labels({ pluginVendors: ["nvidia"] }, { live }), kept);
});

const { name: _name, memorySize: _size, interface: _kind, ...bareGpu } = h100;
const integrated: NamedGpu = { ...bareGpu, vendorId: "1002", deviceId: "164e", vendor: "amd" };

test("a processor's own graphics are no GPU for sale", () => {
  assert.deepEqual(labels({ namedGpus: [integrated] }), { "akash.network": "true" });
});

test("GPUs of one vendor prove nothing about those of another that were not seen", () => {
  const counted = { [`${gpu}.vendor.nvidia`]: "true", [`${gpu}.vendor.nvidia.model.h100`]: "8" };
  const stale = { [`${gpu}.vendor.amd`]: "true", [`${gpu}.vendor.amd.model.mi60`]: "2" };
  const context = { live: { ...live, ...counted, ...stale } };
  const found = labels({ namedGpus: [integrated], pluginVendors: ["nvidia"] }, context);
  assert.deepEqual(found, { ...kept, ...counted });
});

test("labels about gpus go when discovery sees none and there are none", () => {
  assert.deepEqual(labels({}, { live }), { "akash.network": "true" });
});

test("labels of a vendor whose models are mixed stay as they are, and none are added", () => {
  const model = labelKeys.gpuModel("h100");
  const mixed = node({
    pluginVendors: ["nvidia"],
    namedGpus: ["h100", "t4"].map((name) => ({ ...h100, name, notSold: mixedReason })),
  });
  const context = (live: Readonly<Record<string, string>>): LabelContext => ({ live, gtSelected: new Set() });
  assert.equal(wantedLabels(mixed, context({}))[model], undefined);
  assert.equal(wantedLabels(mixed, context({ [model]: "true" }))[model], "true");
});
