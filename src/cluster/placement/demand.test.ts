import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { gi, sampleUnit, volume } from "../../../test/placement-samples.ts";
import { runs } from "../../../test/runs.ts";
import { committed, demandOf, noOvercommit, volumesOf } from "./demand.ts";

test("what is set aside is rounded up, never nothing, and less the more is overcommitted", () => {
  const cases: [bigint, number, bigint][] = [
    [1_000n, 0, 1_000n],
    [1_000n, 100, 500n],
    [1_000n, 50, 667n],
    [1_000n, 1, 991n],
    [1n, 10_000, 1n],
    [0n, 50, 0n],
    [2n ** 70n, 100, 2n ** 69n],
  ];
  for (const [asked, percent, expected] of cases) assert.equal(committed(asked, percent), expected);
});

test("what is set aside is never too little for what the overcommit allows, and no more than one too much", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 60n }), fc.nat(10_000), (asked, percent) => {
      const sold = 100n + BigInt(percent);
      const aside = committed(asked, percent);
      assert.ok(aside * sold >= asked * 100n);
      assert.ok(aside === 0n || (aside - 1n) * sold < asked * 100n);
    }),
    { numRuns: runs(300, 20_000) },
  );
});

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
  const overcommit = { cpuPercent: 50, memoryPercent: 100, storagePercent: 100 };
  const demands = demandOf([unit], overcommit);
  assert.ok(Array.isArray(demands));
  assert.deepEqual(demands[0]?.amounts, [600n, gi, gi / 2n, 2n, 2n]);
  assert.deepEqual(demands[0]?.classes, new Map([["beta3", 5n * gi]]));
  assert.deepEqual(volumesOf(demands), new Map([["beta3", 15n * gi]]));
});

test("a demand without overcommit is what was asked for", () => {
  const demands = demandOf([sampleUnit({ cpuMilli: 7n, memoryBytes: 11n, ephemeralBytes: 13n })], noOvercommit);
  assert.deepEqual(Array.isArray(demands) && demands[0]?.amounts, [7n, 11n, 13n, 0n, 0n]);
});
