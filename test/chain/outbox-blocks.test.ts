/** The outbox reads results of its transactions from blocks and queries nodes only where blocks were lost. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { outboxTimeoutBlocks, outboxTimeoutMs } from "../../src/chain/outbox/preparation.ts";
import { outboxPendingTxs } from "../../src/chain/outbox/sender.ts";
import { outboxSilenceFirstMs } from "../../src/chain/outbox/tracker.ts";
import { outboxProofBlocks } from "../../src/chain/tx/send.ts";
import { memoryFolder } from "../support/folder.ts";
import {
  all,
  type Faults,
  fileBids,
  noFaults,
  type OutboxRun,
  runOutbox,
  startOutbox,
  statesOf,
} from "../support/outbox-run.ts";
import { followedBlock } from "../support/stages/outbox-stage.ts";

async function untilPassed(run: OutboxRun): Promise<void> {
  await run.block(outboxTimeoutMs + 60_000);
  await run.blocks(outboxProofBlocks + 1);
}

test("bids that landed are done, whatever nodes know of their transactions", async (t) => {
  for (const fault of ["stuckIndex", "shortHistory"] as const) {
    const run = await startOutbox(t);
    run.faults[fault] = true;
    const ids = await fileBids(run, await run.stage.orders(5));
    await run.block();
    assert.deepEqual(statesOf(run, ids), all(5, "done"), fault);
    await untilPassed(run);
    assert.equal(run.outbox.counts.transactions, 1);
    assert.equal(run.outbox.state.unproven, undefined);
  }
});

test("bids that landed while the program was down are done when their block is read, although no node has an index", async (t) => {
  const before = await startOutbox(t);
  before.faults.stuckIndex = true;
  const ids = await fileBids(before, await before.stage.orders(5));
  await before.settle();
  await before.stop();
  for (let blocks = 0; blocks < 20; blocks++) await before.stage.step(20_000);
  const run = await before.restart();
  await run.settle();
  assert.deepEqual(statesOf(run, ids), all(5, "done"));
  assert.equal(run.outbox.counts.refiled, 0);
});

test("a transaction in no block up to its timeout is dead, and no node is queried", async (t) => {
  const run = await startOutbox(t);
  run.faults.shortHistory = true;
  run.faults.mishap = () => "taken, but forgotten";
  const ids = await fileBids(run, await run.stage.orders(3));
  await run.settle();
  run.faults.mishap = () => undefined;
  await run.block(outboxTimeoutMs + 1_000);
  await run.block();
  assert.deepEqual(statesOf(run, ids), all(3, "done"));
  assert.equal(run.outbox.counts.dead, 1);
  assert.equal(run.outbox.counts.transactions, 2);
});

test("where blocks were lost nodes are queried, also after a restart", async (t) => {
  const before = await startOutbox(t);
  const ids = await fileBids(before, await before.stage.orders(3));
  await before.settle();
  before.faults.blocks = "lost";
  before.faults.shortHistory = true;
  await before.block();
  before.faults.blocks = "followed";
  const run = await before.restart();
  await untilPassed(run);
  assert.deepEqual(statesOf(run, ids), all(3, "sent"), "the block that holds them is the one that was lost");
  assert.equal(run.outbox.state.unproven?.code, "AKP_TX_UNPROVEN");
  run.faults.shortHistory = false;
  await run.block();
  assert.deepEqual(statesOf(run, ids), all(3, "done"));
  assert.equal(run.outbox.counts.refiled, 0);
});

test("blocks before the first that was followed prove nothing, wherever the cursor begins later", async (t) => {
  const { clock, stage, stop } = await startOutbox(t);
  await stop();
  const faults = { ...noFaults(), blocks: "unfollowed" as Faults["blocks"] };
  const before = await runOutbox(t, { clock, stage, faults }, { dir: memoryFolder(t) });
  const ids = await fileBids(before, await stage.orders(3));
  await before.settle();
  await before.stop();
  await stage.step();
  faults.blocks = "followed";
  faults.shortHistory = true;
  const run = await before.restart();
  await untilPassed(run);
  assert.deepEqual(statesOf(run, ids), all(3, "sent"));
  faults.shortHistory = false;
  await run.block();
  assert.deepEqual(statesOf(run, ids), all(3, "done"));
});

test("a block that waits because another program holds the journal is shown, and worked through afterwards", async (t) => {
  const run = await startOutbox(t);
  const ids = await fileBids(run, await run.stage.orders(2));
  await run.settle();
  const other = new DatabaseSync(join(run.dir, "journal.db"));
  t.after(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  const handedOver = run.outbox.onStep({ block: followedBlock(await run.stage.step()) });
  await run.clock.settle();
  assert.match(run.outbox.state.silent ?? "", /another program holds it locked/);
  other.exec("ROLLBACK");
  await run.clock.advance(outboxSilenceFirstMs);
  await handedOver;
  assert.deepEqual(statesOf(run, ids), all(2, "done"));
  assert.equal(run.outbox.state.silent, undefined);
});

test("a stall passes although a transaction stays unproven", async (t) => {
  const run = await startOutbox(t);
  const [first, ...orders] = await run.stage.orders(4);
  assert.ok(first);
  const [unproven] = await fileBids(run, [first]);
  await run.settle();
  run.faults.shortHistory = true;
  run.faults.blocks = "lost";
  await untilPassed(run);
  run.faults.blocks = "followed";
  assert.equal(run.outbox.state.unproven?.code, "AKP_TX_UNPROVEN");
  run.faults.simulationError = () =>
    "spendable balance 1uakt is smaller than 2uakt: insufficient funds with gas used: '1'";
  const ids = await fileBids(run, orders);
  await run.block();
  assert.equal(run.outbox.state.stalled?.code, "AKP_WALLET_SHORT");
  run.faults.simulationError = () => undefined;
  await run.blocks(3, 30_000);
  assert.deepEqual(statesOf(run, [unproven as number, ...ids]), ["sent", ...all(3, "done")]);
});

for (const ordering of ["unordered", "ordered"] as const) {
  test(`as many unproven transactions as may be under way do not stop the others, ${ordering}`, async (t) => {
    const run = await startOutbox(t, {
      stage: { genesis: { unordered: ordering === "unordered" } },
    });
    const most = ordering === "unordered" ? outboxPendingTxs : 1;
    const orders = await run.stage.orders(most + 2);
    run.faults.shortHistory = true;
    run.faults.blocks = "lost";
    run.faults.mishap = () => "taken, but forgotten";
    const lost: number[] = [];
    for (const order of orders.slice(0, most)) {
      lost.push(...(await fileBids(run, [order])));
      await run.settle();
    }
    assert.equal(run.outbox.counts.inFlight, most);
    await untilPassed(run);
    await run.blocks(outboxTimeoutBlocks);
    run.faults.mishap = () => undefined;
    run.faults.blocks = "followed";
    const ids = await fileBids(run, orders.slice(most));
    await run.blocks(2);
    assert.deepEqual(statesOf(run, ids), all(2, "done"));
    assert.deepEqual(statesOf(run, lost), all(most, "sent"));
  });
}
