/** Results of settled intents: fee, gas and the coins that the message moved. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { transactionHash } from "../../src/chain/tx/transaction.ts";
import { amountOf, parseCoins } from "../../src/market/coin.ts";
import type { OrderId } from "../../src/market/ids.ts";
import { closeBid, closeDeployment, createLease, withdrawLease } from "../support/market-messages.ts";
import { fileBids, type OutboxRun, resultsOf, sendSettings, settleAll, startOutbox } from "../support/outbox-run.ts";
import { allowFees, bidIdOn, bidOn, providerKey, tenantKey } from "../support/stages/outbox-stage.ts";

const uakt = (coins: string | undefined) => amountOf(parseCoins(coins ?? ""), "uakt");

/** What the provider's wallet has lost since then is what the results say. */
async function checkBooks(run: OutboxRun, before: bigint, ids: readonly number[]): Promise<void> {
  const results = await resultsOf(run, ids);
  const lost = results.reduce((sum, { fee, spent, received }) => sum + uakt(fee) + uakt(spent) - uakt(received), 0n);
  assert.equal(lost, before - run.stage.balance(providerKey.address));
  const fees = results.reduce((sum, { fee }) => sum + uakt(fee), 0n);
  assert.deepEqual(run.journal.read.ledger.totals(), [{ kind: "fee", denom: "uakt", amount: fees }]);
}

for (const blocks of ["followed", "unfollowed"] as const) {
  test(`the shares of one transaction add up to its fee and gas, blocks ${blocks}`, async (t) => {
    const run = await startOutbox(t);
    run.faults.blocks = blocks;
    const orders = await run.stage.orders(7);
    const before = run.stage.balance(providerKey.address);
    const ids = await fileBids(run, orders);
    const { output } = await run.block();
    await run.blocks(4);
    const results = await resultsOf(run, ids);
    const gasUsed = results.reduce((sum, result) => sum + BigInt(result.gasUsed ?? 0), 0n);
    assert.equal(gasUsed, output.txResults[0]?.gasUsed);
    assert.deepEqual(new Set(results.map(({ spent }) => spent)), new Set(["500000uakt"]));
    const fees = results.map(({ fee }) => uakt(fee));
    assert.ok(Number(fees[0]) - Number(fees.at(-1)) <= 1);
    await checkBooks(run, before, ids);
    const lines = orders.map(({ dseq }) => run.journal.read.ledger.about(`order ${dseq}`, 9));
    assert.deepEqual(
      lines.map((of) => of.map(({ amount }) => amount)),
      fees.map((fee) => [fee]),
      "each share stands under what its message is about",
    );
  });
}

test("a transaction that failed and whose intents were filed again is still known as ours", async (t) => {
  const run = await startOutbox(t);
  run.faults.gasFactor = 0.4;
  await fileBids(run, await run.stage.orders(7));
  const { txs, output } = await run.block();
  await run.settle();
  assert.notEqual(output.txResults[0]?.code, 0);
  const hash = transactionHash(txs[0] ?? new Uint8Array());
  assert.equal(run.journal.read.intents.byTxHash(hash).length, 0);
  assert.ok(run.outbox.isOurs(hash));
  assert.ok(!run.outbox.isOurs("another"));
});

test("one that failed in a block says what it cost, and those that failed with it carry their share on", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(7);
  const before = run.stage.balance(providerKey.address);
  run.stage.submit(tenantKey, [closeDeployment(orders[3] as OrderId)]);
  const ids = await fileBids(run, orders);
  await run.settle();
  await settleAll(run);
  const { counts } = run.outbox;
  assert.deepEqual(
    { done: counts.done, failed: counts.failed, transactions: counts.transactions },
    { done: 6, failed: 1, transactions: 2 },
  );
  const [result] = await resultsOf(run, ids.slice(3, 4));
  assert.ok(uakt(result?.fee) > 0n);
  assert.equal(result?.spent, undefined);
  await checkBooks(run, before, ids);
});

test("a transaction that ran out of gas is paid for as well", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(3);
  const before = run.stage.balance(providerKey.address);
  run.faults.gasFactor = 0.4;
  const ids = await fileBids(run, orders);
  await settleAll(run);
  assert.ok(run.outbox.counts.transactions > 1);
  await checkBooks(run, before, ids);
});

test("what a close gives back and a withdrawal earns is in their results", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(2);
  const [won, open] = orders as [OrderId, OrderId];
  await fileBids(run, orders);
  await run.block();
  run.stage.submit(tenantKey, [createLease(bidIdOn(won))]);
  await run.block();
  await run.block();
  const ids = await Promise.all([
    run.outbox.file({ ...bidOn(open), message: closeBid(bidIdOn(open)), priority: "close" }),
    run.outbox.file({ ...bidOn(won), message: withdrawLease(bidIdOn(won)), priority: "withdraw" }),
  ]);
  await settleAll(run);
  const [close, withdrawal] = await resultsOf(run, ids);
  assert.deepEqual([close?.received, close?.spent], ["500000uakt", ""]);
  assert.match(withdrawal?.received ?? "", /^\d+uact$/);
});

test("a fee that another account paid names the payer", async (t) => {
  const run = await startOutbox(t, { outbox: { settings: { ...sendSettings, feeGranter: tenantKey.address } } });
  run.stage.submit(tenantKey, [allowFees(tenantKey.address, providerKey.address)]);
  await run.block();
  const ids = await fileBids(run, await run.stage.orders(1));
  await settleAll(run);
  const [result] = await resultsOf(run, ids);
  assert.equal(result?.feePayer, tenantKey.address);
  assert.deepEqual(run.journal.read.ledger.totals(), [], "which is no cost of ours");
});
