/** The outbox remembers the gas of messages and does not simulate kinds that have landed before. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { outboxSparedMessages } from "../../src/chain/outbox/gas-memory.ts";
import { outboxStalledMs } from "../../src/chain/outbox/obstacles.ts";
import type { OrderId } from "../../src/market/ids.ts";
import { closeDeployment } from "../support/market-messages.ts";
import { all, fileBids, startOutbox, statesOf } from "../support/outbox-run.ts";
import { tenantKey } from "../support/stages/outbox-stage.ts";

const many = outboxSparedMessages;

test("what has landed before travels without a simulation, and for about the same fee", async (t) => {
  const run = await startOutbox(t);
  const first = await fileBids(run, await run.stage.orders(many));
  await run.block();
  assert.deepEqual(statesOf(run, first), all(many, "done"));
  assert.equal(run.outbox.counts.simulations, 1);
  const next = await fileBids(run, await run.stage.orders(50));
  await run.block();
  assert.deepEqual(statesOf(run, next), all(50, "done"));
  const { simulations, spared } = run.outbox.counts;
  assert.deepEqual({ simulations, spared }, { simulations: 1, spared: 1 });
  const fees = await Promise.all(
    [first[0], next[0]].map(async (id) => (await run.outbox.wait(id as number)).result.fee),
  );
  const [before = 0, after = 0] = fees.map((fee) => Number.parseInt(fee ?? "", 10));
  assert.ok(after <= before * 1.2, `${after} is much more than ${before}`);
});

test("a few, and what has not landed yet, are simulated as ever", async (t) => {
  const run = await startOutbox(t);
  await fileBids(run, await run.stage.orders(many));
  await run.block();
  await fileBids(run, await run.stage.orders(many - 1));
  await run.block();
  const { simulations, spared } = run.outbox.counts;
  assert.deepEqual({ simulations, spared }, { simulations: 2, spared: 0 });
});

test("one bad bid of fifty spoils its batch once: the others are simulated, land, and none is lost", async (t) => {
  const run = await startOutbox(t);
  await fileBids(run, await run.stage.orders(many));
  await run.block();
  const orders = await run.stage.orders(50);
  run.stage.submit(tenantKey, [closeDeployment(orders[17] as OrderId)]);
  await run.block();
  const ids = await fileBids(run, orders);
  await run.block();
  assert.equal(run.outbox.counts.spared, 1);
  await run.block();
  const states = all(50, "done").map((state, index) => (index === 17 ? "failed" : state));
  assert.deepEqual(statesOf(run, ids), states);
  assert.equal(run.outbox.counts.simulations, 2, "only the batch that failed was simulated");
  assert.equal(run.stage.bids().length, many + 49);
});

test("after a failure messages of its kind are simulated until a batch of them has landed again", async (t) => {
  const run = await startOutbox(t);
  await fileBids(run, await run.stage.orders(many));
  await run.block();
  const spoiled = await run.stage.orders(many);
  run.stage.submit(tenantKey, [closeDeployment(spoiled[0] as OrderId)]);
  await run.block();
  await fileBids(run, spoiled);
  await run.block();
  await run.block();
  const { spared } = run.outbox.counts;
  // Nine landed from the failed batch: fewer than the gas estimate needs.
  await fileBids(run, await run.stage.orders(many));
  await run.block();
  assert.equal(run.outbox.counts.spared, spared);
  await fileBids(run, await run.stage.orders(many));
  await run.block();
  assert.equal(run.outbox.counts.spared, spared + 1);
});

test("a wallet that is short has everything simulated again", async (t) => {
  const run = await startOutbox(t, { stage: { providerCoins: [{ denom: "uakt", amount: 30_000_000n }] } });
  await fileBids(run, await run.stage.orders(many));
  await run.block();
  const startedMs = run.clock.now();
  const ids = await fileBids(run, await run.stage.orders(50));
  await run.block();
  assert.equal(run.outbox.counts.spared, 1, "the wallet was thought to have enough");
  assert.match(run.outbox.state.stalled?.message ?? "", /deposits/);
  // It rests before it tries what the wallet has money for.
  while (run.clock.now() < startedMs + 2 * outboxStalledMs) await run.block();
  assert.equal(run.outbox.counts.spared, 1);
  assert.ok(statesOf(run, ids).includes("done"), "what the wallet has money for went on");
});
