import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { committed } from "./fit.ts";

test("committed amounts are rounded half up, and never to zero", () => {
  const cases: [bigint, number, bigint][] = [
    [1_000n, 0, 1_000n],
    [1_000n, 100, 500n],
    [1_000n, 50, 667n],
    [1_000n, 1, 990n],
    [20n, 1_000, 2n],
    [10n, 1_000, 1n],
    [12n, 1_000, 1n],
    [5n, 100, 3n],
    [1n, 10_000, 1n],
    [0n, 50, 0n],
    [2n ** 70n, 100, 2n ** 69n],
  ];
  for (const [requested, percent, expected] of cases) assert.equal(committed(requested, percent), expected);
});

test("committed amounts are within half a unit of what the overcommit allows", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 60n }), fc.nat(10_000), (requested, percent) => {
      const sold = 100n + BigInt(percent);
      const aside = committed(requested, percent);
      const excess = 2n * (aside * sold - requested * 100n);
      assert.ok(aside === 1n || (excess <= sold && excess > -sold));
      assert.ok(aside >= 1n && aside <= requested);
    }),
    { numRuns: runs(300, 20_000) },
  );
});
