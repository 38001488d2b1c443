import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogMemory } from "./logs.ts";

const at = (fraction: string) => `2026-01-01T00:00:${fraction}Z`;

test("what comes again of the newest second is reported by its count, however much looks the same", () => {
  const memory = createLogMemory();
  for (const time of [at("00.1"), at("01.2"), at("01.2")]) assert.ok(memory.isNew(time));
  assert.equal(memory.since, "2026-01-01T00:00:01Z");
  memory.expectAgain();
  assert.deepEqual([at("01.2"), at("01.2"), at("01.2")].map(memory.isNew), [false, false, true]);
});

test("lines that two writers put down out of order are reported all the same", () => {
  const memory = createLogMemory();
  const times = [at("01.3"), at("01.1"), at("02.000000001"), at("01.9"), at("02.0")];
  for (const time of times) assert.ok(memory.isNew(time));
  assert.equal(memory.since, "2026-01-01T00:00:02Z");
  memory.expectAgain();
  assert.deepEqual([at("02.000000001"), at("02.0"), at("02.0"), at("02.5")].map(memory.isNew), [
    false,
    false,
    true,
    true,
  ]);
});

test("what was rotated away meanwhile is not waited for", () => {
  const memory = createLogMemory();
  for (const fraction of ["01.1", "01.2", "01.3"]) memory.isNew(at(fraction));
  memory.expectAgain();
  assert.equal(memory.isNew(at("01.3")), false);
  assert.equal(memory.isNew(at("01.4")), true);
});

test("where a log was read from its tail, what stands before that in the same second stays unread", () => {
  const memory = createLogMemory();
  assert.ok(memory.isNew(at("01.5")));
  memory.expectAgain();
  assert.deepEqual([at("01.2"), at("01.3"), at("01.5"), at("01.6")].map(memory.isNew), [false, false, false, true]);
});

test("the zone of a node is requested as it was reported", () => {
  const memory = createLogMemory();
  assert.ok(memory.isNew("2026-01-01T02:00:01.5+02:00"));
  assert.equal(memory.since, "2026-01-01T02:00:01+02:00");
});
