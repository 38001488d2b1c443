import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/runs.ts";
import { createListItems } from "./list-items.ts";

/** Reads it in pieces of this many bytes. */
function read(text: string, bytes = Number.MAX_SAFE_INTEGER) {
  const items: unknown[] = [];
  const list = createListItems((item) => items.push(item));
  const whole = Buffer.from(text);
  for (let from = 0; from < whole.length; from += bytes) list.write(whole.subarray(from, from + bytes));
  return { items, rest: list.end() };
}

const anyObject = fc.dictionary(fc.oneof(fc.constant("items"), fc.string({ unit: "binary" })), fc.jsonValue());

test("whatever a list holds, and wherever it is cut, its items and the rest are as if it were parsed whole", () => {
  const property = fc.property(
    fc.array(anyObject),
    anyObject,
    fc.integer({ min: 1, max: 40 }),
    fc.constantFrom(undefined, 2),
    (items, metadata, bytes, indent) => {
      const around = { kind: "items", list: [{ items }], metadata };
      for (const list of [
        { items, ...around },
        { ...around, items },
      ]) {
        const { items: found, rest } = read(JSON.stringify(list, undefined, indent), bytes);
        assert.deepEqual(found, JSON.parse(JSON.stringify(items)));
        assert.deepEqual(rest, JSON.parse(JSON.stringify({ ...list, items: [] })));
      }
    },
  );
  fc.assert(property, { numRuns: runs(80, 5_000) });
});

test("a list may have null in the place of its items, or none at all", () => {
  assert.deepEqual(read(`{"metadata":{},"items":null}`), { items: [], rest: { metadata: {}, items: null } });
  assert.deepEqual(read(`{"metadata":{"name":"items"}}`), { items: [], rest: { metadata: { name: "items" } } });
});

test("what is cut off, or holds something else, is refused", () => {
  const whole = `{"metadata":{},"items":[{"a":"]}"},{}]}`;
  for (let length = 0; length < whole.length; length += 1) {
    assert.throws(() => read(whole.slice(0, length)), SyntaxError, whole.slice(0, length));
  }
  for (const text of [`{"items":[1]}`, `{"items":["a"]}`, `{"items":[{]}]}`, "<html>{}</html>", "[]]"]) {
    assert.throws(() => read(text), SyntaxError, text);
  }
});
