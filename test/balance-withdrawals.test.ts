/** When earnings are brought home, on a chain that settles as the real one does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLeaseId } from "../src/market/ids.ts";
import { setUpEscrows } from "./escrow-stage.ts";

test("earnings worth many times the fee are withdrawn, and no sooner", async (t) => {
  const stage = await setUpEscrows(t);
  const [lease] = await stage.lease(1n, "50000000uakt", ["us", "10000uakt"]);
  assert.ok(lease);
  const life = await stage.start({ options: { intervalMs: 60_000 } });
  await stage.blocks(45);
  assert.deepEqual(life.withdrawals(), [], "45 blocks are worth 450,000uakt at a fee of 5,000uakt");
  await stage.blocks(12);
  assert.deepEqual(
    life.withdrawals().map(({ state }) => state),
    ["done"],
  );
  const brought = (await stage.withdrawn(lease)) ?? 0n;
  assert.ok(brought >= 500_000n, `${brought}`);
  assert.equal(life.journal.read.payments.get(formatLeaseId(lease))?.withdrawn, brought);
});
