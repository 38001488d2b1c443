import assert from "node:assert/strict";
import { test } from "node:test";
import { amountsOf, podRequests, subtract } from "./requests.ts";

const list = { cpu: "1500m", memory: "1Ki", "nvidia.com/gpu": "2" };
const amounts = { cpu: 1_500n, memory: 1_024n, "nvidia.com/gpu": 2n };

test("what a node has and what a pod asks of it are counted in the same units", () => {
  assert.deepEqual(Object.fromEntries(amountsOf(list)), amounts);
  const containers = [{ name: "c", image: "i", resources: { requests: list } }];
  const requests = podRequests({ metadata: { name: "p", uid: "u" }, spec: { containers } });
  assert.deepEqual(Object.fromEntries(requests), amounts);
});

test("no more is given back than was taken", () => {
  const taken = new Map([["cpu", 1_000n]]);
  assert.throws(() => subtract(taken, amountsOf(list)), /more was given back/);
});
