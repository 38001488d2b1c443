import assert from "node:assert/strict";
import { test } from "node:test";
import { assertCost } from "../../../test/support/cost.ts";
import { NotANumber, parsePathDseq, parsePathSeq, readPath } from "./request-head.ts";
import { headerBytes } from "./server.ts";

test("a path is read as the network's router reads it", () => {
  const paths: Record<string, [path: string, query: string] | undefined> = {
    "/address": ["/address", ""],
    "/address?x=1&y=/../": ["/address", "x=1&y=/../"],
    "/%61ddress": ["/address", ""],
    "/address%20": ["/address ", ""],
    "/service/a%2Fb/status": ["/service/a/b/status", ""],
    "/a.b/..c/.d": ["/a.b/..c/.d", ""],
    "/status/": ["/status/", ""],
    "https://localhost:8443/address?q": ["/address", "q"],
    "/%zz": undefined,
    "/%e": undefined,
    "/%ff": ["/\ufffd", ""],
    "/": ["/", ""],
  };
  for (const [target, wanted] of Object.entries(paths)) {
    const read = readPath(target);
    assert.deepEqual(read.kind === "path" ? [read.path, read.query] : undefined, wanted, target);
    if (wanted === undefined) assert.equal(read.kind, "malformed", target);
  }
});

test("unclean path → redirect to the clean one", () => {
  const locations: Record<string, string> = {
    "//status": "/status",
    "/status/../address": "/address",
    "/./address": "/address",
    "/../../etc/passwd": "/etc/passwd",
    "/a/..": "/",
    "//": "/",
    "/a//b/": "/a/b/",
    "//a?x=//": "/a?x=//",
    "/a/%2e%2e/b": "/b",
    "//a b": "/a%20b",
    "//%c3%A4%0a%7E%2f": "/%C3%A4%0A~/",
    "/.//%5cevil.example": "/%5Cevil.example",
    "*": "/%2A",
    "https://localhost:8443//address": "https://localhost:8443/address",
    "https://localhost:8443": "https://localhost:8443/",
  };
  for (const [target, location] of Object.entries(locations)) {
    assert.deepEqual(readPath(target), { kind: "unclean", location }, target);
  }
});

test("longest path with escapes only costs little more than one without", async () => {
  const escapes = Math.floor(headerBytes / 3);
  const read = readPath(`/./${"%80".repeat(escapes)}`);
  assert.deepEqual(read, { kind: "unclean", location: `/${"%EF%BF%BD".repeat(escapes)}` });
  const [escaped, plain] = [`/./${"%80".repeat(5_000)}`, `/./${"abc".repeat(5_000)}`];
  await assertCost(() => readPath(escaped), { times: 20, of: () => readPath(plain) });
});

test("invalid number in a path → Go's error message", () => {
  assert.equal(parsePathDseq("18446744073709551615"), 2n ** 64n - 1n);
  assert.deepEqual([parsePathDseq("0"), parsePathDseq("007"), parsePathSeq("4294967295")], [0n, 7n, 2 ** 32 - 1]);
  const assertRejected = (read: () => unknown, words: string) =>
    assert.throws(
      read,
      (thrown) => thrown instanceof NotANumber && thrown.message === `strconv.ParseUint: parsing ${words}`,
    );
  assertRejected(() => parsePathDseq("abc"), '"abc": invalid syntax');
  assertRejected(() => parsePathDseq("-1"), '"-1": invalid syntax');
  assertRejected(() => parsePathDseq("1_0"), '"1_0": invalid syntax');
  assertRejected(() => parsePathDseq("18446744073709551616"), '"18446744073709551616": value out of range');
  assertRejected(() => parsePathSeq("4294967296"), '"4294967296": value out of range');
  assertRejected(() => parsePathSeq("9".repeat(1_000)), `"${"9".repeat(1_000)}": value out of range`);
  assertRejected(() => parsePathSeq('a"\n'), '"a\\"\\n": invalid syntax');
});
