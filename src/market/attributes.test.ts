import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { unsatisfied } from "./attributes.ts";
import { globMatches } from "./glob.ts";

const own = [
  { key: "region", value: "us-west" },
  { key: "host", value: "akash" },
  { key: "capabilities/gpu/vendor/nvidia/model/a100", value: "true" },
];

test("a required key is a pattern, and its value must be equal", () => {
  const cases: [key: string, value: string, isThere: boolean][] = [
    ["region", "us-west", true],
    ["region", "us-east", false],
    ["Region", "us-west", false],
    ["reg*", "us-west", true],
    ["reg*", "akash", false],
    ["h?st", "akash", true],
    ["capabilities/gpu/vendor/*/model/a100", "true", true],
    ["capabilities/*", "true", false],
    ["[gh]ost", "akash", true],
    ["host\\", "akash", false],
    ["", "akash", false],
  ];
  for (const [key, value, isThere] of cases) {
    assert.equal(unsatisfied([{ key, value }], own).length === 0, isThere, `${key}=${value}`);
  }
});

test("missing attributes are returned in the required order", () => {
  const required = [{ key: "b", value: "1" }, own[0] ?? { key: "", value: "" }, { key: "a", value: "2" }];
  assert.deepEqual(unsatisfied(required, own), [required[0], required[2]]);
  assert.deepEqual(unsatisfied([], []), []);
});

test("the result equals a comparison of all pairs", () => {
  const key = fc.string({
    unit: fc.constantFrom("a", "b", "/", "*", "?", "[", "]", "\\", "^", "é", "😀"),
    maxLength: 6,
  });
  const list = fc.array(fc.record({ key, value: fc.constantFrom("x", "y") }), { maxLength: 6 });
  fc.assert(
    fc.property(list, list, (required, had) => {
      const slowly = required.filter(
        (need) => !had.some((have) => have.value === need.value && globMatches(need.key, have.key)),
      );
      assert.deepEqual(unsatisfied(required, had), slowly);
    }),
    { numRuns: runs(500, 50_000) },
  );
});

test("ten thousand attributes are compared with a hundred by reading each of the hundred once", () => {
  let reads = 0;
  const required = Array.from({ length: 10_000 }, (_, at) => ({ key: `key-${at}`, value: "true" }));
  const had = Array.from({ length: 100 }, (_, at) => ({
    value: "true",
    get key() {
      reads += 1;
      return `key-${at * 2}`;
    },
  }));
  assert.equal(unsatisfied(required, had).length, 9_900);
  assert.equal(reads, 100);
});
