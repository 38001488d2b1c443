import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../../runtime/clock.ts";
import { createGtMemory } from "./gt-memory.ts";

test("a label that was selected a moment ago still counts as selected, and one of long ago does not", async () => {
  const clock = createVirtualClock();
  const memory = createGtMemory(clock, 60_000);
  assert.deepEqual(memory.update(new Set(["beta3"])), new Set(["beta3"]));
  await clock.advance(59_999);
  assert.deepEqual(memory.update(new Set(["beta2"])), new Set(["beta3", "beta2"]));
  await clock.advance(1);
  assert.deepEqual(memory.update(new Set(["beta2"])), new Set(["beta2"]));
  await clock.advance(3_600_000);
  assert.deepEqual(memory.update(new Set()), new Set());
});
