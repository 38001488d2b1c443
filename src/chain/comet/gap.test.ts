import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { openPool, startEventChain } from "../../../test/support/event-chain.ts";
import { startFaultProxy } from "../../../test/support/fault-proxy.ts";
import { runs } from "../../../test/support/runs.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { createGapJudge, rpcGapTimeoutMs } from "./gap.ts";

const rejected = new ProviderError("AKP_CHAIN_CALL_REFUSED", {
  node: "a node",
  method: "block_results",
  reason: "could not find results for height #5",
});
const unread = new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", {
  node: "a node",
  method: "block_results",
  reason: "an event has no type",
});
const never = new AbortController().signal;

/** Two nodes that have every block from 1 to 100, behind wires of their own. */
async function stage(t: TestContext) {
  const chain = await startEventChain(t);
  for (let made = 0; made < 100; made += 1) chain.node.step();
  const proxies = await Promise.all([1, 2].map(() => startFaultProxy(t, () => chain.node.rpcUrl)));
  const pool = openPool(
    t,
    proxies.map(({ url }) => url),
  );
  await pool.open();
  const clock = createVirtualClock();
  return { pool, proxies, clock, judge: createGapJudge(pool, clock) };
}

test("a block is not lost because no node is there, however long that lasts", async (t) => {
  const { proxies, clock, judge } = await stage(t);
  for (const proxy of proxies) proxy.fault = () => "cut";
  for (let minutes = 0; minutes < 10; minutes += 1) {
    assert.equal(await judge.judge(5n, unread, async () => true, never), undefined);
    await clock.advance(rpcGapTimeoutMs);
  }
  for (const proxy of proxies) proxy.fault = () => undefined;
  assert.equal(await judge.judge(5n, unread, async () => true, never), undefined, "and not as soon as they are back");
});

test("a block that nodes have and cannot give is lost after a while, alone, and the next ones like it at once", async (t) => {
  const { clock, judge } = await stage(t);
  assert.equal(await judge.judge(5n, unread, async () => false, never), undefined);
  await clock.advance(rpcGapTimeoutMs);
  for (const height of [5n, 6n, 7n]) {
    assert.deepEqual(await judge.judge(height, unread, async () => false, never), { from: height, to: height });
    await clock.advance(rpcGapTimeoutMs / 10);
  }
  assert.equal(await judge.judge(9n, unread, async () => false, never), undefined, "but not after one that was read");
});

test("results that nodes threw away are lost once they had time to come back, up to the first that is there", async (t) => {
  const { clock, judge } = await stage(t);
  await fc.assert(
    fc.asyncProperty(fc.bigInt(6n, 100n), async (first) => {
      const has = async (height: bigint) => height >= first;
      assert.equal(await judge.judge(1n, rejected, has, never), undefined, "another height ends the wait");
      assert.equal(await judge.judge(5n, rejected, has, never), undefined, "too early");
      await clock.advance(rpcGapTimeoutMs);
      assert.deepEqual(await judge.judge(5n, rejected, has, never), { from: 5n, to: first - 1n });
    }),
    { numRuns: runs(5, 100) },
  );
});

test("where not even the newest results are there, one block is given up at a time", async (t) => {
  const { clock, judge } = await stage(t);
  const has = async () => false;
  await judge.judge(5n, rejected, has, never);
  await clock.advance(rpcGapTimeoutMs);
  assert.deepEqual(await judge.judge(5n, rejected, has, never), { from: 5n, to: 5n });
});

test("a block that only a node behind could have is waited for", async (t) => {
  const { proxies, clock, judge } = await stage(t);
  for (const proxy of proxies) proxy.lag = 1n;
  await judge.judge(100n, rejected, async () => false, never);
  await clock.advance(2 * rpcGapTimeoutMs);
  assert.equal(await judge.judge(100n, rejected, async () => false, never), undefined);
});
