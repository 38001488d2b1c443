import assert from "node:assert/strict";
import { test } from "node:test";
import { createLruCache } from "./lru-cache.ts";

test("what was not of use for the longest time goes first", () => {
  const recent = createLruCache<number>({ most: 2 });
  recent.set("a", 1);
  recent.set("b", 2);
  recent.get("a");
  recent.set("c", 3);
  assert.deepEqual([recent.get("a"), recent.get("b"), recent.get("c")], [1, undefined, 3]);
});

test("all of it together weighs no more than it may, and what is too heavy by itself is not kept", () => {
  const recent = createLruCache<number>({ most: 10, mostWeight: 10 });
  recent.set("a", 1, 6);
  recent.set("b", 2, 4);
  recent.set("b", 3, 5);
  assert.deepEqual([recent.get("a"), recent.get("b")], [undefined, 3]);
  recent.set("c", 4, 11);
  assert.equal(recent.size, 0);
  recent.set("d", 5, 10);
  assert.equal(recent.get("d"), 5);
  recent.delete("d");
  recent.set("e", 6, 10);
  assert.equal(recent.get("e"), 6);
});
