import assert from "node:assert/strict";
import { test } from "node:test";
import { ProviderError } from "../runtime/errors.ts";
import { coarserList, covers, rangeText, readRange, smallestList } from "./ip-range.ts";

const canonical = [
  ["10.1.2.3/8", "10.0.0.0/8"],
  ["203.0.113.7", "203.0.113.7/32"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["fd00:0:0:1::/64", "fd00:0:0:1::/64"],
  ["FC00::1/7", "fc00::/7"],
  ["2001:db8::1:0:0:1", "2001:db8::1:0:0:1/128"],
  ["::ffff:10.0.0.1", "::ffff:a00:1/128"],
  ["::", "::/128"],
] as const;

test("a range is read and written in one form", () => {
  for (const [given, written] of canonical) assert.equal(rangeText(readRange(given)), written, given);
});

test("an invalid range is rejected", () => {
  for (const wrong of [
    "",
    "10.0.0.0/33",
    "10.0.0/8",
    "10.0.0.0/8/8",
    "10.0.0.0/",
    "fe80::1%eth0",
    "::/129",
    "node-1",
  ]) {
    assert.throws(() => readRange(wrong), ProviderError, wrong);
  }
});

test("a range covers those within it, of its own family", () => {
  const within = (outer: string, inner: string) => covers(readRange(outer), readRange(inner));
  assert.ok(within("10.0.0.0/8", "10.255.0.0/16"));
  assert.ok(within("10.0.0.0/8", "10.0.0.0/8"));
  assert.ok(!within("10.0.0.0/16", "10.0.0.0/8"));
  assert.ok(!within("10.0.0.0/8", "11.0.0.0/16"));
  assert.ok(!within("0.0.0.0/0", "fd00::/8"));
  assert.ok(within("fc00::/7", "fd12::1"));
});

test("a list keeps each address once, in one order, without what is known", () => {
  const list = (...ranges: string[]) => smallestList(ranges.map(readRange), [readRange("10.0.0.0/8")]).map(rangeText);
  const expected = ["9.0.0.0/8", "203.0.113.0/24", "2001:db8::/64"];
  assert.deepEqual(
    list("2001:db8::7", "203.0.113.9", "2001:db8::/64", "10.4.4.4", "203.0.113.0/24", "9.0.0.0/8", "9.0.0.0/8"),
    expected,
  );
  assert.deepEqual(list(...expected.toReversed()), expected);
});

test("a list that is too long is made shorter by covering more, never less", () => {
  const list = (most: number, ...ranges: string[]) => coarserList(ranges.map(readRange), most).map(rangeText);
  const nodes = ["203.0.113.1", "203.0.113.2", "203.0.113.3", "198.51.100.0/24", "2001:db8::1", "2001:db8::2"];
  assert.equal(list(6, ...nodes).length, 6);
  assert.deepEqual(list(5, ...nodes), [
    "198.51.100.0/24",
    "203.0.113.0/31",
    "203.0.113.2/31",
    "2001:db8::/127",
    "2001:db8::2/127",
  ]);
  assert.deepEqual(list(3, ...nodes), ["198.51.100.0/24", "203.0.113.0/30", "2001:db8::/126"]);
  for (const most of [2, 4]) {
    const shorter = coarserList(nodes.map(readRange), most);
    assert.ok(shorter.length <= most);
    for (const node of nodes) assert.ok(shorter.some((each) => covers(each, readRange(node))));
  }
});
