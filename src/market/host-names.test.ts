import assert from "node:assert/strict";
import { test } from "node:test";
import { hostsOverlap, isInPattern, wildcardsOver } from "./host-names.ts";

test("host names overlap symmetrically where one request could match both", () => {
  const cases: [string, string, boolean][] = [
    ["a.com", "a.com", true],
    ["a.com", "b.com", false],
    ["x.a.com", "*.a.com", true],
    ["y.x.a.com", "*.a.com", true],
    ["a.com", "*.a.com", false],
    ["ba.com", "*.a.com", false],
    ["*.a.com", "*.a.com", true],
    ["*.x.a.com", "*.a.com", true],
    ["*.b.com", "*.a.com", false],
    ["*.ba.com", "*.a.com", false],
  ];
  for (const [a, b, overlap] of cases) {
    assert.equal(hostsOverlap(a, b), overlap, `${a} ${b}`);
    assert.equal(hostsOverlap(b, a), overlap, `${b} ${a}`);
  }
});

test("the wildcards over a name are those of all domains above it", () => {
  assert.deepEqual(wildcardsOver("a.b.c"), ["*.b.c", "*.c"]);
  assert.deepEqual(wildcardsOver("localhost"), []);
});

test("a pattern with a dot is the domain and all below it, a plain one only itself", () => {
  const cases: [string, string, boolean][] = [
    ["foo.com", "foo.com", true],
    ["a.foo.com", "foo.com", false],
    ["foo.com", ".foo.com", true],
    ["a.foo.com", ".foo.com", true],
    ["b.a.foo.com", ".foo.com", true],
    ["barfoo.com", ".foo.com", false],
    ["*.foo.com", "a.foo.com", true],
    ["*.foo.com", ".foo.com", true],
    ["*.a.foo.com", ".foo.com", true],
    ["*.foo.com", ".a.foo.com", true],
    ["*.foo.com", "foo.com", false],
    ["*.bar.com", ".foo.com", false],
    ["*.co.uk", "*.co.uk", true],
    ["shop.co.uk", "*.co.uk", false],
    ["*.shop.co.uk", "*.co.uk", false],
  ];
  for (const [host, pattern, is] of cases) assert.equal(isInPattern(host, pattern), is, `${host} ${pattern}`);
});
