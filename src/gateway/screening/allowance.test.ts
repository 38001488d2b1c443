import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../runtime/clock.ts";
import { createAllowance } from "./allowance.ts";

test("whoever has asked for his share is told when to come again, and others are not kept from theirs", async () => {
  const clock = createVirtualClock();
  const take = createAllowance({ atOnce: 3, perMinute: 6, remembered: 10 }, clock);
  assert.deepEqual([take("a"), take("a"), take("a"), take("a")], [undefined, undefined, undefined, 10]);
  assert.equal(take("b"), undefined);
  await clock.advance(4_000);
  assert.equal(take("a"), 6);
  await clock.advance(6_000);
  assert.deepEqual([take("a"), take("a")], [undefined, 10]);
});

test("of more than are remembered, whoever asked longest ago is forgotten", () => {
  const take = createAllowance({ atOnce: 1, perMinute: 1, remembered: 2 }, createVirtualClock());
  for (const key of ["a", "b"]) assert.equal(take(key), undefined);
  assert.equal(take("a"), 60);
  assert.equal(take("c"), undefined);
  assert.equal(take("a"), 60);
  assert.equal(take("b"), undefined);
});
