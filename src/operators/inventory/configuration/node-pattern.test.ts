import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { assertLinear } from "../../../../test/support/cost.ts";
import { runs } from "../../../../test/support/runs.ts";
import { compileNodePattern } from "./inventory-config.ts";

const fits = (source: string, name: string) => compileNodePattern(source).matches(name);

test("a pattern is found anywhere in the name unless it says otherwise", () => {
  const cases: [pattern: string, fitting: string[], others: string[]][] = [
    ["gpu", ["gpu", "a-gpu-1"], ["gp-u", ""]],
    ["^gpu-", ["gpu-1"], ["a-gpu-1", "gpu"]],
    ["-gpu$", ["a-gpu"], ["a-gpu-1"]],
    ["^node[1-3]$", ["node1", "node3"], ["node4", "node12", "node"]],
    ["^(cp|control-plane)-\\d+$", ["cp-1", "control-plane-22"], ["cp-", "cp-x"]],
    ["^a{2}$", ["aa"], ["a", "aaa"]],
    ["^a{2,}$", ["aa", "aaaa"], ["a"]],
    ["^a{1,3}b$", ["ab", "aaab"], ["b", "aaaab"]],
    ["^a.c$", ["abc", "a.c"], ["ac"]],
    ["^a\\.c$", ["a.c"], ["abc"]],
    ["^x*?y+?$", ["y", "xxyy"], ["x"]],
    ["\\bgpu\\b", ["a-gpu-1"], ["agpu"]],
    ["{x}", ["a{x}"], ["x"]],
    ["a|", ["anything", ""], []],
    ["[^0-9]$", ["a"], ["1", ""]],
    ["^[]x]$", ["]", "x"], ["y"]],
    ["^[a-]$", ["a", "-"], ["b"]],
  ];
  for (const [pattern, fitting, others] of cases) {
    for (const name of fitting) assert.equal(fits(pattern, name), true, `${pattern} should fit ${name}`);
    for (const name of others) assert.equal(fits(pattern, name), false, `${pattern} should not fit ${name}`);
  }
});

test("what RE2 writes otherwise than JavaScript is read as RE2 means it", () => {
  assert.equal(fits("^[[:alpha:]]+$", "node"), true);
  assert.equal(fits("^[[:alpha:]]+$", "[:a"), false);
  assert.equal(fits("^[[:^digit:]]$", "7"), false);
  assert.equal(fits("(?i)^GPU", "gpu-1"), true);
  assert.equal(fits("(?i:GPU)-A", "gpu-a"), false);
  assert.equal(fits("(?i)[^g]", "Gg"), false);
  assert.equal(fits("\\Agpu\\z", "gpu"), true);
  assert.equal(fits("(?P<kind>gpu)-(?<n>\\d)", "gpu-1"), true);
  assert.equal(fits("(?ims-U:x)", "X"), true);
  assert.equal(fits("^\\x61\\x{62}$", "ab"), true);
});

test("an invalid pattern is rejected with the reason", () => {
  const cases: [string, RegExp][] = [
    ["", /empty/],
    ["(", /missing closing \)/],
    [")", /unexpected \)/],
    ["[a", /missing closing \]/],
    ["[z-a]", /range: `z-a`/],
    ["*a", /missing argument to repetition/],
    ["a**", /nested repetition/],
    ["a{3,1}", /repeat count/],
    ["a{1001}", /repeat count/],
    ["\\", /trailing backslash/],
    ["\\1", /escape sequence/],
    ["(?=a)", /unsupported Perl syntax/],
    ["(?<!a)b", /named capture/],
    ["[[:nothing:]]", /character class range/],
    ["(a{100}){100}", /repeat count/],
    ["a".repeat(257), /longer than 256/],
  ];
  for (const [pattern, reason] of cases) assert.throws(() => compileNodePattern(pattern), reason, pattern);
});

test("what a pattern costs on which JavaScript takes exponential time grows with the name", async () => {
  for (const source of ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", ".*.*.*.*.*.*.*x", "((a*)*)*b", "^(.?){900}$"]) {
    const pattern = compileNodePattern(source);
    await assertLinear((size) => () => pattern.matches(`${"a".repeat(size)}!`), 24);
    assert.equal(pattern.matches(`${"a".repeat(252)}!`), source === "^(.?){900}$");
  }
});

test("no text makes the reader throw anything but a fault of the pattern", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."ab()[]{}*+?|\\^$.-,:<>=!1iPdz"), maxLength: 20 }), (source) => {
      try {
        compileNodePattern(source).matches("node-1");
      } catch (thrown) {
        assert.equal((thrown as Error).name, "PatternFault", String(thrown));
      }
    }),
    { numRuns: runs(1_000, 40_000) },
  );
});
