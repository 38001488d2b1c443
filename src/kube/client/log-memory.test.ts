import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogMemory } from "./log-memory.ts";

test("lines that look the same are told apart by how often they came", () => {
  const memory = createLogMemory();
  const same = "2026-01-01T00:00:01Z same";
  for (const line of ["2026-01-01T00:00:00.1Z one", same, same]) assert.ok(memory.isNew(line));
  assert.equal(memory.since, "2026-01-01T00:00:01Z");
  memory.expectAgain();
  assert.deepEqual([same, same, same].map(memory.isNew), [false, false, true]);
});

test("what was rotated away meanwhile is not waited for", () => {
  const memory = createLogMemory();
  for (const word of ["a", "b", "c"]) memory.isNew(`2026-01-01T00:00:01Z ${word}`);
  memory.expectAgain();
  assert.equal(memory.isNew("2026-01-01T00:00:01Z c"), false);
  assert.equal(memory.isNew("2026-01-01T00:00:01Z d"), true);
});

test("a line without a time says nothing about the place in the log: what comes again after it is still known", () => {
  const memory = createLogMemory();
  const [first, second] = ["2026-01-01T00:00:01Z a", "2026-01-01T00:00:01Z b"];
  for (const line of [first, second]) memory.isNew(line);
  const said = "failed to open the log file";
  memory.expectAgain();
  assert.deepEqual([said, first, second].map(memory.isNew), [true, false, false]);
  memory.expectAgain();
  assert.deepEqual([said, first, second].map(memory.isNew), [false, false, false]);
});
