import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import {
  addDecimals,
  compareDecimals,
  type Decimal,
  decimalFromAtto,
  decimalOf,
  formatDecimal,
  mulDecimals,
  parseDecimal,
  quoDecimals,
  type Rounding,
  showDecimal,
  subDecimals,
  toInteger,
} from "./decimal.ts";

const one = 10n ** 18n;
const most = 2n ** 256n * one - 1n;
const roundings: Rounding[] = ["nearest", "truncate", "up"];

/** Small ones, ties, and ones near the chain's limit. */
const atto = fc.oneof(
  fc.bigInt({ min: -(10n ** 6n), max: 10n ** 6n }),
  fc.bigInt({ min: -2n * 10n ** 6n, max: 2n * 10n ** 6n }).map((halves) => (halves * one) / 2n),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
  fc.bigInt({ min: -most, max: most }),
);
const decimal = atto.map(decimalFromAtto);
/** Products and quotients of these stay within the chain's range. */
const modest = fc.oneof(
  fc.bigInt({ min: -(10n ** 6n), max: 10n ** 6n }).map(decimalFromAtto),
  fc.bigInt({ min: -(10n ** 45n), max: 10n ** 45n }).map(decimalFromAtto),
);

/** Whether the whole number `rounded` is what this rounding makes of the fraction, by the meaning of the words alone. */
function isRounded(rounded: bigint, numerator: bigint, denominator: bigint, rounding: Rounding): boolean {
  const [n, d] = denominator < 0n ? [-numerator, -denominator] : [numerator, denominator];
  const excess = rounded * d - n;
  const size = (value: bigint) => (value < 0n ? -value : value);
  if (rounding === "up") return excess >= 0n && excess < d;
  if (rounding === "truncate") return size(excess) < d && size(rounded * d) <= size(n) && rounded * n >= 0n;
  return 2n * size(excess) < d || (2n * size(excess) === d && rounded % 2n === 0n);
}

test("a decimal is read to the last of its 18 digits", () => {
  const cases: [string, bigint][] = [
    ["0.025", 25n * 10n ** 15n],
    ["-1.5", -15n * 10n ** 17n],
    ["10", 10n * one],
    ["007.10", 71n * 10n ** 17n],
    ["-0", 0n],
    ["0.000000000000000001", 1n],
    ["115792089237316195423570985008687907853269984665640564039457584007913129639935.999999999999999999", most],
  ];
  for (const [text, expected] of cases) assert.equal(parseDecimal(text).atto, expected, text);
});

test("what the chain does not read as a decimal is rejected with the reason and an example", () => {
  for (const text of [
    "",
    "-",
    ".5",
    "5.",
    "1e3",
    " 1",
    "1 ",
    "1\n",
    "+1",
    "--1",
    "1.2.3",
    "0x10",
    "1_000",
    "1,5",
    "١",
  ]) {
    assert.throws(() => parseDecimal(text), { code: "AKP_VALUE_MALFORMED", advice: "Write it like 0.025." }, text);
  }
  assert.throws(() => parseDecimal("0.1234567890123456789"), {
    message:
      '"0.1234567890123456789" is not a decimal number: it has 19 digits after the point, and the chain keeps 18',
  });
  assert.throws(() => parseDecimal("9".repeat(1_000_000)), { code: "AKP_VALUE_MALFORMED" });
});

test("a decimal beyond the chain's range is rejected", () => {
  const largest = decimalFromAtto(most);
  const smallest = decimalFromAtto(1n);
  const outOfRange = { code: "AKP_VALUE_OUT_OF_RANGE", advice: "It must lie between -2^256 and 2^256." };
  assert.throws(() => parseDecimal(String(2n ** 256n)), outOfRange);
  assert.throws(() => parseDecimal(`-${2n ** 256n}`), outOfRange);
  assert.throws(() => addDecimals(largest, smallest), outOfRange);
  assert.throws(() => subDecimals(decimalFromAtto(-most), smallest), outOfRange);
  assert.throws(() => mulDecimals(largest, decimalOf(2n)), outOfRange);
  assert.throws(() => quoDecimals(largest, smallest), outOfRange);
  assert.throws(() => toInteger(largest, "up"), outOfRange);
  assert.equal(toInteger(largest, "truncate"), 2n ** 256n - 1n);
});

test("the chain's form has all 18 digits, the short form no trailing zeros", () => {
  const cases: [Decimal, string, string][] = [
    [parseDecimal("0.025"), "0.025000000000000000", "0.025"],
    [decimalOf(100n), "100.000000000000000000", "100"],
    [decimalOf(0n), "0.000000000000000000", "0"],
    [parseDecimal("-0.5"), "-0.500000000000000000", "-0.5"],
    [decimalFromAtto(1n), "0.000000000000000001", "0.000000000000000001"],
  ];
  for (const [value, chain, people] of cases) {
    assert.equal(formatDecimal(value), chain);
    assert.equal(showDecimal(value), people);
  }
});

test("products and quotients are rounded as the chain's LegacyDec rounds them", () => {
  // Left, right, then the result in 10⁻¹⁸ths for nearest, truncate and up; taken from cosmossdk.io/math v1.5.3.
  const products: [string, string, bigint, bigint, bigint][] = [
    ["0.000000000000000001", "0.5", 0n, 0n, 1n],
    ["0.000000000000000003", "0.5", 2n, 1n, 2n],
    ["-0.000000000000000003", "0.5", -2n, -1n, -1n],
    ["1.500000000000000001", "0.5", 750000000000000000n, 750000000000000000n, 750000000000000001n],
  ];
  const quotients: [string, string, bigint, bigint, bigint][] = [
    ["1", "3", 333333333333333333n, 333333333333333333n, 333333333333333334n],
    ["2", "3", 666666666666666667n, 666666666666666666n, 666666666666666667n],
    // A little more than half of the last digit: lost by the chain's cut to 36 digits, so it rounds to even.
    ["1", "1999999999999999999.999999999999999999", 0n, 0n, 1n],
  ];
  for (const [left, right, ...expected] of products) {
    const got = roundings.map((rounding) => mulDecimals(parseDecimal(left), parseDecimal(right), rounding).atto);
    assert.deepEqual(got, expected, `${left} × ${right}`);
  }
  for (const [left, right, ...expected] of quotients) {
    const got = roundings.map((rounding) => quoDecimals(parseDecimal(left), parseDecimal(right), rounding).atto);
    assert.deepEqual(got, expected, `${left} ÷ ${right}`);
  }
});

test("whole numbers are rounded to even halves, cut, or taken up", () => {
  const cases: [string, bigint, bigint, bigint][] = [
    ["0.5", 0n, 0n, 1n],
    ["1.5", 2n, 1n, 2n],
    ["2.5", 2n, 2n, 3n],
    ["-1.5", -2n, -1n, -1n],
    ["-2.5", -2n, -2n, -2n],
    ["7", 7n, 7n, 7n],
  ];
  for (const [text, ...expected] of cases) {
    assert.deepEqual(
      roundings.map((rounding) => toInteger(parseDecimal(text), rounding)),
      expected,
      text,
    );
  }
});

test("dividing by zero throws instead of giving a price", () => {
  for (const rounding of roundings)
    assert.throws(() => quoDecimals(decimalOf(1n), decimalOf(0n), rounding), RangeError);
});

test("reading what was written gives the same decimal back", () => {
  fc.assert(
    fc.property(decimal, (value) => {
      assert.deepEqual(parseDecimal(formatDecimal(value)), value);
      assert.deepEqual(parseDecimal(showDecimal(value)), value);
      assert.match(showDecimal(value), /^-?\d+(\.\d*[1-9])?$/);
    }),
    { numRuns: runs(500, 50_000) },
  );
});

test("sums and order are those of exact fractions", () => {
  fc.assert(
    fc.property(modest, modest, modest, (a, b, c) => {
      assert.equal(addDecimals(a, b).atto, a.atto + b.atto);
      assert.deepEqual(addDecimals(a, b), addDecimals(b, a));
      assert.deepEqual(addDecimals(addDecimals(a, b), c), addDecimals(a, addDecimals(b, c)));
      assert.deepEqual(subDecimals(addDecimals(a, b), b), a);
      assert.equal(compareDecimals(a, b), a.atto < b.atto ? -1 : Number(a.atto > b.atto));
    }),
    { numRuns: runs(500, 50_000) },
  );
});

test("a product is the exact product, rounded once", () => {
  fc.assert(
    fc.property(modest, modest, fc.constantFrom(...roundings), (a, b, rounding) => {
      const product = mulDecimals(a, b, rounding);
      assert.ok(isRounded(product.atto, a.atto * b.atto, one, rounding));
      assert.deepEqual(product, mulDecimals(b, a, rounding));
      assert.deepEqual(mulDecimals(a, decimalOf(1n), rounding), a);
    }),
    { numRuns: runs(1_000, 100_000) },
  );
});

test("a quotient is the exact quotient, rounded once, or from 36 digits when to the nearest", () => {
  const divisor = modest.filter(({ atto }) => atto !== 0n);
  fc.assert(
    fc.property(modest, divisor, fc.constantFrom(...roundings), (a, b, rounding) => {
      const { atto } = quoDecimals(a, b, rounding);
      if (rounding !== "nearest") return assert.ok(isRounded(atto, a.atto * one, b.atto, rounding));
      const cut = (a.atto * one * one) / b.atto;
      assert.ok(isRounded(atto, cut, one, "nearest"));
    }),
    { numRuns: runs(1_000, 100_000) },
  );
});

test("a whole number made of a decimal is its exact value, rounded once", () => {
  const inside = decimal.filter(({ atto }) => atto < most - one && atto > one - most);
  fc.assert(
    fc.property(inside, fc.constantFrom(...roundings), (value, rounding) => {
      assert.ok(isRounded(toInteger(value, rounding), value.atto, one, rounding));
    }),
    { numRuns: runs(1_000, 100_000) },
  );
});
