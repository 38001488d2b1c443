import assert from "node:assert/strict";
import { test } from "node:test";
import { createBackOff } from "./back-off.ts";

test("the first restart is at once, the next ones wait 10 s, doubling to 5 minutes", () => {
  const backOff = createBackOff();
  const pauses: number[] = [];
  let nowMs = 1_000;
  for (let n = 0; n < 8; n++) {
    const pauseMs = backOff.pauseMs(nowMs);
    pauses.push(pauseMs / 1_000);
    nowMs += pauseMs;
    backOff.next(nowMs);
    nowMs += 1_000;
  }
  assert.deepEqual(pauses, [0, 10, 20, 40, 80, 160, 300, 300]);
});

test("a container that ran for more than ten minutes begins anew", () => {
  const backOff = createBackOff();
  backOff.next(0);
  backOff.next(10_000);
  assert.equal(backOff.pauseMs(11_000), 20_000);
  assert.equal(backOff.pauseMs(10_000 + 600_001), 0);
});
