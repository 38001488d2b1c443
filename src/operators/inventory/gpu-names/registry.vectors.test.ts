/** The network's own registry, gpus.json in its provider-configs. */
import assert from "node:assert/strict";
import { readVector, vectorTest } from "../../../../test/support/vectors.ts";
import { builtInRegistry, parseRegistry } from "./parse-registry.ts";

const networkRegistry = () => parseRegistry(readVector("gpus.json").toString());

vectorTest("the network's own registry is read without a single problem", () => {
  const { vendors, problems } = networkRegistry();
  assert.deepEqual(problems, []);
  assert.equal(vendors.get("10de")?.devices.size, 96);
  assert.deepEqual(vendors.get("10de")?.devices.get("2335"), { name: "h200", interface: "SXM5", memorySize: "141Gi" });
  assert.deepEqual([...(vendors.get("1002")?.devices.keys() ?? [])].sort(), ["66a1", "738c"]);
});

vectorTest("every GPU that the network names has the same name here without any registry", () => {
  for (const [vendorId, { devices }] of networkRegistry().vendors) {
    for (const [deviceId, device] of devices) {
      assert.deepEqual(builtInRegistry.vendors.get(vendorId)?.devices.get(deviceId), device);
    }
  }
});
