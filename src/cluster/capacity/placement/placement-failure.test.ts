import assert from "node:assert/strict";
import { test } from "node:test";
import { assertCost } from "../../../../test/support/cost.ts";
import {
  cluster,
  gi,
  gpuCount,
  type SampleUnit,
  sampleNode,
  sampleUnit,
  volume,
} from "../../../../test/support/samples/placement-samples.ts";
import type { PlacementFailure } from "../../../market/fit.ts";
import { place } from "./place.ts";
import { type ClusterRoom, openRoom } from "./room.ts";

function failureOf(snapshot: ClusterRoom, units: readonly SampleUnit[]): PlacementFailure {
  const requested = units.map((unit, at) => sampleUnit({ id: at + 1, ...unit }));
  const fit = place(openRoom(snapshot), requested);
  assert.ok(!fit.fits, "it fits");
  return fit;
}

const two = cluster([
  sampleNode("a", { cpuMilli: 3_500n, memoryBytes: 64n * gi }),
  sampleNode("b", { cpuMilli: 2_000n, memoryBytes: 8n * gi }),
]);

test("replica larger than any node → the largest free amount and its node", () => {
  assert.deepEqual(failureOf(two, [{ cpuMilli: 8_000n }]), {
    fits: false,
    reason: "unit 1: no node has 8 of cpu free; the most is 3500m, on a",
    shortages: [{ unit: 1, resource: "cpu", wanted: 8_000n, available: 3_500n, where: "a", nodes: 2 }],
  });
  assert.deepEqual(failureOf(two, [{}, { memoryBytes: 65n * gi }]), {
    fits: false,
    reason: "unit 2: no node has 65Gi of memory free; the most is 64Gi, on a",
    shortages: [{ unit: 2, resource: "memory", wanted: 65n * gi, available: 64n * gi, where: "a", nodes: 2 }],
  });
});

test("what blocks is named, and not what is scarce as well", () => {
  const scarce = cluster([
    sampleNode("a", { cpuMilli: 1_000n, memoryBytes: 4n * gi, ephemeralBytes: 2n * gi }),
    sampleNode("b", { cpuMilli: 500n, memoryBytes: 64n * gi, ephemeralBytes: 2n * gi }),
  ]);
  const { shortages } = failureOf(scarce, [{ cpuMilli: 900n, memoryBytes: gi, ephemeralBytes: 3n * gi }]);
  assert.deepEqual(
    shortages.map(({ resource, nodes }) => [resource, nodes]),
    [["storage-ephemeral", 2]],
  );
});

test("nodes lack different resources → both are named", () => {
  const apart = cluster([
    sampleNode("a", { cpuMilli: 1_000n }),
    sampleNode("b", { memoryBytes: gi }),
    sampleNode("c", { memoryBytes: gi }),
  ]);
  assert.equal(
    failureOf(apart, [{ cpuMilli: 2_000n, memoryBytes: 2n * gi }]).reason,
    "unit 1: no node has 2 of cpu and 2Gi of memory free at once: 1 short of cpu, 2 short of memory",
  );
});

test("where the gpus are free and their nodes lack cpu, it is cpu that is short", () => {
  const snapshot = cluster([
    sampleNode("a", { gpuCounts: [gpuCount("a100", 4n)], cpuMilli: 1_000n }),
    sampleNode("b"),
    sampleNode("c"),
  ]);
  assert.deepEqual(failureOf(snapshot, [{ gpus: 1n, models: ["nvidia/model/a100"], cpuMilli: 8_000n }]), {
    fits: false,
    reason: "unit 1: of the 1 nodes that would do none has 8 of cpu free; the most is 1, on a",
    shortages: [{ unit: 1, resource: "cpu", wanted: 8_000n, available: 1_000n, where: "a", nodes: 1 }],
  });
});

test("GPU model that no node has → named beside the existing ones", () => {
  const snapshot = cluster([sampleNode("a", { gpuCounts: [gpuCount("a100", 4n)] }), sampleNode("b")]);
  const { reason, shortages } = failureOf(snapshot, [{ gpus: 2n, models: ["nvidia/model/h100/ram/80Gi"] }]);
  assert.equal(reason, "unit 1: no node has 2 × nvidia/h100 with 80Gi; there are 4 × nvidia/a100 with 80Gi, pcie");
  assert.deepEqual(shortages, [
    { unit: 1, resource: "gpu nvidia/h100 with 80Gi", wanted: 2n, available: 0n, where: "cluster", nodes: 2 },
  ]);
  assert.match(
    failureOf(snapshot, [{ gpus: 8n, models: ["nvidia/model/a100"] }]).reason,
    /no node has 8 × nvidia\/a100; there are 4 ×/,
  );
  assert.match(
    failureOf(two, [{ gpus: 1n, models: ["amd/model/*"] }]).reason,
    /no node has 1 × amd\/\*; there are no gpus/,
  );
});

test("all GPUs taken → short, not missing", () => {
  const snapshot = cluster([sampleNode("a", { gpuCounts: [gpuCount("a100", 4n)], takenGpus: 3n }), sampleNode("b")]);
  assert.deepEqual(failureOf(snapshot, [{ gpus: 2n, models: ["nvidia/model/a100"] }]).shortages, [
    { unit: 1, resource: "gpu nvidia/a100", wanted: 2n, available: 1n, where: "a", nodes: 1 },
  ]);
});

test("storage class unknown, not mountable or full → each has its own reason", () => {
  const disk = { count: 2, volumes: [volume("beta3", 5n * gi)] };
  const snapshot = (mounted: string[], classes: Record<string, bigint>) =>
    cluster([sampleNode("a", { storageClasses: mounted })], classes);
  assert.equal(
    failureOf(snapshot(["beta1"], { beta1: 90n * gi }), [disk]).reason,
    "10Gi of storage-beta3 is wanted, there are only the classes beta1",
  );
  assert.equal(
    failureOf(snapshot([], { beta3: 90n * gi }), [disk]).reason,
    "unit 1: no node can mount volumes of the class beta3",
  );
  assert.deepEqual(failureOf(snapshot(["beta3"], { beta3: 9n * gi }), [disk]), {
    fits: false,
    reason: "10Gi of storage-beta3 is wanted, 9Gi is free of it",
    shortages: [
      { unit: 1, resource: "storage-beta3", wanted: 10n * gi, available: 9n * gi, where: "cluster", nodes: 1 },
    ],
  });
});

test("a persistent volume needs a class that keeps something", () => {
  assert.match(
    failureOf(two, [{ volumes: [volume(undefined, gi)] }]).reason,
    /^unit 1 has a persistent volume data that names no/,
  );
  assert.match(
    failureOf(two, [{ volumes: [volume("ram", gi)] }]).reason,
    /^unit 1 has a persistent volume data in memory/,
  );
});

test("only some replicas fit → how many, and which resource is short", () => {
  assert.deepEqual(failureOf(two, [{ count: 4, cpuMilli: 1_500n }]), {
    fits: false,
    reason: "unit 1: 3 of its 4 replicas fit; it takes more cpu",
    shortages: [{ unit: 1, resource: "cpu", wanted: 1_500n, available: 3_500n, where: "a", nodes: 0 }],
  });
});

test("many replicas → only the short resource is named", () => {
  const snapshot = cluster([
    sampleNode("a", { cpuMilli: 2_000n, gpuCounts: [gpuCount("a100", 2n)] }),
    sampleNode("b", { cpuMilli: 2_000n, gpuCounts: [gpuCount("a100", 2n)] }),
  ]);
  assert.equal(
    failureOf(snapshot, [{ count: 6, cpuMilli: 1_000n, gpus: 1n, models: ["nvidia/model/*"] }]).reason,
    "unit 1: 4 of its 6 replicas fit; it takes more cpu and gpu nvidia/*",
  );
});

test("units fit alone but not together → the resource short for all", () => {
  assert.equal(
    failureOf(two, [{ cpuMilli: 3_000n }, { cpuMilli: 2_000n }, { cpuMilli: 1_000n }]).reason,
    "each unit fits alone, all together do not: 6 of cpu is wanted, 5500m is free",
  );
  assert.equal(
    failureOf(two, [{ cpuMilli: 3_000n }, { cpuMilli: 2_500n }]).reason,
    "each unit fits alone, all together do not: 5500m of cpu is wanted, 3500m is free on the nodes that would do, 1 of 2",
  );
  const even = cluster([sampleNode("a", { cpuMilli: 3_500n }), sampleNode("b", { cpuMilli: 3_500n })]);
  assert.equal(
    failureOf(even, [{ cpuMilli: 2_000n }, { cpuMilli: 2_000n }, { cpuMilli: 2_000n }]).reason,
    "each unit fits alone, all together do not: what is free of cpu lies in pieces that are too small",
  );
});

test("no nodes → nothing fits, with the reason", () => {
  assert.equal(failureOf(cluster([]), [{}]).reason, "unit 1: no node is offered");
});

test("oversized groups → rejected at about the cost of an ordinary one", async () => {
  const nodes = Array.from({ length: 1_000 }, (_, at) => sampleNode(`n${at}`, { gpuCounts: [gpuCount("a100", 8n)] }));
  const room = openRoom(cluster(nodes, { beta3: undefined }));
  const many = (length: number, unit: SampleUnit = {}) =>
    Array.from({ length }, (_, at) => sampleUnit({ id: at + 1, ...unit }));
  const keys = Array.from({ length: 10_000 }, (_, at) => `nvidia/model/m${at}`);
  const groups: [string, ReturnType<typeof many>, RegExp][] = [
    ["no units", [], /has no units/],
    ["a count of zero", [sampleUnit({ count: 0 })], /the group has no replicas/],
    ["a count that is none", [sampleUnit({ count: 0.5 })], /requests 0.5 replicas/],
    ["a billion replicas", [sampleUnit({ count: 1_000_000_000 })], /64000 of its 1000000000 replicas fit/],
    [
      "a billion replicas of nothing",
      [sampleUnit({ count: 1e9, cpuMilli: 0n, memoryBytes: 0n, ephemeralBytes: 0n })],
      /at most 10000/,
    ],
    ["2^70 bytes", [sampleUnit({ memoryBytes: 2n ** 70n })], /no node has .* of memory free/],
    ["2^70 bytes of an endless class", [sampleUnit({ volumes: [volume("beta3", 2n ** 70n)] })], /no node can mount/],
    [
      "2^70 gpus",
      [sampleUnit({ gpus: 2n ** 70n, models: ["nvidia/model/*"] })],
      /no node has 1180591620717411303424 ×/,
    ],
    ["less than nothing", [sampleUnit({ cpuMilli: -1n })], /a negative amount/],
    ["10,000 units", many(10_000), /has 10000 units/],
    ["10,000 models", [sampleUnit({ gpus: 1n, models: keys })], /and 9995 more/],
    ["one id twice", [sampleUnit(), sampleUnit()], /the same id/],
    [
      "a key that is none",
      [sampleUnit({ gpus: 1n, models: ["nvidia/model/a100/ram/999999999Ei/x"] })],
      /unreadable attributes/,
    ],
    ["no model", [sampleUnit({ gpus: 1n })], /without its vendor/],
  ];
  for (const [name, units, reason] of groups) {
    const fit = place(room, units);
    assert.match(fit.fits ? "it fits" : fit.reason, reason, name);
  }
  const placeAll = () => groups.map(([, units]) => place(room, units));
  await assertCost(placeAll, { times: 10 * groups.length, of: () => place(room, many(10, { count: 100 })) });
});
