/** Nodes that take transactions and never bring them into a block. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { outboxRebroadcastBlocks } from "../../src/chain/outbox/pending-txs.ts";
import { outboxTimeoutMs } from "../../src/chain/outbox/preparation.ts";
import { type Log, silentLog } from "../../src/runtime/log.ts";
import { all, fileBids, startOutbox, statesOf } from "../support/outbox-run.ts";

test("a node that keeps transactions to itself costs a few blocks, since the others are offered them too", async (t) => {
  const run = await startOutbox(t);
  run.faults.mishap = (reach) => (reach === "one" ? "taken, but forgotten" : undefined);
  const ids = await fileBids(run, await run.stage.orders(3));
  await run.blocks(outboxRebroadcastBlocks + 1);
  assert.deepEqual(statesOf(run, ids), all(3, "done"));
  assert.equal(run.outbox.counts.transactions, 1);
});

test("each dead transaction is logged, and the second in a row is a condition until one lands", async (t) => {
  const lines: unknown[] = [];
  const error: Log["error"] = (line, fields) => void lines.push([line, fields?.["reason"]]);
  const log: Log = { ...silentLog, error, with: () => log };
  const run = await startOutbox(t, { outbox: { log } });
  const stalled = () => run.outbox.state.stalled;
  const died = ["transaction never came into a block", undefined];
  run.faults.mishap = () => "taken, but forgotten";
  const orders = await run.stage.orders(150);
  const ids = await fileBids(run, orders.slice(0, 2));
  await run.settle();
  await run.block(outboxTimeoutMs + 1_000);
  assert.deepEqual(lines, [died]);
  assert.equal(stalled(), undefined, "once may be bad luck");
  await run.block(outboxTimeoutMs + 1_000);
  assert.equal(stalled()?.code, "AKP_TX_SWALLOWED");
  assert.match(stalled()?.advice ?? "", /--gas-prices.*--node/);
  assert.deepEqual(lines, [died, died, ["transactions stalled", stalled()?.message]]);
  const more = await fileBids(run, orders.slice(2));
  await run.settle();
  assert.equal(run.outbox.counts.inFlight, 1, "one at a time is enough to find out");
  assert.equal(stalled()?.code, "AKP_TX_SWALLOWED", "that a node takes it means nothing");
  run.faults.mishap = () => undefined;
  await run.blocks(4);
  assert.equal(stalled(), undefined);
  assert.deepEqual(statesOf(run, [...ids, ...more]), all(150, "done"));
});

test("what never reached a node was not swallowed", async (t) => {
  const run = await startOutbox(t);
  run.faults.mishap = () => "lost on the way";
  const ids = await fileBids(run, await run.stage.orders(2));
  await run.settle();
  await run.blocks(3, outboxTimeoutMs + 1_000);
  assert.ok(run.outbox.counts.dead >= 2);
  assert.equal(run.outbox.state.stalled, undefined);
  run.faults.mishap = () => undefined;
  await run.blocks(3);
  assert.deepEqual(statesOf(run, ids), all(2, "done"));
});
