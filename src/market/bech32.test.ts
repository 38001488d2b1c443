import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/runs.ts";
import { bytesToWords, decodeBech32, encodeBech32, wordsToBytes } from "./address.ts";

test("the valid strings of BIP-173 are read, and written again in lower case", () => {
  const valid = [
    "A12UEL5L",
    "a12uel5l",
    "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
    "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
    "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j",
    "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
    "?1ezyfcl",
  ];
  for (const text of valid) {
    const decoded = decodeBech32(text);
    assert.ok("words" in decoded, text);
    assert.equal(encodeBech32(decoded.prefix, decoded.words), text.toLowerCase());
  }
});

test("the invalid strings of BIP-173 are refused, each for its reason", () => {
  const invalid: [string, RegExp][] = [
    ["\x201nwldj5", /not ASCII/],
    ["\x7f1axkwrx", /not ASCII/],
    ["\x801eym55h", /not ASCII/],
    ["an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx", /91 characters/],
    ["pzry9x0s0muk", /no prefix/],
    ["1pzry9x0s0muk", /no prefix/],
    ["x1b4n0q5v", /"b" is never used/],
    ["li1dgmt3", /too short/],
    ["de1lg7wt\xff", /not ASCII/],
    ["A1G7SGD8", /checksum/],
    ["10a06t8", /no prefix/],
    ["1qzzfhee", /no prefix/],
  ];
  for (const [text, reason] of invalid) {
    const decoded = decodeBech32(text);
    assert.ok("fault" in decoded, text);
    assert.match(decoded.fault, reason);
  }
});

test("upper and lower case are never mixed", () => {
  assert.deepEqual(decodeBech32("A12uel5l"), { fault: "it mixes upper and lower case" });
});

test("bytes survive the way into words and back", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const words = bytesToWords(bytes);
      assert.ok(words.every((word) => word >= 0 && word < 32));
      assert.deepEqual(wordsToBytes(words), bytes);
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("words that no bytes make are refused", () => {
  assert.equal(wordsToBytes([0]), undefined, "five bits are no byte");
  assert.equal(wordsToBytes([31, 31]), undefined, "the two bits after the byte must be zero");
  assert.equal(wordsToBytes([31, 28, 0]), undefined, "a whole word of filling");
});
