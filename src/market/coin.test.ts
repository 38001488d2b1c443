import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import {
  addCoins,
  amountOf,
  type Coin,
  coinOf,
  decCoinOf,
  formatCoin,
  formatCoins,
  formatDecCoin,
  parseCoin,
  parseCoins,
  parseDecCoin,
  parseDecCoins,
  showDecCoin,
  sumCoins,
} from "./coin.ts";
import { decimalFromAtto, decimalOf, parseDecimal } from "./decimal.ts";

const ibc = "ibc/170C677610AC31DF0904FFE09CD3B5C657492170E7E52372E48756B71E56F2F1";
const denom = fc.oneof(fc.constantFrom("uakt", "uact", ibc), fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/));
const amount = fc.oneof(fc.bigInt({ min: 0n, max: 1_000n }), fc.bigInt({ min: 0n, max: 2n ** 255n - 1n }));
const coin = fc.tuple(amount, denom).map(([count, name]) => coinOf(count, name));
const decCoin = fc.tuple(amount, denom).map(([atto, name]) => decCoinOf(decimalFromAtto(atto), name));

test("a coin is a whole amount with its denom", () => {
  assert.deepEqual(parseCoin("500000uakt"), { denom: "uakt", amount: 500_000n });
  assert.deepEqual(parseCoin(`1${ibc}`), { denom: ibc, amount: 1n });
  assert.deepEqual(parseCoin(" 12 uact "), { denom: "uact", amount: 12n }, "the chain lets spaces stand");
  assert.deepEqual(parseCoin(`${2n ** 256n - 1n}uakt`).amount, 2n ** 256n - 1n);
});

test("a price is a decimal amount with its denom", () => {
  assert.deepEqual(parseDecCoin("0.025uakt"), { denom: "uakt", amount: parseDecimal("0.025") });
  assert.deepEqual(parseDecCoin("3uakt"), { denom: "uakt", amount: decimalOf(3n) });
  assert.equal(formatDecCoin(parseDecCoin("0.025uakt")), "0.025000000000000000uakt");
  assert.equal(showDecCoin(parseDecCoin("0.0250uakt")), "0.025uakt");
});

test("what is not a coin is rejected with the reason and an example", () => {
  for (const text of [
    "",
    "uakt",
    "5",
    "5ua",
    "-5uakt",
    "+5uakt",
    "5u akt",
    "5ü",
    `5u${"a".repeat(128)}`,
    "5uakt,5uact",
    ".5uakt",
  ]) {
    assert.throws(() => parseCoin(text), { code: "AKP_VALUE_MALFORMED", advice: "Write it like 500000uakt." }, text);
    assert.throws(() => parseDecCoin(text), { code: "AKP_VALUE_MALFORMED", advice: "Write it like 0.025uakt." }, text);
  }
  assert.throws(() => parseCoin(`${"9".repeat(1_000_000)}uakt`), { code: "AKP_VALUE_MALFORMED" });
  assert.throws(() => parseCoin("1.5uakt"), { message: /it has a fraction, and tokens are counted whole/ });
  assert.throws(() => parseDecCoin(`0.${"1".repeat(19)}uakt`), { message: /19 digits after the point/ });
  assert.throws(() => coinOf(1n, "u"), { code: "AKP_VALUE_MALFORMED", advice: "Write it like uakt." });
});

test("an amount below zero or above 256 bits is rejected", () => {
  const outOfRange = { code: "AKP_VALUE_OUT_OF_RANGE" };
  assert.throws(() => parseCoin(`${2n ** 256n}uakt`), outOfRange);
  assert.throws(() => parseDecCoin(`${2n ** 256n}uakt`), outOfRange);
  assert.throws(() => coinOf(-1n, "uakt"), outOfRange);
  assert.throws(() => decCoinOf(parseDecimal("-0.1"), "uakt"), outOfRange);
  assert.throws(() => addCoins(parseCoin(`${2n ** 256n - 1n}uakt`), parseCoin("1uakt")), outOfRange);
});

test("different tokens are never added", () => {
  const differ = { code: "AKP_COIN_DENOMS_DIFFER", message: /uakt and uact are different tokens/ };
  assert.throws(() => addCoins(parseCoin("1uakt"), parseCoin("1uact")), differ);
});

test("a list comes out sorted by denom, without zeros", () => {
  assert.equal(formatCoins(parseCoins("7uakt, 5uact,0umx")), "5uact,7uakt");
  assert.deepEqual(parseDecCoins(`0.025uakt,1${ibc}`), [parseDecCoin(`1${ibc}`), parseDecCoin("0.025uakt")]);
  assert.deepEqual(parseCoins("5Zed,5abc"), [parseCoin("5Zed"), parseCoin("5abc")], "by bytes, capitals first");
  assert.deepEqual(parseCoins(" "), []);
  assert.deepEqual(parseDecCoins(""), []);
});

test("a list with a denom twice or with an empty place is rejected", () => {
  assert.throws(() => parseCoins("1uakt,2uact,0uakt"), {
    code: "AKP_VALUE_MALFORMED",
    message: /uakt stands in it twice/,
  });
  assert.throws(() => parseDecCoins("1uakt,2uakt"), { code: "AKP_VALUE_MALFORMED" });
  assert.throws(() => parseCoins("1uakt,"), { code: "AKP_VALUE_MALFORMED" });
});

test("reading what was written gives the same coin back", () => {
  fc.assert(
    fc.property(coin, decCoin, (whole, decimal) => {
      assert.deepEqual(parseCoin(formatCoin(whole)), whole);
      assert.deepEqual(parseDecCoin(formatDecCoin(decimal)), decimal);
      assert.deepEqual(parseDecCoin(showDecCoin(decimal)), decimal);
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("summing up neither makes nor loses a token, and gives a list that the chain takes", () => {
  const few = fc.tuple(fc.bigInt({ min: 0n, max: 1_000n }), fc.constantFrom("uakt", "uact", ibc, "abc", "ABC"));
  fc.assert(
    fc.property(fc.array(few), (pairs) => {
      const coins = pairs.map(([count, name]): Coin => coinOf(count, name));
      const sum = sumCoins(coins);
      for (const name of new Set(pairs.map(([, each]) => each))) {
        const expected = coins.filter((each) => each.denom === name).reduce((total, each) => total + each.amount, 0n);
        assert.equal(amountOf(sum, name), expected, name);
      }
      assert.deepEqual(parseCoins(formatCoins(sum)), sum);
      assert.ok(sum.every((each, index) => index === 0 || (sum[index - 1]?.denom ?? "") < each.denom));
    }),
    { numRuns: runs(300, 20_000) },
  );
});
