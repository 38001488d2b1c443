import assert from "node:assert/strict";
import { test } from "node:test";
import bech32 from "bech32";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { addressBytes, addressOf, parseAddress } from "./address.ts";

const text = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";
const bytes = Uint8Array.from({ length: 20 }, (_, index) => index);
const address = fc
  .oneof(fc.uint8Array({ minLength: 20, maxLength: 20 }), fc.uint8Array({ minLength: 32, maxLength: 32 }))
  .map(addressOf);
const printable = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));

function withCharacter(original: string, at: number, character: string): string {
  return original.slice(0, at) + character + original.slice(at + 1);
}

test("an address and its bytes are two forms of the same account", () => {
  assert.equal(addressOf(bytes), text);
  assert.deepEqual(addressBytes(parseAddress(text)), bytes);
});

test("an address in capitals is the same account, and the same string", () => {
  assert.equal(parseAddress(text.toUpperCase()), text);
});

test("a wrong address is rejected with the reason and an example", () => {
  const cosmos = bech32.encode("cosmos", bech32.toWords(bytes));
  const short = bech32.encode("akash", bech32.toWords(bytes.slice(1)));
  const loose = bech32.encode("akash", [...bech32.toWords(bytes), 1]);
  const cases: [string, RegExp][] = [
    ["", /"" is not an akash address: {2}too short/],
    [`${text} `, /a space/],
    [text.replace("wduagr", "wduagq"), /Invalid checksum/],
    [text.slice(0, -1), /Invalid checksum/],
    [text.replace("akash1q", "akash1Q"), /Mixed-case/],
    [cosmos, /it starts with "cosmos1", not "akash1"/],
    [short, /it holds 19 bytes, and an account has 20 or 32/],
    [loose, /Excess padding/],
    ["a".repeat(1_000_000), /Exceeds length limit/],
  ];
  for (const [wrong, message] of cases) {
    assert.throws(() => parseAddress(wrong), {
      code: "AKP_VALUE_MALFORMED",
      message,
      advice: `Write it like ${text}.`,
    });
  }
  assert.throws(() => addressOf(new Uint8Array(21)), { code: "AKP_VALUE_MALFORMED" });
});

test("every change of one character is noticed, at every place", () => {
  for (let at = 0; at < text.length; at += 1) {
    for (const character of printable.filter((each) => each !== text[at])) {
      assert.throws(() => parseAddress(withCharacter(text, at, character)), { code: "AKP_VALUE_MALFORMED" });
    }
  }
});

test("a changed, swapped, lost or added character is noticed in any address", () => {
  fc.assert(
    fc.property(address, fc.nat(), fc.constantFrom(...printable), (right, position, character) => {
      const at = position % (right.length - 1);
      const swapped = withCharacter(withCharacter(right, at, right[at + 1] ?? ""), at + 1, right[at] ?? "");
      const wrong = [
        withCharacter(right, at, character),
        swapped,
        withCharacter(right, at, ""),
        withCharacter(right, at, `${right[at]}${character}`),
      ];
      for (const each of wrong.filter((changed) => changed !== right)) {
        assert.throws(() => parseAddress(each), { code: "AKP_VALUE_MALFORMED" }, each);
      }
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("reading what was written gives the same account back", () => {
  fc.assert(
    fc.property(address, (each) => {
      assert.equal(parseAddress(each), each);
      assert.equal(addressOf(addressBytes(each)), each);
    }),
    { numRuns: runs(300, 20_000) },
  );
});
