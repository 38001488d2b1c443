import assert from "node:assert/strict";
import { test } from "node:test";
import { gi, sampleUnit, volume } from "../../../../test/support/samples/placement-samples.ts";
import { noOvercommit } from "../../../market/fit.ts";
import { demandsOf, volumesOf } from "./task.ts";

test("gpus and persistent volumes are never overcommitted, everything on a node is", () => {
  const unit = sampleUnit({
    count: 3,
    cpuMilli: 900n,
    memoryBytes: gi,
    gpus: 2n,
    models: ["nvidia/model/a100"],
    ephemeralBytes: gi,
    volumes: [volume("ram", gi, false), volume("beta3", 4n * gi), volume("beta3", gi)],
  });
  const overcommit = { ...noOvercommit, cpuPercent: 50, memoryPercent: 100, storagePercent: 100 };
  const demands = demandsOf([unit], overcommit);
  assert.ok(Array.isArray(demands));
  assert.deepEqual(demands[0]?.amounts, [600n, gi, gi / 2n, 2n, 2n]);
  assert.deepEqual(demands[0]?.classes, new Map([["beta3", 5n * gi]]));
  assert.deepEqual(volumesOf(demands, { classOf: (name) => name }), new Map([["beta3", 15n * gi]]));
});

test("replica without ephemeral storage → the default is set aside, as its pod requests it", () => {
  const unit = sampleUnit({ cpuMilli: 7n, memoryBytes: 11n, volumes: [volume("beta3", gi)] });
  const none = { ...unit, storage: unit.storage.slice(1) };
  const overcommit = { ...noOvercommit, storagePercent: 100, defaultDiskBytes: 4n * gi };
  const amountsOf = (given: typeof noOvercommit) => {
    const demands = demandsOf([none], given);
    return Array.isArray(demands) && demands[0]?.amounts;
  };
  assert.deepEqual(amountsOf(noOvercommit), [7n, 11n, gi, 0n, 1n]);
  assert.deepEqual(amountsOf(overcommit), [7n, 11n, 2n * gi, 0n, 1n]);
});

test("no overcommit → the demand equals the request", () => {
  const demands = demandsOf([sampleUnit({ cpuMilli: 7n, memoryBytes: 11n, ephemeralBytes: 13n })], noOvercommit);
  assert.deepEqual(Array.isArray(demands) && demands[0]?.amounts, [7n, 11n, 13n, 0n, 0n]);
});
