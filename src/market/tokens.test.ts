import assert from "node:assert/strict";
import { test } from "node:test";
import { bridgedDollars, showTokens, tokenAmount } from "./coin.ts";

test("amounts are read in tokens, to the last millionth", () => {
  const shown: [string, bigint, string][] = [
    ["uact", 12_345_000n, "12.345 ACT"],
    ["uact", 1n, "0.000001 ACT"],
    ["uakt", 100_000_000n, "100 AKT"],
    ["uakt", 0n, "0 AKT"],
    ["uakt", -1_500_000n, "-1.5 AKT"],
    ["uakt", -1n, "-0.000001 AKT"],
    [bridgedDollars[0] ?? "", 10n ** 24n + 1n, "1000000000000000000.000001 USDC"],
    ["ibc/0123", 1_000_000n, "1000000 ibc/0123"],
  ];
  for (const [denom, amount, text] of shown) assert.equal(showTokens({ denom, amount }), text);
});

test("amounts that stand below each other have all their digits", () => {
  assert.equal(tokenAmount({ denom: "uact", amount: 500_000n }), "0.500000");
  assert.equal(tokenAmount({ denom: "uother", amount: 500_000n }), "500000");
});
