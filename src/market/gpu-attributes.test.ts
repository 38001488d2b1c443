import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { describeGpu, gpuAttribute, gpuOf, gpuSatisfies, modelsFor, readGpuDemands } from "./gpu-attributes.ts";

function read(...keys: string[]) {
  const demands = readGpuDemands(keys.map((key) => ({ key, value: "true" })));
  assert.ok(typeof demands !== "string", `${demands}`);
  return demands;
}

test("an attribute says vendor and model, and perhaps memory and interface in any order", () => {
  assert.deepEqual(
    read("vendor/nvidia/model/a100", "vendor/amd/model/*", "vendor/nvidia/model/h100/interface/sxm/ram/81920Mi"),
    [
      { vendor: "nvidia", model: "a100" },
      { vendor: "amd", model: "*" },
      { vendor: "nvidia", model: "h100", interface: "sxm", memoryGi: 80n },
    ],
  );
  assert.equal(
    read("vendor/nvidia/model/t4/ram/999999999Ei")[0]?.memoryGi,
    999_999_999n * 2n ** 30n,
    "however much it is",
  );
});

test("an unreadable attribute is rejected with the wrong part", () => {
  const wrong: [string, RegExp][] = [
    ["", /is not vendor/],
    ["vendor/nvidia", /is not vendor/],
    ["vendor/nvidia/model/", /is not vendor/],
    ["model/a100/vendor/nvidia", /is not vendor/],
    ["vendor/intel/model/a770", /none of the vendors nvidia, amd/],
    ["vendor/NVIDIA/model/a100", /none of the vendors/],
    ["vendor/nvidia/model/a100/ram", /ends within a pair/],
    ["vendor/nvidia/model/a100/ram/80", /unknown part: ram\/80/],
    ["vendor/nvidia/model/a100/ram/80G", /unknown part/],
    ["vendor/nvidia/model/a100/ram/-1Gi", /unknown part/],
    ["vendor/nvidia/model/a100/interface/nvlink", /unknown part: interface\/nvlink/],
    ["vendor/nvidia/model/a100/speed/9", /unknown part: speed\/9/],
  ];
  for (const [key, reason] of wrong) {
    const demands = readGpuDemands([{ key, value: "true" }]);
    assert.match(typeof demands === "string" ? demands : "it was read", reason, key);
  }
});

test("a GPU is read from the inventory's fields", () => {
  assert.deepEqual(gpuOf({ vendor: "NVIDIA", name: "h100", interface: "SXM5", memorySize: "80Gi" }), {
    vendor: "nvidia",
    model: "h100",
    memoryGi: 80n,
    interface: "sxm",
  });
  assert.deepEqual(gpuOf({ vendor: "amd", name: "mi60", interface: "PCIe", memorySize: "a lot" }), {
    vendor: "amd",
    model: "mi60",
    memoryGi: undefined,
    interface: "pcie",
  });
});

test("a wildcard stands for every model that is not named", () => {
  const small = gpuOf({ vendor: "nvidia", name: "a100", memorySize: "40Gi", interface: "PCIe" });
  const large = gpuOf({ vendor: "nvidia", name: "a100", memorySize: "80Gi", interface: "SXM4" });
  const t4 = gpuOf({ vendor: "nvidia", name: "t4", memorySize: "16Gi", interface: "PCIe" });
  const there = [t4, small, large];
  const keys = (...requested: string[]) =>
    modelsFor(read(...requested), there).map((demand) => gpuAttribute(demand).key);
  assert.deepEqual(keys("vendor/nvidia/model/*"), ["vendor/nvidia/model/a100", "vendor/nvidia/model/t4"]);
  assert.deepEqual(keys("vendor/nvidia/model/*/ram/80Gi"), ["vendor/nvidia/model/a100/ram/80Gi"]);
  assert.deepEqual(keys("vendor/nvidia/model/*", "vendor/nvidia/model/a100/ram/24Gi"), ["vendor/nvidia/model/t4"]);
  assert.deepEqual(keys("vendor/nvidia/model/a100/interface/sxm"), ["vendor/nvidia/model/a100/interface/sxm"]);
  assert.deepEqual(keys("vendor/amd/model/*"), []);
  assert.deepEqual(modelsFor(read("vendor/nvidia/model/*"), []), []);
});

test("two demands on one model are two ways to meet it", () => {
  const there = ["40Gi", "80Gi"].map((memorySize) => gpuOf({ vendor: "nvidia", name: "a100", memorySize }));
  assert.equal(
    modelsFor(read("vendor/nvidia/model/a100/ram/40Gi", "vendor/nvidia/model/a100/ram/80Gi"), there).length,
    2,
  );
});

test("an attribute survives reading and writing, and a GPU that satisfies it matches it", () => {
  const demand = fc.record(
    {
      vendor: fc.constantFrom("nvidia", "amd"),
      model: fc.constantFrom("a100", "t4", "rtx-4090"),
      memoryGi: fc.bigInt({ min: 0n, max: 1_000n }),
      interface: fc.constantFrom("pcie", "sxm"),
    },
    { requiredKeys: ["vendor", "model"] },
  );
  fc.assert(
    fc.property(demand, (requested) => {
      const [again] = read(gpuAttribute(requested).key);
      assert.deepEqual({ ...again }, { ...requested });
      const { vendor, model, memoryGi = 7n, interface: kind = "pcie" } = requested;
      assert.ok(gpuSatisfies({ vendor, model, memoryGi, interface: kind }, requested));
      assert.ok(!gpuSatisfies({ vendor, model: "v100", memoryGi, interface: kind }, requested));
    }),
    { numRuns: runs(300, 10_000) },
  );
});

test("a GPU has a readable description", () => {
  assert.equal(
    describeGpu({ vendor: "nvidia", model: "a100", memoryGi: 80n, interface: "sxm" }),
    "nvidia/a100 with 80Gi, sxm",
  );
  assert.equal(describeGpu({ vendor: "nvidia", model: "*" }), "nvidia/*");
});
