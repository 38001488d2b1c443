import assert from "node:assert/strict";
import { test } from "node:test";
import { printable, printableJson } from "./printable.ts";

const hostile = "a\u001b[2J\u009b31m\r\n\u202egnp.exe\u2028\u007f\u{e0041}\ud800 ü 漢 ✓";

test("control characters are shown by their number, and other text stays", () => {
  assert.equal(
    printable(hostile),
    "a\\u{1b}[2J\\u{9b}31m\\u{d}\\u{a}\\u{202e}gnp.exe\\u{2028}\\u{7f}\\u{e0041}\\u{d800} ü 漢 ✓",
  );
});

test("JSON for a terminal has no control characters and parses the same", () => {
  const text = printableJson(JSON.stringify({ [hostile]: [hostile, 1] }));
  assert.doesNotMatch(text, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}]/u);
  assert.deepEqual(JSON.parse(text), { [hostile]: [hostile, 1] });
});
