import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { goQuote, plainOf, readFirstValue } from "./go-json.ts";

const read = (text: string) => plainOf(readFirstValue(text, { mostDepth: 100, mostValues: 10_000 }));

/** Messages of Go's decoder. */
const faults: readonly (readonly [string, string])[] = [
  ["", "EOF"],
  [" \n\t\r ", "EOF"],
  ["{", "unexpected EOF"],
  ['{"a"', "unexpected EOF"],
  ['{"a":', "unexpected EOF"],
  ['{"a":1', "unexpected EOF"],
  ["[1,", "unexpected EOF"],
  ['"abc', "unexpected EOF"],
  ['"\\u12', "unexpected EOF"],
  ["tru", "unexpected EOF"],
  ["-", "unexpected EOF"],
  ["hello", "invalid character 'h' looking for beginning of value"],
  ["[,]", "invalid character ',' looking for beginning of value"],
  ["[1,]", "invalid character ']' looking for beginning of value"],
  ["{,}", "invalid character ',' looking for beginning of object key string"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"', "invalid character '\"' after object key:value pair"],
  ["[1 2]", "invalid character '2' after array element"],
  ["[01]", "invalid character '1' after array element"],
  ["trUe", "invalid character 'U' in literal true (expecting 'u')"],
  ["nil", "invalid character 'i' in literal null (expecting 'u')"],
  ["-x", "invalid character 'x' in numeric literal"],
  ["1.x", "invalid character 'x' after decimal point in numeric literal"],
  ["1e+x", "invalid character 'x' in exponent of numeric literal"],
  ['"a\nb"', "invalid character '\\n' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
  ["\ufeff[]", "invalid character 'ï' looking for beginning of value"],
  ["'a'", "invalid character '\\'' looking for beginning of value"],
  ["[".repeat(101), "exceeded max depth"],
  [`[${"0,".repeat(10_000)}0]`, "it has more than 10000 values"],
];

test("invalid JSON is rejected in Go's words", () => {
  for (const [text, message] of faults) assert.throws(() => read(text), { name: "SyntaxError", message }, text);
});

test("only the first value is read", () => {
  assert.deepEqual(read("[1] trailing"), [1]);
  assert.deepEqual(read(' {"a":[]}{'), Object.assign(Object.create(null), { a: [] }));
  assert.equal(read("12 x"), 12);
});

test("a text is well-formed whatever its escapes say", () => {
  assert.equal(read('"\\ud83d\\ude00 \\ud800 \\b\\/"'), "😀 \ufffd \b/");
});

test("names of Object.prototype are ordinary names", () => {
  const plain = read('{"__proto__":{"a":1},"constructor":2,"a":3,"a":4}') as Record<string, unknown>;
  assert.deepEqual(Object.keys(plain), ["__proto__", "constructor", "a"]);
  assert.equal(plain["a"], 4);
  assert.equal(({} as Record<string, unknown>)["a"], undefined);
});

test("all that JSON.parse reads is read the same", () => {
  const value = fc.jsonValue({ maxDepth: 6 });
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 1, "\t"), (given, space) => {
      const text = JSON.stringify(given, undefined, space);
      assert.equal(JSON.stringify(read(text)), JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: runs(200, 20_000) },
  );
});

test("of a mutated text, everything that JSON.parse reads is read the same", () => {
  const text = JSON.stringify([{ name: 'a\\"\u00e9', list: [1, -2.5e3, true, null], deep: { x: {} } }]);
  const change = fc.tuple(fc.nat(text.length - 1), fc.constantFrom(...'{}[],:"\\0-1.eEtfn u\u0001é'));
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      const signs = [...text];
      for (const [at, sign] of changes) signs[at] = sign;
      const changed = signs.join("");
      let wanted: string | undefined;
      try {
        wanted = JSON.stringify(JSON.parse(changed));
      } catch {
        wanted = undefined;
      }
      let given: string | undefined;
      try {
        given = JSON.stringify(read(changed));
      } catch (thrown) {
        assert.ok(thrown instanceof SyntaxError);
      }
      if (wanted !== undefined) assert.equal(given, wanted);
    }),
    { numRuns: runs(500, 200_000) },
  );
});

test("a text in quotes is as Go writes it", () => {
  assert.equal(goQuote('a"b\\\u0000\u0007\n'), '"a\\"b\\\\\\x00\\a\\n"');
});
