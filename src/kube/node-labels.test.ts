import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { builtInRegistry } from "../operators/inventory/gpu-names/parse-registry.ts";
import { interfaceKind } from "../operators/inventory/gpu-names/registry.ts";
import { isCapabilityLabel, isGpuLabel, labelKeys } from "./node-labels.ts";

test("the keys are those of the seeds and of the network", () => {
  const vendor = "nvidia";
  assert.equal(labelKeys.gpuVendor(vendor), "akash.network/capabilities.gpu.vendor.nvidia");
  assert.equal(labelKeys.gpuModel("rtx4090"), "akash.network/capabilities.gpu.model.rtx4090");
  assert.equal(labelKeys.storageClass("beta2"), "akash.network/capabilities.storage.class.beta2");
  const counted = "akash.network/capabilities.gpu.vendor.nvidia.model.h200";
  assert.equal(labelKeys.gpuCount({ vendor, model: "h200" }), counted);
  assert.equal(labelKeys.gpuCount({ vendor, model: "h200", ram: "141Gi" }), `${counted}.ram.141Gi`);
  assert.equal(labelKeys.gpuCount({ vendor, model: "h200", interface: "sxm" }), `${counted}.interface.sxm`);
  assert.equal(
    labelKeys.gpuCount({ vendor, model: "t4", ram: "16Gi", interface: "pcie" }),
    "akash.network/capabilities.gpu.vendor.nvidia.model.t4.ram.16Gi.interface.pcie",
  );
});

test("no GPU that is known without a registry needs shortening in the network's own keys", () => {
  for (const { name: vendor, devices } of builtInRegistry.vendors.values()) {
    for (const { name: model, memorySize: ram = "", interface: text } of devices.values()) {
      const counted = `akash.network/capabilities.gpu.vendor.${vendor}.model.${model}`;
      const kind = interfaceKind(text);
      assert.equal(labelKeys.gpuCount({ vendor, model, ram }), `${counted}.ram.${ram}`);
      assert.equal(labelKeys.gpuCount({ vendor, model, interface: kind }), `${counted}.interface.${kind}`);
    }
  }
});

test("a name of exactly 63 characters is not shortened", () => {
  const key = labelKeys.gpuCount({ vendor: "nvidia", model: "rtx2000eada", interface: "pcie" });
  assert.equal(key, "akash.network/capabilities.gpu.vendor.nvidia.model.rtx2000eada.interface.pcie");
  assert.equal(key.split("/")[1]?.length, 63);
});

test("a name that is too long is shortened to the same key each time", () => {
  const selection = { vendor: "nvidia", model: "h200", ram: "141Gi", interface: "sxm" };
  const key = labelKeys.gpuCount(selection);
  assert.equal(key, "akash.network/capabilities.gpu.vendor.nvidia.model.h200.ram.141G_66a1c4265aa1");
  assert.equal(labelKeys.gpuCount({ ...selection }), key);
});

test("whatever the names, a key is one that Kubernetes takes, and two names never share one", () => {
  const name = fc.oneof(
    fc.constantFrom("h100", "h100.ram.80Gi", "x".repeat(40), "x".repeat(300)),
    fc.string({ maxLength: 80 }),
    fc.stringMatching(/^[a-z0-9]{1,60}_[0-9a-f]{12}$/),
  );
  fc.assert(
    fc.property(name, name, (one, other) => {
      const [key, otherKey] = [labelKeys.gpuModel(one), labelKeys.gpuModel(other)];
      assert.match(key, /^akash\.network\/[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/);
      assert.equal(key === otherKey, one === other);
      assert.ok(isCapabilityLabel(key) && isGpuLabel(key));
      // A name that is one of the shortened keys does not meet it.
      const taken = key.slice("akash.network/capabilities.gpu.model.".length);
      if (taken !== one) assert.notEqual(labelKeys.gpuModel(taken), key);
    }),
    { numRuns: runs(500, 50_000) },
  );
});

test("labels of others are foreign, also below our prefix", () => {
  const foreign = [
    "akash.network/storageclasses",
    "akash.network/capabilities.other",
    "akash.networks",
    "nvidia.com/gpu.count",
    "nvidia.com/gpu.present.not",
  ];
  for (const key of foreign) assert.ok(!isCapabilityLabel(key), key);
  for (const key of [labelKeys.node, labelKeys.nvidiaPresent]) assert.ok(isCapabilityLabel(key), key);
  assert.ok(!isGpuLabel(labelKeys.storageClass("beta3")));
});
