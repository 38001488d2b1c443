import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { BadValue } from "./format.ts";
import { formatDuration, parseDuration } from "./plain.ts";

test("times are read as Go reads them", () => {
  const cases: [string, number][] = [
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["500ms", 500],
    ["24h", 86_400_000],
    ["1.5h", 5_400_000],
    ["0.001s", 1],
    ["2000us", 2],
    ["2000µs", 2],
    ["3000000ns", 3],
    ["+5s", 5_000],
    ["0", 0],
    ["0s", 0],
    ["1m1m", 120_000],
    ["2613600s", 2_613_600_000],
  ];
  for (const [text, ms] of cases) assert.equal(parseDuration(text), ms, text);
});

test("a bare number is rejected with the units it could have", () => {
  const fault = parseDuration("300");
  assert.ok(fault instanceof BadValue);
  assert.equal(fault.reason, "it has no unit");
  assert.match(fault.hint ?? "", /300s .* 300m .* 300h/);
});

test("days are rejected with the same time in hours", () => {
  const fault = parseDuration("30d");
  assert.ok(fault instanceof BadValue);
  assert.equal(fault.hint, "Write 720h.");
});

test("what is not a time is rejected", () => {
  for (const text of [
    "",
    "m",
    "5",
    "-5m",
    "5 m",
    "5m ",
    "1h30",
    "h5",
    "5x",
    "1.h",
    ".5h",
    "1,5h",
    "0.5ms",
    "3000000h",
    "5M",
    "∞",
  ]) {
    assert.ok(parseDuration(text) instanceof BadValue, text);
  }
});

test("every time that is written can be read back", () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 53 / 1_024 }), (ms) => {
      assert.equal(parseDuration(formatDuration(ms)), ms);
    }),
    { numRuns: runs(300, 50_000) },
  );
});

test("times are written with the parts that are not zero", () => {
  const cases: [number, string][] = [
    [0, "0s"],
    [500, "500ms"],
    [300_000, "5m"],
    [5_400_000, "1h30m"],
    [86_400_000, "24h"],
    [90_061_001, "25h1m1s1ms"],
  ];
  for (const [ms, text] of cases) assert.equal(formatDuration(ms), text);
});
