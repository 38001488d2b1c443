/** The outbox and money: what a wallet that is too small does to what waits. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SendRequest } from "../../src/chain/chain.ts";
import { outboxDelays } from "../../src/chain/outbox/obstacles.ts";
import { outboxTxMessages } from "../../src/chain/outbox/sender.ts";
import type { OrderId } from "../../src/market/ids.ts";
import { sendMessage } from "../support/embedded-app.ts";
import { closeBid, withdrawLease } from "../support/market-messages.ts";
import { all, fileBids, type OutboxRun, sendSettings, startOutbox, statesOf } from "../support/outbox-run.ts";
import {
  allowFees,
  bidIdOn,
  bidOn,
  malformedBidOn,
  messagesIn,
  providerKey,
  revokeFees,
  stageFee,
  tenantKey,
} from "../support/stages/outbox-stage.ts";

const depositOfBid = 500_000n;

/** With so much in the wallet when the provider is registered. */
const start = (t: TestContext, amount: bigint) =>
  startOutbox(t, {
    stage: { providerCoins: [{ denom: "uakt", amount: stageFee + amount }] },
  });

function refill({ stage }: OutboxRun): void {
  stage.submit(tenantKey, [sendMessage(tenantKey.address, providerKey.address, 1_000_000_000)]);
}

test("of deposits beyond the wallet those that fit are paid; the rest waits, and goes out once there is money", async (t) => {
  const run = await start(t, 20n * depositOfBid + 800_000n);
  const ids = await fileBids(run, await run.stage.orders(50));
  await run.blocks(4);
  assert.deepEqual(statesOf(run, ids), [...all(21, "done"), ...all(29, "filed")]);
  assert.equal(run.outbox.state.stalled?.code, "AKP_WALLET_SHORT");
  assert.ok(run.outbox.counts.simulations <= 5, `${run.outbox.counts.simulations} simulations`);
  const { simulations } = run.outbox.counts;
  await run.blocks(20);
  assert.deepEqual(statesOf(run, ids), [...all(21, "done"), ...all(29, "filed")]);
  assert.ok(run.outbox.counts.simulations - simulations <= 5, "an empty wallet is looked at twice a minute");
  refill(run);
  await run.blocks(7);
  assert.deepEqual(statesOf(run, ids), all(50, "done"));
  assert.equal(run.outbox.state.stalled, undefined);
  assert.equal(run.outbox.counts.failed, 0);
});

test("when a fee grant is used up nothing fails; what waits goes out once more is granted", async (t) => {
  const settings = { ...sendSettings, feeGranter: tenantKey.address };
  const run = await startOutbox(t, { outbox: { settings } });
  const [granter, grantee] = [tenantKey.address, providerKey.address];
  const orders = await run.stage.orders(2);
  // Enough for the bids and not for the closes.
  run.stage.submit(tenantKey, [allowFees(granter, grantee, 9_000n)]);
  await run.block();
  const bids = await fileBids(run, orders);
  await run.blocks(2);
  assert.deepEqual(statesOf(run, bids), all(2, "done"));
  const closes = await Promise.all(
    orders.map((order) => run.outbox.file({ ...bidOn(order), message: closeBid(bidIdOn(order)), priority: "close" })),
  );
  for (let blocks = 0; blocks < 100; blocks += 1) await run.block();
  assert.equal(run.outbox.counts.failed, 0);
  assert.equal(run.outbox.state.stalled?.code, "AKP_WALLET_SHORT");
  assert.match(run.outbox.state.stalled?.message ?? "", /fee limit exceeded/);
  run.stage.submit(tenantKey, [revokeFees(granter, grantee), allowFees(granter, grantee, 1_000_000n)]);
  await run.blocks(15);
  assert.deepEqual(statesOf(run, closes), all(2, "done"));
  assert.equal(run.outbox.state.stalled, undefined);
});

test("while deposits wait for money, what costs only its fee goes on, however much waits", async (t) => {
  const run = await start(t, 3n * depositOfBid + 400_000n);
  const orders = await run.stage.orders(outboxTxMessages + 20);
  const [first] = orders as [OrderId];
  const ids = await fileBids(run, orders);
  await run.blocks(2);
  assert.deepEqual(statesOf(run, ids.slice(0, 4)), [...all(3, "done"), "filed"]);
  const close: SendRequest = { ...bidOn(first), message: closeBid(bidIdOn(first)), priority: "withdraw" };
  const id = await run.outbox.file(close);
  await run.blocks(1);
  assert.deepEqual(statesOf(run, [id]), ["done"], "its deposit comes back, and that may be the money that is missing");
});

test("a deposit that the wallet can never pay does not hold up smaller ones behind it", async (t) => {
  const run = await start(t, 3n * depositOfBid);
  const orders = await run.stage.orders(3);
  const requests = orders.map((order, index) => bidOn(order, index === 0 ? 100n * depositOfBid : depositOfBid));
  const ids = await Promise.all(requests.map(run.outbox.file));
  await run.blocks(1);
  assert.deepEqual(statesOf(run, ids), ["filed", "done", "done"]);
  assert.ok(run.outbox.counts.simulations <= 4);
});

test("no intent fails when the balance was enough in the simulation and not in the block", async (t) => {
  const run = await start(t, 5n * depositOfBid + 2n * stageFee);
  const orders = await run.stage.orders(5);
  // In the pool before the bids.
  run.stage.submit(providerKey, [sendMessage(providerKey.address, tenantKey.address, 3n * depositOfBid)]);
  const ids = await fileBids(run, orders);
  await run.settle();
  assert.deepEqual(statesOf(run, ids), all(5, "sent"));
  await run.blocks(2);
  assert.equal(run.outbox.state.stalled?.code, "AKP_WALLET_SHORT");
  assert.equal(run.outbox.counts.failed, 0);
  refill(run);
  await run.blocks(8);
  assert.deepEqual(statesOf(run, ids), all(5, "done"));
});

test("after a wallet was short, one transaction with deposits leaves at a time, since no simulation sees the others", async (t) => {
  const run = await start(t, 2n * depositOfBid + 400_000n);
  const most = outboxTxMessages;
  const ids = await fileBids(run, await run.stage.orders(3 * most));
  await run.blocks(1);
  // Enough for all but a few of the second transaction.
  const amount = depositOfBid * BigInt(most + 30);
  run.stage.submit(tenantKey, [sendMessage(tenantKey.address, providerKey.address, amount)]);
  await run.blocks(20);
  assert.equal(run.outbox.counts.splits, 0, "no fee was wasted");
  assert.equal(run.outbox.counts.failed, 0);
  assert.ok(statesOf(run, ids).filter((state) => state === "done").length >= most + 25);
  refill(run);
  await run.blocks(12);
  assert.deepEqual(statesOf(run, ids), all(3 * most, "done"));
});

test("one bad message of fifty is found by halving", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(50);
  const ids = await Promise.all(
    orders.map((order, index) => run.outbox.file(index === 33 ? malformedBidOn(order) : bidOn(order))),
  );
  await run.settle();
  assert.ok(run.outbox.counts.simulations <= 13, `${run.outbox.counts.simulations} simulations`);
  await run.blocks(2);
  const wanted = all(50, "done");
  wanted[33] = "failed";
  assert.deepEqual(statesOf(run, ids), wanted);
});

test("a withdrawal without funds of another account delays no bid, and fails when that lasts", async (t) => {
  const run = await start(t, 100n * depositOfBid);
  const [lease] = await run.stage.leases(1);
  const orders = await run.stage.orders(3);
  const message = withdrawLease(lease);
  run.faults.simulationError = (tx) => {
    const index = messagesIn(tx).findIndex(({ typeUrl }) => typeUrl === message.typeUrl);
    const reason = "spendable balance 1uact is smaller than 9uact: insufficient funds with gas used: '1'";
    return index < 0 ? undefined : `failed to execute message; message index: ${index}: ${reason}`;
  };
  const withdrawal = await run.outbox.file({ subject: "lease 1", why: "test", message, priority: "withdraw" });
  await run.blocks(1);
  const ids = await fileBids(run, orders);
  await run.blocks(2);
  assert.deepEqual(statesOf(run, [withdrawal, ...ids]), ["filed", ...all(3, "done")]);
  assert.equal(run.outbox.state.stalled, undefined);
  await run.blocks(2 ** outboxDelays);
  assert.deepEqual(statesOf(run, [withdrawal]), ["failed"]);
  assert.ok(run.outbox.counts.simulations < 20, `${run.outbox.counts.simulations} simulations`);
});
