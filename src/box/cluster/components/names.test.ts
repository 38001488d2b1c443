import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import { hashText, randomSuffix } from "./names.ts";

test("the hash of a template does not depend on the order of its fields, but on everything in it", () => {
  const hash = hashText({ a: 1, b: { c: [1, 2], d: "x" } });
  assert.equal(hashText({ b: { d: "x", c: [1, 2] }, a: 1 }), hash);
  assert.notEqual(hashText({ a: 1, b: { c: [2, 1], d: "x" } }), hash);
  assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{8,10}$/);
});

test("a pod's name ends with five letters that form no word", () => {
  assert.match(randomSuffix(createSeededRandom(7)), /^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});
