/** When earnings are brought home, on a chain that settles as the real one does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SettledResult } from "../../src/chain/chain.ts";
import { amountOf, parseCoins } from "../../src/market/coin.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { setUpEscrows } from "./escrow-stage.ts";

const minute = 60_000;
const quick = { intervalMs: minute };
const statesOf = (withdrawals: readonly { readonly state: string }[]) => withdrawals.map(({ state }) => state);

test("earnings worth many times the fee are withdrawn, and no sooner", async (t) => {
  const stage = await setUpEscrows(t);
  const [lease] = await stage.lease(1n, "50000000uakt", ["us", "10000uakt"]);
  assert.ok(lease);
  const life = await stage.start({ options: quick });
  await stage.blocks(45);
  assert.deepEqual(life.withdrawals(), [], "45 blocks are worth 450,000uakt at a fee of 5,000uakt");
  await stage.blocks(12);
  assert.deepEqual(statesOf(life.withdrawals()), ["done"]);
  const brought = (await stage.withdrawn(lease)) ?? 0n;
  assert.ok(brought >= 500_000n, `${brought}`);
  assert.equal(life.journal.read.payments.get(formatLeaseId(lease))?.withdrawn, brought);
});

test("with the period, earnings are withdrawn once they are worth more than the fee, valued at the token's price", async (t) => {
  const stage = await setUpEscrows(t);
  const [lease] = await stage.lease(1n, "50000000uact", ["us", "100uact"]);
  assert.ok(lease);
  const life = await stage.start({ options: { ...quick, periodMs: 10 * minute }, tokenPrice: "0.5" });
  // 2,500uact are worth the fee of 5,000uakt; twenty minutes and three times the period pass until there are more.
  await stage.blocks(20, minute);
  assert.deepEqual(life.withdrawals(), []);
  await stage.blocks(8, minute);
  assert.deepEqual(statesOf(life.withdrawals()), ["done"]);
  assert.match(
    life.withdrawals()[0]?.why ?? "",
    /the withdrawal period has passed, and 2\d{3}uact is worth the fee of 5000uakt/,
  );
  assert.ok(((await stage.withdrawn(lease)) ?? 0n) > 2_500n);
});

test("without a price, the threshold of the denomination decides; what has none waits for its end", async (t) => {
  const stage = await setUpEscrows(t);
  const [ours, other] = [
    await stage.lease(1n, "50000000uact", ["us", "100uact"]),
    await stage.lease(2n, "50000000uakt", ["us", "100uakt"]),
  ];
  const options = { ...quick, threshold: parseCoins("4000uact"), fee: undefined };
  const life = await stage.start({ options });
  await stage.blocks(30, minute);
  assert.deepEqual(life.withdrawals(), []);
  await stage.blocks(15, minute);
  assert.deepEqual(statesOf(life.withdrawals()), ["done"]);
  assert.ok(((await stage.withdrawn(ours[0] as never)) ?? 0n) >= 4_000n);
  assert.equal(await stage.withdrawn(other[0] as never), 0n);
});

test("two leases on one deployment are withdrawn from one after the other, never in one block", async (t) => {
  const stage = await setUpEscrows(t);
  const leases = await stage.lease(1n, "90000000uakt", ["us", "20000uakt"], ["us", "20000uakt"]);
  const life = await stage.start({ options: quick });
  await stage.blocks(64);
  const withdrawals = life.withdrawals();
  assert.deepEqual(new Set(statesOf(withdrawals)), new Set(["done"]));
  assert.deepEqual(new Set(withdrawals.map(({ subject }) => subject)), new Set(leases.map(formatLeaseId)));
  const heights = withdrawals.map(({ result }) => (result as { height: string }).height);
  assert.equal(new Set(heights).size, heights.length, "no two in a block");
});

test("a lease that its tenant closes is paid out by the chain: what waited for it is cancelled, and nothing more is filed", async (t) => {
  const stage = await setUpEscrows(t);
  await stage.lease(1n, "90000000uact", ["us", "40000uact"]);
  const [lease] = await stage.lease(2n, "90000000uact", ["us", "20000uact"]);
  assert.ok(lease);
  await stage.drain(10n);
  const life = await stage.start({ options: quick, tokenPrice: "1" });
  await stage.blocks(30);
  // No fee can be paid for them: the first is rejected by every node, and the second need not be tried.
  const about = () => life.withdrawals().filter(({ subject }) => subject === formatLeaseId(lease));
  assert.deepEqual(statesOf(about()), ["filed"]);
  await stage.close(2n);
  await stage.blocks(2);
  assert.deepEqual(statesOf(about()), ["cancelled"]);
  await stage.blocks(20);
  assert.deepEqual([await stage.state(lease), about().length], ["closed", 1]);
});

test("what it cost to end a spent escrow is not what other withdrawals are weighed against", async (t) => {
  const stage = await setUpEscrows(t);
  await stage.lease(1n, "50000uakt", ["us", "10000uakt"]);
  const [lease] = await stage.lease(2n, "50000000uakt", ["us", "10000uakt"]);
  assert.ok(lease);
  const life = await stage.start({ options: quick });
  await stage.blocks(60);
  const [ending, home] = life.withdrawals();
  assert.ok(ending);
  const { fee = "" } = ending.result as SettledResult;
  assert.ok(Number.parseInt(fee, 10) > 5_000, "the chain does more where it ends leases");
  assert.deepEqual([home?.subject, home?.state], [formatLeaseId(lease), "done"]);
});

test("no withdrawal costs more than it brings, also from an escrow that pays many leases", async (t) => {
  const stage = await setUpEscrows(t);
  const prices = Array.from({ length: 12 }, (_, index) => [index === 0 ? "us" : "other", "200uakt"] as const);
  await stage.lease(1n, "90000000uakt", ...prices);
  const life = await stage.start({ options: { ...quick, periodMs: minute } });
  await stage.blocks(90);
  const results = life.withdrawals().map(({ result }) => result as { received: string; fee: string });
  assert.ok(results.length > 0);
  for (const { received, fee } of results) {
    assert.ok(amountOf(parseCoins(received), "uakt") > amountOf(parseCoins(fee), "uakt"), `${received} for ${fee}`);
  }
});

test("while the chain stands still, escrows are read no more often than the interval says", async (t) => {
  const stage = await setUpEscrows(t);
  await stage.lease(1n, "90000000uakt", ["us", "10000uakt"]);
  const life = await stage.start({ options: { intervalMs: 10 * minute } });
  await stage.blocks(45);
  let readings = 0;
  stage.onQuery = (question) => {
    if (question.includes("akash.escrow.v1.Query/Payments")) readings += 1;
  };
  await stage.clock.advance(60 * minute);
  assert.ok(readings >= 5 && readings <= 7, `${readings}`);
  assert.deepEqual(life.withdrawals(), []);
  await stage.blocks(8);
  assert.deepEqual(statesOf(life.withdrawals()), ["done"]);
});
