import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { pointerTo, stepsOf } from "./json-fields.ts";

test("a pointer leads back through the names that it was made of", () => {
  const name = fc.oneof(fc.string(), fc.constantFrom("~", "/", "~1", "~01", "", "akash.network/kept"));
  fc.assert(fc.property(fc.array(name), (steps) => assert.deepEqual(stepsOf(pointerTo(...steps)), steps)));
  assert.equal(pointerTo("metadata", "labels", "akash.network/~kept"), "/metadata/labels/akash.network~1~0kept");
  assert.deepEqual([stepsOf(""), stepsOf("/")], [[], [""]]);
});
