import assert from "node:assert/strict";
import { test } from "node:test";
import { amounts } from "../../../test/support/samples/inventory-samples.ts";
import { condition } from "../../runtime/condition.ts";
import { assertSound } from "./inventory.ts";

test("amounts within what there is are sound, up to the last unit", () => {
  assertSound("a", [amounts(0n), amounts(5n, 5n), amounts(5n, 0n, 8n)], []);
});

test("more taken than there is needs a condition that says so", () => {
  const over = [amounts(5n, 6n)];
  assert.throws(() => assertSound("a", over, [condition("UnknownGpu", "")]), /more is allocated than allocatable/);
  for (const type of ["Overbooked", "StorageUnreadable"]) assertSound("a", over, [condition(type, "")]);
});

test("nothing excuses a negative amount", () => {
  const said = [condition("Overbooked", "")];
  for (const wrong of [amounts(-1n), amounts(1n, -1n), amounts(0n, 0n, -1n)]) {
    assert.throws(() => assertSound("a", [wrong], said), /negative/);
  }
});
