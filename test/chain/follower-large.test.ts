/** Blocks of many megabytes, from a node in another process: what is measured here is ours alone. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Report } from "../../bench/event-node.ts";
import { nextMessage, startChild } from "../../bench/processes.ts";
import { follow, openPool } from "../support/event-chain.ts";
import { eventually } from "../support/eventually.ts";

async function startLargeNode(t: TestContext, blocks: number, eventsPerBlock: number): Promise<string> {
  const node = startChild(t, "event-node.ts", `${blocks}`, `${eventsPerBlock}`);
  return (await nextMessage<Report, "ready">(node, "ready")).rpcUrl;
}

/** What this thread worked in all, and at most between two turns of the event loop; what other programs take does not count. */
function watchLoop(): () => { wholeMs: number; longestMs: number } {
  let [wholeMs, longestMs] = [0, 0];
  let last = process.threadCpuUsage();
  let watching = true;
  const turn = () => {
    const now = process.threadCpuUsage();
    const tookMs = (now.user + now.system - last.user - last.system) / 1_000;
    wholeMs += tookMs;
    longestMs = Math.max(longestMs, tookMs);
    last = now;
    if (watching) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    watching = false;
    return { wholeMs, longestMs };
  };
}

test("blocks of 10 MB are read a little at a time", async (t) => {
  const [blocks, eventsPerBlock] = [2, 40_000];
  const pool = openPool(t, [await startLargeNode(t, blocks, eventsPerBlock)]);
  await pool.open();
  const worked = watchLoop();
  const { follower, gaps } = await follow(t, pool);
  await eventually("the head", () => follower.height === BigInt(blocks));
  const { wholeMs, longestMs } = worked();
  t.diagnostic(`${longestMs} ms at most, of ${wholeMs}`);
  // How quick a machine is and what else it does changes both. Read in one go, a block is half of the whole.
  assert.ok(longestMs < wholeMs / 8, `${longestMs} of ${wholeMs} ms`);
  assert.equal(follower.counts.events, blocks * eventsPerBlock);
  assert.deepEqual(gaps, []);
});
