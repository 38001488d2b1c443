import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { MarketName } from "../inventory.ts";
import { builtInRegistry, parseRegistry, registryProblems } from "./parse-registry.ts";

const h200 = { name: "h200", interface: "SXM5", memory_size: "141Gi" };

function registry(devices: Record<string, unknown>, more: Record<string, unknown> = {}): string {
  return JSON.stringify({ "10de": { name: "nvidia", devices }, ...more });
}

test("parses a registry in the network's form", () => {
  const inForm = ({ memorySize, ...device }: MarketName) => ({ ...device, memory_size: memorySize });
  const vendors = [...builtInRegistry.vendors].map(([id, { name, devices }]) => {
    return [id, { name, devices: Object.fromEntries([...devices].map(([key, device]) => [key, inForm(device)])) }];
  });
  assert.deepEqual(parseRegistry(JSON.stringify(Object.fromEntries(vendors))), builtInRegistry);
  assert.deepEqual([...builtInRegistry.vendors.keys()].sort(), ["1002", "10de"]);
});

test("invalid entries are reported and left out", () => {
  const text = registry(
    {
      "2335": h200,
      "26B9": { name: "l40s", interface: "PCIe" },
      "26b9": { name: "again", interface: "PCIe" },
      xyz: h200,
      "0001": null,
      "0002": { name: "", interface: "PCIe" },
      "0003": { name: "a GPU", interface: "PCIe" },
      "0004": { name: "gpu" },
      "0005": { ...h200, memory_size: 141 },
      "0006": { ...h200, memory_size: "lots" },
      "0007": { name: "x".repeat(64), interface: "PCIe" },
      "0008": { ...h200, memory_size: "-1Gi" },
    },
    { "1002": { name: "amd" }, "8086": "intel", amd: {} },
  );
  const { vendors, problems } = parseRegistry(text);
  assert.deepEqual(
    [...vendors].map(([id, { name, devices }]) => [id, name, ...devices.keys()]),
    [["10de", "nvidia", "2335", "26b9"]],
  );
  assert.deepEqual(vendors.get("10de")?.devices.get("26b9"), { name: "l40s", interface: "PCIe" });
  assert.deepEqual(problems.map((problem) => problem.split(": ")[0]).sort(), [
    "device 10de:0001",
    "device 10de:0002",
    "device 10de:0003",
    "device 10de:0004",
    "device 10de:0005",
    "device 10de:0006",
    "device 10de:0007",
    "device 10de:0008",
    "device 10de:26b9",
    "device 10de:xyz",
    "vendor 1002",
    "vendor 8086",
    "vendor amd",
  ]);
});

test("a text that names no GPU is rejected", () => {
  const texts = ["", "{", "null", "[]", "42", '"10de"', "{}", registry({}), registry({ zz: h200 }), "<html></html>"];
  for (const text of texts) {
    assert.throws(
      () => parseRegistry(text, "gpus.json"),
      (thrown) =>
        ProviderError.is(thrown, "AKP_GPU_REGISTRY_MALFORMED") && thrown.message.startsWith("gpus.json is no"),
      text,
    );
  }
});

test("reports the first problems of many", () => {
  const bad = Array.from({ length: 100 }, (_, index) => [`x${index}`, h200]);
  const { problems } = parseRegistry(registry({ "2335": h200, ...Object.fromEntries(bad) }));
  assert.equal(problems.length, registryProblems + 1);
  assert.equal(problems.at(-1), `and ${100 - registryProblems} more`);
});

test("any text is either rejected or yields valid entries", () => {
  const odd = fc.jsonValue({ maxDepth: 2 });
  const device = fc.oneof(odd, fc.constant(h200), fc.record({ name: odd, interface: odd, memory_size: odd }));
  const id = fc.oneof(fc.constantFrom("2335", "26B9", "__proto__", "constructor"), fc.string({ maxLength: 6 }));
  const vendor = fc.oneof(odd, fc.record({ name: fc.constant("nvidia"), devices: fc.dictionary(id, device) }));
  const text = fc.oneof(
    fc.dictionary(fc.oneof(fc.constant("10de"), id), vendor).map((all) => JSON.stringify(all)),
    fc.string(),
  );
  fc.assert(
    fc.property(text, (candidate) => {
      try {
        for (const [vendorId, { name, devices }] of parseRegistry(candidate).vendors) {
          assert.match(vendorId, /^[0-9a-f]{4}$/);
          assert.match(name, /^[\w.-]{1,63}$/);
          for (const [deviceId, gpu] of devices) {
            assert.match(deviceId, /^[0-9a-f]{4}$/);
            assert.match(gpu.name, /^[\w.-]{1,63}$/);
            assert.match(gpu.interface, /^[\w.-]{1,63}$/);
          }
        }
      } catch (thrown) {
        if (!ProviderError.is(thrown, "AKP_GPU_REGISTRY_MALFORMED")) throw thrown;
      }
    }),
    { numRuns: runs(200, 10_000) },
  );
});
