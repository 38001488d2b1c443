/** Withdrawals: the chain panics over a second one from the same deployment in a block. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SendRequest } from "../../src/chain/chain.ts";
import { outboxDelays } from "../../src/chain/outbox/obstacles.ts";
import { parseAddress } from "../../src/market/address.ts";
import type { OrderId } from "../../src/market/ids.ts";
import { closeBid, createDeployment, createLease, spec, withdrawLease } from "../support/market-messages.ts";
import { all, fileBids, type OutboxRun, settleAll, startOutbox, statesOf } from "../support/outbox-run.ts";
import { bidIdOn, bidOn, tenantKey } from "../support/stages/outbox-stage.ts";

/** A deployment of so many groups, each bid on; those at the end have no lease yet. */
async function startWithLeases(t: TestContext, count: number, without = 0) {
  const run = await startOutbox(t);
  const id = { owner: parseAddress(tenantKey.address), dseq: 900n };
  const groups = Array.from({ length: count }, (_, index) => spec({ name: `group-${index}` }));
  run.stage.submit(tenantKey, [createDeployment({ id, groups })]);
  await run.block();
  const orders = groups.map((_, index): OrderId => ({ ...id, gseq: index + 1, oseq: 1 }));
  await Promise.all(orders.map((order) => run.outbox.file({ ...bidOn(order), subject: `order ${order.gseq}` })));
  await run.block();
  for (const order of orders.slice(0, count - without)) {
    run.stage.submit(tenantKey, [createLease(bidIdOn(order))]);
    await run.block();
  }
  await run.block();
  return { run, orders };
}

function withdrawal(order: OrderId): SendRequest {
  return {
    subject: `lease ${order.gseq}`,
    why: "money",
    message: withdrawLease(bidIdOn(order)),
    priority: "withdraw",
  };
}

function failedTransactions({ stage }: OutboxRun): number {
  return [...stage.chain.store.all()].flatMap(({ output }) => output.txResults).filter(({ code }) => code !== 0).length;
}

test("withdrawals from one deployment never meet in a block, and all of them are done", async (t) => {
  const { run, orders } = await startWithLeases(t, 3);
  const before = run.outbox.counts.transactions;
  const ids = await Promise.all(orders.map((order) => run.outbox.file(withdrawal(order))));
  await settleAll(run);
  assert.deepEqual(statesOf(run, ids), all(3, "done"));
  assert.equal(failedTransactions(run), 0);
  assert.equal(run.outbox.counts.transactions - before, 3);
  const heights = await Promise.all(ids.map(async (id) => (await run.outbox.wait(id)).result.height));
  assert.equal(new Set(heights).size, 3);
});

test("withdrawals from different deployments travel together", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(5);
  await fileBids(run, orders);
  await run.block();
  run.stage.submit(
    tenantKey,
    orders.map((order) => createLease(bidIdOn(order))),
  );
  await run.block();
  await run.block();
  const before = run.outbox.counts.transactions;
  const requests = orders.map((order) => ({ ...withdrawal(order), subject: `lease ${order.dseq}` }));
  const ids = await Promise.all(requests.map(run.outbox.file));
  await settleAll(run);
  assert.deepEqual(statesOf(run, ids), all(5, "done"));
  assert.equal(run.outbox.counts.transactions - before, 1);
});

test("a withdrawal does not travel beside a close that settles the same account; the close does not wait", async (t) => {
  const { run, orders } = await startWithLeases(t, 2);
  const [first, second] = orders as [OrderId, OrderId];
  const close: SendRequest = { subject: "lease 1", why: "over", message: closeBid(bidIdOn(first)), priority: "close" };
  const ids = await Promise.all([run.outbox.file(close), run.outbox.file(withdrawal(second))]);
  await run.block();
  assert.deepEqual(statesOf(run, ids), ["done", "filed"]);
  await settleAll(run);
  assert.deepEqual(statesOf(run, ids), ["done", "done"]);
  assert.equal(failedTransactions(run), 0);
});

test("a tenant who settles the account in the same block makes a withdrawal wait, not fail", async (t) => {
  const { run, orders } = await startWithLeases(t, 2, 1);
  const [first, second] = orders as [OrderId, OrderId];
  // In the pool before the withdrawal: a new lease settles what the others have earned.
  run.stage.submit(tenantKey, [createLease(bidIdOn(second))]);
  const id = await run.outbox.file(withdrawal(first));
  await run.block();
  assert.equal(failedTransactions(run), 1);
  assert.deepEqual(statesOf(run, [id]), ["filed"]);
  await settleAll(run);
  assert.deepEqual(statesOf(run, [id]), ["done"]);
});

test("a panic in a simulation means not now: tried again ever more slowly, and believed at last", async (t) => {
  const { run, orders } = await startWithLeases(t, 1);
  const [order] = orders as [OrderId];
  const panic = "recovered: couldn't find payment\nstack:\ngoroutine 1 [running]: panic with gas used: '1'";
  let panics = 3;
  run.faults.simulationError = () => (panics-- > 0 ? panic : undefined);
  const ids = [await run.outbox.file(withdrawal(order))];
  await run.blocks(9);
  assert.deepEqual(statesOf(run, ids), ["done"]);
  run.faults.simulationError = () => panic;
  const before = run.outbox.counts.simulations;
  const hopeless = await run.outbox.file(withdrawal(order));
  await run.blocks(100);
  assert.deepEqual(statesOf(run, [hopeless]), ["filed"]);
  await run.blocks(200);
  assert.deepEqual(statesOf(run, [hopeless]), ["failed"]);
  assert.equal(run.outbox.counts.simulations - before, outboxDelays + 1);
});
