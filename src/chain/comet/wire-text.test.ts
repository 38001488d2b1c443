import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { readHeight, readTimeNs } from "./rpc-call.ts";

test("every time from 1970 to 9999 is read as the calendar has it", () => {
  const ms = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) });
  fc.assert(
    fc.property(ms, (time) => {
      assert.equal(readTimeNs(new Date(time).toISOString()), BigInt(time) * 1_000_000n);
    }),
    { numRuns: runs(500, 100_000) },
  );
});

test("the nanoseconds of a time survive, with or without the zeros at their end", () => {
  const second = BigInt(Date.UTC(2024, 1, 29, 12)) * 1_000_000n;
  assert.equal(readTimeNs("2024-02-29T12:00:00Z"), second);
  assert.equal(readTimeNs("2024-02-29T12:00:00.000000001Z"), second + 1n);
  assert.equal(readTimeNs("2024-02-29T12:00:00.5Z"), second + 500_000_000n);
});

test("a malformed time or height → rejected", () => {
  for (const text of ["", "now", "2024-02-29", "2024-02-29T12:00:00+01:00", 5, null]) {
    assert.throws(() => readTimeNs(text), TypeError, String(text));
  }
  for (const text of ["", "-1", "1.5", "0x5", 5, null, "9223372036854775808"]) {
    assert.throws(() => readHeight(text), TypeError, String(text));
  }
  assert.equal(readHeight("9223372036854775807"), 2n ** 63n - 1n);
});
