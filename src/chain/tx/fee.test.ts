import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCoins, parseDecCoins } from "../../market/coin.ts";
import { parseDecimal } from "../../market/decimal.ts";
import { adjustedGas, feeFor, gasFor } from "./fee.ts";

const settings = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };

test("gas is what was simulated times the adjustment, rounded up", () => {
  assert.equal(gasFor(100_001n, settings), 150_002n);
  assert.equal(gasFor(100_001n, { ...settings, gas: 200_000n }), 200_000n);
  assert.equal(adjustedGas(100_001n, { ...settings, gas: 200_000n }), 150_002n);
});

test("the fee is gas times price, rounded up, in every denom that has a price", () => {
  assert.deepEqual(feeFor(100_001n, settings), parseCoins("2501uakt"));
  const two = { ...settings, gasPrices: parseDecCoins("0.025uakt,0.1uact") };
  assert.deepEqual(feeFor(1_000n, two), parseCoins("100uact,25uakt"));
});

test("a fixed fee is paid instead, and no price means no fee", () => {
  assert.deepEqual(feeFor(100_001n, { ...settings, fees: parseCoins("7uakt") }), parseCoins("7uakt"));
  assert.deepEqual(feeFor(100_001n, { ...settings, gasPrices: [] }), []);
});
