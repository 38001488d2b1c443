import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeUsage } from "./node-usage.ts";

const metadata = { name: "a" };

test("measured use is read in the units of the metrics API", () => {
  const usage = { cpu: "1250000001n", memory: "2097152Ki" };
  assert.deepEqual(nodeUsage({ metadata, usage }), { cpuMilli: 1_251n, memoryBytes: 2n ** 31n });
});

test("a measurement that is incomplete or makes no sense is none", () => {
  const bad = [undefined, {}, { cpu: "1" }, { cpu: "much", memory: "1Ki" }, { cpu: "-1", memory: "1Ki" }];
  for (const usage of bad) assert.equal(nodeUsage({ metadata, usage }), undefined);
});
