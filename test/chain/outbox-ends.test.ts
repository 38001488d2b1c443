/** How intents end other than by a block: cancelled, expired, rejected when filed. And whom a failure names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SendRequest } from "../../src/chain/chain.ts";
import type { OrderId } from "../../src/market/ids.ts";
import { outboxIntents } from "../../src/runtime/limits.ts";
import { memoryFolder } from "../support/folder.ts";
import { closeBid, closeDeployment } from "../support/market-messages.ts";
import { all, fileBids, type OutboxRun, runOutbox, stampOf, startOutbox, statesOf } from "../support/outbox-run.ts";
import { bidIdOn, bidOn, tenantKey } from "../support/stages/outbox-stage.ts";

test("an intent that has not left can be cancelled; one that has cannot", async (t) => {
  const run = await startOutbox(t);
  run.faults.silent = true;
  const [first, second] = (await fileBids(run, await run.stage.orders(2))) as [number, number];
  await run.settle();
  const settled = run.outbox.wait(first);
  assert.equal(await run.outbox.cancel(first, "the order is closed"), true);
  assert.deepEqual(await settled, { id: first, state: "cancelled", result: { log: "the order is closed" } });
  assert.equal(await run.outbox.cancel(first, "again"), false);
  run.faults.silent = false;
  await run.block();
  assert.equal(await run.outbox.cancel(second, "too late"), false);
  await run.block();
  assert.equal(await run.outbox.cancel(second, "too late"), false);
  assert.deepEqual(statesOf(run, [first, second]), ["cancelled", "done"]);
  assert.equal(run.stage.bids().length, 1);
  assert.equal(run.outbox.counts.cancelled, 1);
});

test("an intent cancelled while its transaction is being made does not leave, and the others do", async (t) => {
  const run = await startOutbox(t);
  const ids = await fileBids(run, await run.stage.orders(3));
  let cancelled: boolean | undefined;
  run.faults.beforeSimulation = async () => {
    cancelled ??= await run.outbox.cancel(ids[1] as number, "not wanted");
  };
  await run.settle();
  await run.blocks(2);
  assert.equal(cancelled, true);
  assert.deepEqual(statesOf(run, ids), ["done", "cancelled", "done"]);
  assert.equal(run.stage.bids().length, 2);
});

test("one that could not be done and was cancelled meanwhile keeps its first verdict", async (t) => {
  const run = await startOutbox(t);
  const heard: string[] = [];
  run.outbox.onSettled(({ state }) => heard.push(state));
  const [id] = (await fileBids(run, await run.stage.orders(1))) as [number];
  let looks = 0;
  run.faults.beforeSimulation = async () => {
    looks += 1;
    if (looks === 2) await run.outbox.cancel(id, "not wanted");
  };
  run.faults.simulationError = () => "failed to execute message; message index: 0: bid not open with gas used: '1'";
  await run.blocks(3);
  assert.deepEqual(statesOf(run, [id]), ["cancelled"]);
  assert.deepEqual(heard, ["cancelled"]);
  assert.equal(run.outbox.counts.failed, 0);
});

test("what was sent before its expiry comes into no block after it", async (t) => {
  const run = await startOutbox(t);
  const [first, second] = (await run.stage.orders(2)) as [OrderId, OrderId];
  const expiresAtMs = run.clock.now() + 20_000;
  run.faults.mishap = () => "taken, but late";
  const ids = await Promise.all([run.outbox.file({ ...bidOn(first), expiresAtMs }), run.outbox.file(bidOn(second))]);
  await run.settle();
  const [hurried, other] = ids.map((id) => run.journal.read.intents.get(id));
  assert.ok((stampOf(run, ids[0] as number) ?? 0n) <= BigInt(expiresAtMs) * 1_000_000n);
  assert.notEqual(other?.txHash, hurried?.txHash, "no other transaction gets its expiry");
  assert.ok((stampOf(run, ids[1] as number) ?? 0n) > BigInt(expiresAtMs) * 1_000_000n);
  // Late means after three blocks: too late for the first, early enough for the second.
  await run.blocks(5, 7_000);
  assert.deepEqual(statesOf(run, ids), ["expired", "done"]);
  assert.deepEqual(run.stage.bids(), [second.dseq]);
});

test("transactions bound to one expiry have different stamps, also after a restart", async (t) => {
  const before = await startOutbox(t);
  const orders = await before.stage.orders(3);
  const expiresAtMs = before.clock.now() + 30_000;
  before.faults.mishap = () => "taken, but forgotten";
  const ids: number[] = [];
  let run: OutboxRun = before;
  for (const order of orders) {
    ids.push(await run.outbox.file({ ...bidOn(order), expiresAtMs }));
    await run.settle();
    run = await run.restart();
  }
  const stamps = ids.map((id) => stampOf(run, id));
  assert.equal(new Set(stamps).size, 3);
});

test("a bid is sent although one with the same expiry had landed before a restart", async (t) => {
  const before = await startOutbox(t);
  const [first, second] = await before.stage.orders(2);
  assert.ok(first && second);
  const expiresAtMs = before.clock.now() + 50_000;
  await before.outbox.file({ ...bidOn(first), expiresAtMs });
  await before.settle();
  await before.block();
  const run = await before.restart();
  const id = await run.outbox.file({ ...bidOn(second), expiresAtMs });
  await run.settle();
  await run.block();
  assert.deepEqual(statesOf(run, [id]), ["done"]);
});

test("a close is filed however many bids wait", async (t) => {
  const run = await startOutbox(t);
  const [order] = (await run.stage.orders(1)) as [OrderId];
  run.faults.silent = true;
  await run.journal.durable("many", ({ intents }) => {
    for (let index = 0; index < outboxIntents; index++) {
      intents.file({ ...run.outbox.intentOf(bidOn(order)), subject: `order ${index}` });
    }
  });
  await assert.rejects(run.outbox.file(bidOn(order)), { code: "AKP_OUTBOX_FULL" });
  const close: SendRequest = { ...bidOn(order), message: closeBid(bidIdOn(order)), priority: "close" };
  assert.equal(run.journal.read.intents.get(await run.outbox.file(close))?.state, "filed");
});

test("the message that a failure names is found also when another of its transaction was settled meanwhile", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(6);
  run.stage.submit(tenantKey, [closeDeployment(orders[4] as OrderId)]);
  const ids = await fileBids(run, orders);
  await run.settle();
  assert.deepEqual(statesOf(run, ids), all(6, "sent"));
  await run.journal.durable("settle", ({ intents }) => intents.settle(ids[1] as number, "expired"));
  await run.blocks(3);
  assert.deepEqual(statesOf(run, ids), ["done", "expired", "done", "done", "failed", "done"]);
});

test("a fault of our own ends the outbox with its reason, and is not taken for a silent node", async (t) => {
  const { clock, stage, faults, stop } = await startOutbox(t);
  await stop();
  const chain = {
    ...stage.broadcaster,
    async head(): Promise<never> {
      throw new TypeError("undefined is not a function");
    },
  };
  const noOwner = { after: () => undefined };
  const run = await runOutbox(noOwner, { clock, stage, faults }, { dir: memoryFolder(t), outbox: { chain } });
  await fileBids(run, await run.stage.orders(1));
  await run.settle();
  await assert.rejects(run.stop(), /undefined is not a function/);
});
