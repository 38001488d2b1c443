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
import type { Fit } from "../../../market/fit.ts";
import { noOvercommit } from "../../../market/fit.ts";
import { place, placementUnits } from "./place.ts";
import { openRoom } from "./room.ts";
import { claimsOf } from "./task.ts";

/** The four nodes of the network's own cases. */
const four = cluster([
  sampleNode("node1", { cpuMilli: 68_780n }),
  sampleNode("node2", { cpuMilli: 68_800n, gpuCounts: [gpuCount("a100", 2n)] }),
  sampleNode("node3", { cpuMilli: 119_525n }),
  sampleNode("node4", { cpuMilli: 119_495n }),
]);
const a100 = { gpus: 1n, models: ["nvidia/model/a100"] };

function placed(room: Parameters<typeof openRoom>[0], ...units: SampleUnit[]) {
  return place(
    openRoom(room),
    units.map((unit, at) => sampleUnit({ id: at + 1, ...unit })),
  );
}

function nodesOf(fit: ReturnType<typeof placed>): string[] {
  assert.ok(fit.fits, fit.fits ? "" : fit.reason);
  return fit.replicas.map(({ unit, node }) => `${unit}@${node}`);
}

test("the network's own cases of what fits on four nodes come out the same", () => {
  const size = { memoryBytes: 16n * gi, ephemeralBytes: 8n * gi };
  const cases: [SampleUnit[], boolean][] = [
    [[{ cpuMilli: 100_000n, count: 2 }], true],
    [[{ cpuMilli: 68_780n, count: 4 }], true],
    [[{ cpuMilli: 68_800n, count: 3 }], true],
    [[{ cpuMilli: 119_495n, count: 2 }], true],
    [[{ cpuMilli: 68_780n, ...a100 }], true],
    [[{ cpuMilli: 68_700n }, { cpuMilli: 68_700n, ...a100 }], true],
    [[{ cpuMilli: 70_000n, count: 4 }], false],
    [[{ cpuMilli: 100_000n, count: 3 }], false],
    [[{ cpuMilli: 119_525n, count: 2 }], false],
  ];
  for (const [units, fits] of cases) {
    const fit = placed(four, ...units.map((unit) => ({ ...size, ...unit })));
    assert.equal(
      fit.fits,
      fits,
      JSON.stringify(units, (_, value) => (typeof value === "bigint" ? Number(value) : value)),
    );
  }
  assert.deepEqual(nodesOf(placed(four, { cpuMilli: 68_780n, ...a100 })), ["1@node2"]);
});

test("an offer is the request with one model of an existing GPU", () => {
  const room = cluster([sampleNode("a", { gpuCounts: [gpuCount("a100", 2n, "80Gi", "SXM4")] })]);
  const models: [string, string][] = [
    ["nvidia/model/*", "vendor/nvidia/model/a100"],
    ["nvidia/model/*/ram/80Gi", "vendor/nvidia/model/a100/ram/80Gi"],
    ["nvidia/model/a100/ram/81920Mi/interface/sxm", "vendor/nvidia/model/a100/ram/80Gi/interface/sxm"],
  ];
  for (const [model, key] of models) {
    const fit = placed(room, { gpus: 2n, models: [model] });
    assert.ok(fit.fits);
    const { count: _count, price: _price, ...unit } = sampleUnit({ gpus: 2n, models: [model] });
    assert.deepEqual(fit.offer, [{ ...unit, gpu: { count: 2n, attributes: [{ key, value: "true" }] } }]);
  }
});

test("a group that accepts several GPU models is placed with each of them, one unit's model at a time", () => {
  const room = cluster([
    sampleNode("a", { gpuCounts: [gpuCount("a100", 2n)] }),
    sampleNode("b", { gpuCounts: [gpuCount("h100", 2n)] }),
    sampleNode("c", { gpuCounts: [gpuCount("t4", 1n)] }),
  ]);
  const models = (fit: Fit) => fit.fits && fit.offer.map(({ gpu }) => gpu.attributes[0]?.key.split("/")[3]).join("+");
  const offers = (...units: SampleUnit[]) => {
    const fit = placed(room, ...units);
    return fit.fits ? [fit, ...(fit.others ?? [])].map(models).sort() : [];
  };
  const any: SampleUnit = { gpus: 1n, models: ["nvidia/model/*"] };
  assert.deepEqual(offers(any), ["a100", "h100", "t4"]);
  assert.deepEqual(offers({ ...any, gpus: 2n }), ["a100", "h100"]);
  assert.deepEqual(offers({ gpus: 1n, models: ["nvidia/model/h100"] }), ["h100"]);
  const two = offers({ ...any, gpus: 2n }, any);
  assert.ok(two.includes("a100+h100") || two.includes("h100+a100") || two.includes("a100+t4"), two.join());
  assert.equal(new Set(two).size, two.length);
});

test("offers in which units that are alike only swap their GPU models count as one", () => {
  const models = ["a100", "h100", "t4", "l4", "v100"];
  const room = cluster(models.map((model) => sampleNode(model, { gpuCounts: [gpuCount(model, 64n)] })));
  const any: SampleUnit = { gpus: 1n, models: ["nvidia/model/*"] };
  const fit = placed(room, any, any, any, any);
  assert.ok(fit.fits);
  const offers = [fit, ...(fit.others ?? [])].map(({ offer }) =>
    offer
      .map(({ gpu }) => gpu.attributes[0]?.key)
      .sort()
      .join(),
  );
  assert.equal(new Set(offers).size, offers.length, offers.join("\n"));
});

test("a wildcard is not bound to GPUs of a node that is short of another resource", () => {
  const room = cluster([
    sampleNode("a", { gpuCounts: [gpuCount("a100", 8n)], memoryBytes: gi }),
    sampleNode("b", { gpuCounts: [gpuCount("h100", 8n)] }),
  ]);
  const fit = placed(room, { gpus: 1n, models: ["nvidia/model/*"], memoryBytes: 64n * gi });
  assert.deepEqual(nodesOf(fit), ["1@b"]);
  assert.deepEqual(fit.fits && fit.offer[0]?.gpu.attributes[0]?.key, "vendor/nvidia/model/h100");
});

test("all replicas of a unit get the same model, and another unit may get another", () => {
  const room = cluster([
    sampleNode("a", { gpuCounts: [gpuCount("a100", 1n)] }),
    sampleNode("b", { gpuCounts: [gpuCount("h100", 1n)] }),
    sampleNode("c", { gpuCounts: [gpuCount("h100", 1n)] }),
  ]);
  const any = { gpus: 1n, models: ["nvidia/model/*"] };
  assert.deepEqual(nodesOf(placed(room, { ...any, count: 2 })), ["1@b", "1@c"]);
  assert.equal(placed(room, { ...any, count: 3 }).fits, false);
  assert.deepEqual(nodesOf(placed(room, any, { ...any, count: 2 })), ["1@a", "2@b", "2@c"]);
});

test("a named model and a wildcard beside it are each matched by their own attributes", () => {
  const room = cluster([sampleNode("a", { gpuCounts: [gpuCount("a100", 1n, "40Gi")] })]);
  const models = ["nvidia/model/*", "nvidia/model/a100/ram/80Gi"];
  assert.equal(placed(room, { gpus: 1n, models }).fits, false, "the a100 must have 80Gi");
  const other = cluster([sampleNode("a", { gpuCounts: [gpuCount("t4", 1n, "16Gi")] })]);
  assert.equal(placed(other, { gpus: 1n, models }).fits, true);
});

test("mixed node → no more is promised than is left in the worst case", () => {
  const mixed = (takenGpus: bigint) =>
    cluster([sampleNode("a", { gpuCounts: [gpuCount("a100", 4n), gpuCount("h100", 4n)], takenGpus })]);
  const h100 = (gpus: bigint): SampleUnit => ({ gpus, models: ["nvidia/model/h100"] });
  assert.equal(placed(mixed(0n), h100(4n)).fits, true);
  assert.equal(placed(mixed(0n), h100(5n)).fits, false);
  assert.equal(placed(mixed(1n), h100(3n)).fits, true);
  assert.equal(placed(mixed(1n), h100(4n)).fits, false);
  assert.equal(placed(mixed(4n), h100(1n)).fits, false);
  assert.equal(placed(mixed(0n), { gpus: 4n, models: ["nvidia/model/a100"] }, h100(4n)).fits, true);
});

test("GPUs that the snapshot counts as taken → the kinds of our own are known", () => {
  const room = openRoom(
    cluster([sampleNode("a", { gpuCounts: [gpuCount("a100", 4n), gpuCount("h100", 4n)], takenGpus: 3n })]),
  );
  const h100 = [sampleUnit({ gpus: 3n, models: ["nvidia/model/h100"] })];
  assert.equal(place(room, h100).fits, false);
  const own = { replicas: [{ unit: 1, node: "a" }], offer: [sampleUnit({ gpus: 2n, models: ["nvidia/model/a100"] })] };
  const [claim] = claimsOf(own, noOvercommit);
  assert.ok(claim);
  room.recognise(claim);
  assert.equal(place(room, h100).fits, true, "two of the three are of the other model");
  room.recognise(claim);
  room.recognise(claim);
  assert.equal(room.nodes[0]?.gpus.takings.get(1), 3, "no more is known than is taken");
});

test("a GPU named in four ways → as fast as named once", async () => {
  const models = ["a100", "h100", "h200", "l40s", "t4"];
  const inFourWays = models
    .map((model) => `nvidia/model/${model}`)
    .flatMap((name) => [name, `${name}/ram/80Gi`, `${name}/interface/pcie`, `${name}/ram/80Gi/interface/pcie`]);
  const room = cluster([sampleNode("a", { gpuCounts: models.map((model) => gpuCount(model, 3n)) })]);
  const once = inFourWays.filter((_, at) => at % 4 === 0);
  assert.deepEqual(placed(room, { gpus: 2n, models: inFourWays }), placed(room, { gpus: 2n, models: once }));
  const placeSix = (models: readonly string[]) => () => placed(room, ...Array(6).fill({ gpus: 2n, models }));
  assert.equal(placeSix(inFourWays)().fits, false);
  // Twenty models for six units would be tried in a thousand times as many ways as five.
  await assertCost(placeSix(inFourWays), { times: 10, of: placeSix(once) });
});

/** The search tries each way to give one GPU model to every pair, and there is none that fits. */
const expensiveGroups = (() => {
  const thirty = Array.from({ length: 30 }, (_, at) => gpuCount(`m${at}`, 6n));
  const variants = ["40Gi", "80Gi"].flatMap((size) => ["PCIe", "SXM4"].map((kind) => gpuCount("a100", 3n, size, kind)));
  const rest = ["", "/ram/40Gi", "/ram/80Gi", "/interface/pcie", "/interface/sxm"];
  const nodes = (kinds: typeof thirty, count: number, cpuMilli: bigint) =>
    Array.from({ length: count }, (_, at) =>
      sampleNode(`n${at}`, { cpuMilli: at ? cpuMilli : 7_500n, gpuCounts: kinds }),
    );
  const pairs = (models: readonly string[]) =>
    [1_000n, 2_000n, 2_000n].map((cpuMilli, at) => sampleUnit({ id: at + 1, count: 2, cpuMilli, gpus: 1n, models }));
  return [
    { room: openRoom(cluster(nodes(thirty, 2, 2_500n))), units: pairs(["nvidia/model/*"]) },
    { room: openRoom(cluster(nodes(thirty, 100, 1_900n))), units: pairs(["nvidia/model/*"]) },
    {
      room: openRoom(cluster(nodes(variants, 2, 2_500n))),
      units: pairs(rest.map((each) => `nvidia/model/a100${each}`)),
    },
  ];
})();

test("a group whose GPU models multiply is rejected at the search limit, with the room unchanged", () => {
  for (const { room, units } of expensiveGroups) {
    const before = structuredClone({ nodes: room.nodes, spare: room.spare });
    const fit = place(room, units);
    const reason = "search limit reached: no placement found in 2500000 steps";
    assert.deepEqual(fit, { fits: false, reason, shortages: [], isLimited: true });
    assert.deepEqual(place(room, units), fit);
    assert.deepEqual({ nodes: room.nodes, spare: room.spare }, before);
  }
});

test("a step of the search costs at most six look-ups in a map, also where GPU models multiply", async () => {
  const steps = 100_000;
  const known = new Map(Array.from({ length: 1_000 }, (_, at) => [`node ${at}`, at]));
  const names = [...known.keys()];
  const lookUps = () => {
    let sum = 0;
    for (let at = 0; at < steps; at += 1) sum += known.get(names[at % names.length] ?? "") ?? 0;
    return sum;
  };
  for (const { room, units } of expensiveGroups)
    await assertCost(() => place(room, units, { steps }), { times: 6, of: lookUps });
});

test("a group of as many units as there may be, each with many GPU models, costs little more than a search at its limit", async () => {
  const nodes = Array.from({ length: 200 }, (_, at) =>
    sampleNode(`n${at}`, { gpuCounts: [gpuCount(`m${at % 60}`, 500n)] }),
  );
  const room = openRoom(cluster(nodes));
  const unit = { count: 3, cpuMilli: 100n, gpus: 1n, models: ["nvidia/model/*"] };
  const units = Array.from({ length: placementUnits }, (_, at) => sampleUnit({ id: at + 1, ...unit }));
  const [one] = expensiveGroups;
  assert.ok(one && place(room, units).fits);
  await assertCost(() => place(room, units), { times: 4, of: () => place(one.room, one.units) });
});

test("GPU demand without memory → may take either kind, so neither is promised twice", () => {
  const room = cluster([sampleNode("a", { gpuCounts: [gpuCount("a100", 1n, "40Gi"), gpuCount("a100", 1n, "80Gi")] })]);
  const large = { gpus: 1n, models: ["nvidia/model/a100/ram/80Gi"] };
  const any = { gpus: 1n, models: ["nvidia/model/a100"] };
  assert.equal(placed(room, any, any).fits, true);
  assert.equal(placed(room, large).fits, true);
  assert.equal(placed(room, any, large).fits, false);
});

test("replicas without a gpu stay away from nodes with gpus while there are others", () => {
  const room = cluster([sampleNode("a", { gpuCounts: [gpuCount("a100", 8n)] }), sampleNode("b"), sampleNode("c")]);
  assert.deepEqual(nodesOf(placed(room, { count: 3, cpuMilli: 40_000n })).sort(), ["1@a", "1@b", "1@c"]);
  assert.deepEqual(nodesOf(placed(room, { count: 2, cpuMilli: 40_000n })).sort(), ["1@b", "1@c"]);
});

test("a node that is nearly full is filled before one that is empty", () => {
  const room = cluster([sampleNode("a"), sampleNode("b", { cpuMilli: 4_000n }), sampleNode("c")]);
  assert.deepEqual(nodesOf(placed(room, { cpuMilli: 4_000n })), ["1@b"]);
});

test("volumes in memory are memory, ephemeral ones are summed, persistent ones belong to their class", () => {
  const room = (some: object, classes = {}) => cluster([sampleNode("a", some)], classes);
  const ram = { memoryBytes: gi, volumes: [volume("ram", 3n * gi, false)] };
  assert.equal(placed(room({ memoryBytes: 4n * gi }), ram).fits, true);
  assert.equal(placed(room({ memoryBytes: 4n * gi - 1n }), ram).fits, false);
  const two = { ephemeralBytes: gi, volumes: [volume(undefined, gi, false)] };
  assert.equal(placed(room({ ephemeralBytes: 2n * gi }), two).fits, true);
  assert.equal(placed(room({ ephemeralBytes: 2n * gi - 1n }), two).fits, false);
  const disk = { count: 2, volumes: [volume("beta3", 5n * gi)] };
  const mounts = { storageClasses: ["beta3"] };
  assert.equal(placed(room(mounts, { beta3: 10n * gi }), disk).fits, true);
  assert.equal(placed(room(mounts, { beta3: 10n * gi - 1n }), disk).fits, false);
  assert.equal(placed(room(mounts, { beta3: undefined }), disk).fits, true, "a class without an end");
  assert.equal(placed(room({}, { beta3: 10n * gi }), disk).fits, false, "a node that cannot mount it");
  assert.equal(placed(room({ ...mounts, volumes: 2n }, { beta3: 10n * gi }), disk).fits, true);
  assert.equal(placed(room({ ...mounts, volumes: 1n }, { beta3: 10n * gi }), disk).fits, false);
});

test("overcommit → less is set aside than requested", () => {
  const room = openRoom(cluster([sampleNode("a", { cpuMilli: 10_000n, memoryBytes: 2n * gi })]));
  const overcommit = { ...noOvercommit, cpuPercent: 50, memoryPercent: 100, storagePercent: 0 };
  const units = [sampleUnit({ cpuMilli: 15_000n, memoryBytes: 4n * gi })];
  assert.equal(place(room, units).fits, false);
  const fit = place(room, units, { overcommit });
  assert.ok(fit.fits);
  assert.equal(fit.offer[0]?.cpu.milli, 15_000n, "the offer is the request");
  for (const claim of claimsOf(fit, overcommit)) room.take(claim);
  assert.deepEqual(room.node("a")?.free.slice(0, 2), [0n, 0n]);
});

test("what is taken is no longer there, and given back it is exactly as before", () => {
  const room = openRoom(
    cluster([sampleNode("a", { gpuCounts: [gpuCount("a100", 2n)], storageClasses: ["beta3"], volumes: 3n })], {
      beta3: 9n * gi,
    }),
  );
  const before = structuredClone({ nodes: room.nodes, classes: room.classes });
  const units = [sampleUnit({ gpus: 2n, models: ["nvidia/model/*"], volumes: [volume("beta3", 5n * gi)] })];
  const fit = place(room, units);
  assert.ok(fit.fits);
  assert.deepEqual({ nodes: room.nodes, classes: room.classes }, before, "looking takes nothing");
  const claims = claimsOf(fit, noOvercommit);
  for (const claim of claims) room.take(claim);
  assert.equal(place(room, units).fits, false);
  for (const claim of claims) room.giveBack(claim);
  assert.deepEqual({ nodes: room.nodes, classes: room.classes }, before);
});

test("what was promised on a node that is gone or has shrunk stays promised, and nothing more fits there", () => {
  const fit = placed(cluster([sampleNode("a"), sampleNode("b")]), { count: 2, cpuMilli: 60_000n });
  assert.ok(fit.fits);
  const room = openRoom(cluster([sampleNode("a", { cpuMilli: 50_000n })]));
  for (const claim of claimsOf(fit, noOvercommit)) room.take(claim);
  assert.equal(room.node("a")?.free[0], -10_000n);
  assert.equal(place(room, [sampleUnit({ cpuMilli: 1n })]).fits, false);
});
