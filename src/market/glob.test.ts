import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { assertCost } from "../../test/support/cost.ts";
import { runs } from "../../test/support/runs.ts";
import { compileGlob, globMatches } from "./glob.ts";

test("stars and question marks stay within a part of the path", () => {
  const cases: [string, string, boolean][] = [
    ["vendor/nvidia/model/*", "vendor/nvidia/model/a100", true],
    ["vendor/nvidia/model/*", "vendor/nvidia/model/a100/ram/80Gi", false],
    ["vendor/*/model/a100", "vendor/nvidia/model/a100", true],
    ["*", "", true],
    ["a*b*c", "aXbYbZc", true],
    ["a*b*c", "aXbYbZ", false],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["", "", true],
    ["", "a", false],
  ];
  for (const [pattern, text, expected] of cases)
    assert.equal(globMatches(pattern, text), expected, `${pattern} ${text}`);
});

test("classes have ranges, may be negated, and may match a slash", () => {
  const cases: [string, string, boolean][] = [
    ["[a-c]1", "b1", true],
    ["[a-c]1", "d1", false],
    ["[^a-c]", "d", true],
    ["[/]", "/", true],
    ["[\\]]", "]", true],
    ["[é]", "é", true],
    ["\\*", "*", true],
    ["\\*", "a", false],
  ];
  for (const [pattern, text, expected] of cases)
    assert.equal(globMatches(pattern, text), expected, `${pattern} ${text}`);
});

test("a malformed pattern matches nothing", () => {
  for (const pattern of ["[", "[]", "[a", "[-]", "[a-]", "a\\", "[^]"]) {
    assert.equal(compileGlob(pattern), undefined, pattern);
    assert.equal(globMatches(pattern, "a"), false, pattern);
  }
});

test("a text matches itself escaped, and itself with any part of it turned into a star", () => {
  const part = fc.stringMatching(/^[a-z0-9.-]{0,12}$/);
  fc.assert(
    fc.property(part, part, part, (before, middle, after) => {
      const text = before + middle + after;
      return globMatches(text.replace(/./g, "\\$&"), text) && globMatches(`${before}*${after}`, text);
    }),
  );
});

test("without classes it is what a regular expression says", () => {
  const some = (...signs: string[]) => fc.string({ unit: fc.constantFrom(...signs), maxLength: 8 });
  fc.assert(
    fc.property(some("a", "b", "/", "*", "?", "é", "😀"), some("a", "b", "/", "é", "😀"), (pattern, text) => {
      const expected = new RegExp(`^${pattern.replaceAll("*", "[^/]*").replaceAll("?", "[^/]")}$`, "u").test(text);
      assert.equal(globMatches(pattern, text), expected, `${pattern} ${text}`);
    }),
    { numRuns: runs(2_000, 200_000) },
  );
});

test("a pattern that is exponential in a backtracking matcher costs at most its length times the text's", async () => {
  for (const end of ["b", "?b", "[ab]b", "*b"]) {
    const few = () => globMatches("a*".repeat(5) + end, "a".repeat(10));
    const many = () => globMatches("a*".repeat(10) + end, "a".repeat(20));
    assert.equal(many(), false);
    await assertCost(many, { times: 5 * 4, of: few });
    assert.equal(globMatches("a*".repeat(500) + end, "a".repeat(1_000)), false);
    assert.equal(globMatches("*a".repeat(2_000), "a".repeat(1_999)), false);
    assert.equal(globMatches("*".repeat(1_000) + end, "a".repeat(1_000)), false);
  }
});
