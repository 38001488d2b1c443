import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { slicedJson } from "./sliced-json.ts";

function parse(text: string, sliceChars: number): { value: unknown; breaths: number } {
  const parsing = slicedJson(text, sliceChars);
  for (let breaths = 0; ; breaths += 1) {
    const { done, value } = parsing.next();
    if (done) return { value, breaths };
  }
}

/** What JSON.parse and ours make of a text: the same value, or no value. */
function outcomes(text: string, sliceChars: number): [unknown, unknown] {
  const attempt = (work: () => unknown) => {
    try {
      return { value: work() };
    } catch (thrown) {
      assert.ok(thrown instanceof SyntaxError, String(thrown));
      return "no JSON";
    }
  };
  return [attempt(() => parse(text, sliceChars).value), attempt(() => JSON.parse(text))];
}

test("whatever JSON says, it says the same in slices of any size", () => {
  const cases = fc.record({
    value: fc.jsonValue({ maxDepth: 6 }),
    indent: fc.constantFrom(undefined, 1, "\t"),
    sliceChars: fc.integer({ min: 1, max: 60 }),
  });
  fc.assert(
    fc.property(cases, ({ value, indent, sliceChars }) => {
      const [ours, theirs] = outcomes(JSON.stringify(value, null, indent), sliceChars);
      assert.deepEqual(ours, theirs);
    }),
    { numRuns: runs(300, 50_000) },
  );
});

test("a text that is spoilt somewhere is JSON for us when it is for JSON.parse", () => {
  const cases = fc.record({
    value: fc.jsonValue({ maxDepth: 5 }),
    at: fc.nat(),
    cut: fc.integer({ min: 0, max: 2 }),
    put: fc.constantFrom("", ",", "]", "}", "{", "[", '"', "\\", ":", " ", "1", "-", "x", "null"),
    sliceChars: fc.integer({ min: 1, max: 30 }),
  });
  fc.assert(
    fc.property(cases, ({ value, at, cut, put, sliceChars }) => {
      const text = JSON.stringify(value);
      const where = at % (text.length + 1);
      const [ours, theirs] = outcomes(text.slice(0, where) + put + text.slice(where + cut), sliceChars);
      assert.deepEqual(ours, theirs);
    }),
    { numRuns: runs(500, 100_000) },
  );
});

test("a name that means something to objects is a name like any other", () => {
  const text = '{"__proto__": {"a": 1}, "constructor": [1, 2, 3], "a": "a long text to be beyond a slice"}';
  assert.deepEqual(parse(text, 8).value, JSON.parse(text));
});

test("a breath is taken about every slice, and lists within lists without an end are rejected soon", () => {
  const text = JSON.stringify(Array.from({ length: 10_000 }, (_, index) => ({ index })));
  const { breaths } = parse(text, 1_000);
  assert.ok(breaths >= text.length / 1_100, `${breaths} breaths`);
  assert.throws(() => parse("[".repeat(1_000_000), 1_000), SyntaxError);
});
