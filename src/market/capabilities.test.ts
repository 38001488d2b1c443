import assert from "node:assert/strict";
import { test } from "node:test";
import { aGroup, aUnit } from "../../test/support/samples/decision-samples.ts";
import { missingCapabilities } from "./attributes.ts";
import type { Attribute } from "./group-spec.ts";

const attribute = (key: string, value = "true"): Attribute => ({ key, value });
const volume = (...attributes: Attribute[]) => ({ name: "data", bytes: 2n ** 30n, attributes });
const gpuOf = (...keys: string[]) => ({ count: 1n, attributes: keys.map((key) => attribute(key)) });

const own = [
  attribute("capabilities/storage/1/class", "beta2"),
  attribute("capabilities/storage/1/persistent"),
  attribute("capabilities/storage/2/class", "ram"),
  attribute("capabilities/storage/2/persistent", "false"),
  attribute("capabilities/storage/3/deep/class", "beta3"),
  attribute("capabilities/gpu/vendor/nvidia/model/a100"),
  attribute("capabilities/gpu/vendor/nvidia/model/a100/ram/80Gi"),
];

const cases: [what: string, change: Parameters<typeof aUnit>[0], missing: string[]][] = [
  ["a plain volume needs nothing", {}, []],
  ["a class needs a kind that has it", { storage: [volume(attribute("class", "beta2"), attribute("persistent"))] }, []],
  [
    "attributes of two kinds do not add up",
    { storage: [volume(attribute("class", "ram"), attribute("persistent"))] },
    ["storage"],
  ],
  [
    "memory as a volume is a kind too",
    { storage: [volume(attribute("class", "ram"), attribute("persistent", "false"))] },
    [],
  ],
  ["a key with more parts is none", { storage: [volume(attribute("class", "beta3"))] }, ["storage"]],
  [
    "each volume is looked at",
    { storage: [volume(attribute("class", "x")), volume(attribute("class", "y"))] },
    ["storage", "storage"],
  ],
  ["one of several models is enough", { gpu: gpuOf("vendor/nvidia/model/h100", "vendor/nvidia/model/a100") }, []],
  ["any model of a vendor", { gpu: gpuOf("vendor/nvidia/model/*") }, []],
  ["a pattern does not cross a slash", { gpu: gpuOf("vendor/*") }, ["gpu"]],
  ["a model with its memory", { gpu: gpuOf("vendor/nvidia/model/a100/ram/80Gi") }, []],
  ["a model that we do not have", { gpu: gpuOf("vendor/nvidia/model/h100") }, ["gpu"]],
  ["a GPU of any kind", { gpu: gpuOf() }, []],
];

for (const [what, change, missing] of cases) {
  test(`capabilities: ${what}`, () => {
    const found = missingCapabilities(aGroup({ units: [aUnit(change)] }), own);
    assert.deepEqual(
      found.map(({ what }) => what),
      missing,
    );
  });
}
