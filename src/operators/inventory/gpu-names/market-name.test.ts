import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import { computeCapabilityOf } from "../discovery/gpus.ts";
import type { DiscoveredGpu } from "../hardware.ts";
import { builtInRegistry, parseRegistry } from "./parse-registry.ts";
import { interfaceKind, mergeRegistries, nameGpu } from "./registry.ts";

function gpu(vendorId: string, deviceId: string, more: Partial<DiscoveredGpu> = {}): DiscoveredGpu {
  return { address: "0000:01:00.0", vendorId, deviceId, ...more };
}

test("the GPUs known without a registry are sound, and so are their chips", () => {
  for (const [vendorId, { devices }] of builtInRegistry.vendors) {
    for (const [deviceId, device] of devices) {
      assert.match(`${vendorId}:${deviceId}`, /^[0-9a-f]{4}:[0-9a-f]{4}$/);
      assert.match(device.name, /^[a-z0-9]{2,11}$/);
      assert.match(device.interface, /^(PCIe|SXM\d?|OAM)$/);
      assert.match(device.memorySize ?? "", /^\d+Gi$/);
    }
  }
  const capabilities = Object.entries({ a100: "20b2", h100: "2330", h200: "2335", l40s: "26b9", rtx4090: "2684" });
  assert.deepEqual(
    capabilities.map(([, deviceId]) => computeCapabilityOf(deviceId)),
    ["8.0", "9.0", "9.0", "8.9", "8.9"],
  );
  assert.deepEqual(["1eb8", "1db1", "2204", "2b85", "1b06", "2901"].map(computeCapabilityOf), [
    "7.5",
    "7.0",
    "8.6",
    "12.0",
    "6.1",
    "10.0",
  ]);
  // Of ids that NVIDIA did not give out, nothing is known.
  assert.deepEqual(["f297", "147f", "0000"].map(computeCapabilityOf), [undefined, undefined, undefined]);
});

test("a known GPU has the market's name, interface and memory", () => {
  assert.deepEqual(nameGpu(builtInRegistry, gpu("10de", "2684", { driver: "nvidia" })), {
    address: "0000:01:00.0",
    vendorId: "10de",
    deviceId: "2684",
    driver: "nvidia",
    vendor: "nvidia",
    name: "rtx4090",
    interface: "PCIe",
    memorySize: "24Gi",
  });
  assert.equal(nameGpu(builtInRegistry, gpu("10de", "26b9")).name, "l40s");
});

test("an unknown GPU has the line that would name it, made of what its driver calls it", () => {
  const line = (driverModel: string | undefined, more: Partial<DiscoveredGpu> = {}) =>
    nameGpu(builtInRegistry, gpu("10de", "0bad", { ...(driverModel ? { driverModel } : {}), ...more })).registryLine;
  const expected = (device: Record<string, string>) =>
    JSON.stringify({ "10de": { name: "nvidia", devices: { "0bad": device } } });
  assert.equal(line(undefined), expected({ name: "gpu0bad", interface: "PCIe" }));
  assert.equal(line("NVIDIA L40S"), expected({ name: "l40s", interface: "PCIe" }));
  assert.equal(line("NVIDIA GeForce RTX 5070 Ti"), expected({ name: "rtx5070ti", interface: "PCIe" }));
  assert.equal(line("NVIDIA RTX 6000 Ada Generation"), expected({ name: "rtx6000ada", interface: "PCIe" }));
  assert.equal(line("NVIDIA A100-SXM4-80GB"), expected({ name: "a100", interface: "SXM4", memory_size: "80Gi" }));
  assert.equal(
    line("AMD Instinct MI250", { memoryBytes: 68_702_699_520 }),
    expected({ name: "mi250", interface: "PCIe", memory_size: "64Gi" }),
  );
});

test("the line for an unknown GPU is a registry that names it", () => {
  const id = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16).padStart(4, "0"));
  const details = { driverModel: fc.string({ unit: "grapheme", maxLength: 128 }), memoryBytes: fc.maxSafeNat() };
  fc.assert(
    fc.property(id, id, fc.record(details, { requiredKeys: [] }), (vendorId, deviceId, more) => {
      const unknown = nameGpu({ vendors: new Map(), problems: [] }, gpu(vendorId, deviceId, more));
      assert.equal(unknown.name, undefined);
      const registry = parseRegistry(unknown.registryLine ?? "");
      assert.deepEqual(registry.problems, []);
      const known = nameGpu(registry, gpu(vendorId, deviceId, more));
      assert.ok(known.name);
      assert.equal(known.vendor, unknown.vendor);
      assert.equal(known.registryLine, undefined);
    }),
    { numRuns: runs(300, 50_000) },
  );
});

test("the configured registry outweighs the built-in one, GPU by GPU", () => {
  const own = parseRegistry(
    '{"10de":{"name":"nvidia","devices":{"2684":{"name":"rtx4090d","interface":"PCIe"},"0bad":{"name":"new","interface":"SXM9"}}}}',
  );
  const merged = mergeRegistries(builtInRegistry, own);
  const names = ["2684", "0bad", "2335"].map((deviceId) => nameGpu(merged, gpu("10de", deviceId)).name);
  assert.deepEqual(names, ["rtx4090d", "new", "h200"]);
  assert.equal(nameGpu(merged, gpu("10de", "2684")).memorySize, undefined);
  assert.equal(nameGpu(merged, gpu("1002", "738c")).name, "mi100");
  assert.equal(nameGpu(builtInRegistry, gpu("10de", "2684")).name, "rtx4090");
});

test("an interface is a socket or a slot, whatever its generation", () => {
  assert.deepEqual(["SXM5", "SXM", "sxm2", "PCIe", "OAM"].map(interfaceKind), ["sxm", "sxm", "sxm", "pcie", "oam"]);
});
