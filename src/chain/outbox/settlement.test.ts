import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import { runs } from "../../../test/support/runs.ts";
import { readTxResult } from "../comet/blocks.ts";
import { billOf, movedBy, shareOf } from "./settlement.ts";

test("shares add up to the whole and differ by one unit at most", () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 20n), fc.integer({ min: 1, max: 60 }), (total, count) => {
      const shares = Array.from({ length: count }, (_, index) => shareOf(total, index, count));
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0n),
        total,
      );
      assert.ok((shares[0] ?? 0n) - (shares.at(-1) ?? 0n) <= 1n);
    }),
    { numRuns: runs(200, 10_000) },
  );
});

test("a recorded transaction's events yield its fee, also when it failed, and the coins that each message moved", () => {
  const sender = "akash1k66augwulg83awft5pn3fc4keunmesdcfsjtmg";
  const { block_results } = readJsonRecording<{ block_results: { txs_results: unknown[] } }>("chain/blocks/415.json");
  const results = block_results.txs_results;
  const bills = results.map((result) => billOf({ ...readTxResult(result), height: 415n, admitted: true }, sender));
  const fee = [{ denom: "uakt", amount: 20_000n }];
  assert.deepEqual(
    bills.map((bill) => [bill.fee, bill.feePayer]),
    bills.map(() => [fee, sender]),
  );
  const [failed, done] = bills;
  assert.ok(failed && done);
  assert.deepEqual(movedBy(failed, 0), { received: "", spent: "" });
  assert.deepEqual(movedBy(done, 0), { received: "1uakt", spent: "1uakt" });
});
