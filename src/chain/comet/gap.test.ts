import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { openPool, startEventChain } from "../../../test/event-chain.ts";
import { startFaultProxy } from "../../../test/fault-proxy.ts";
import { runs } from "../../../test/runs.ts";
import { createVirtualClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import { createGapJudge } from "./gap.ts";

const refused = new ProviderError("AKP_CHAIN_CALL_REFUSED", {
  endpoint: "a node",
  method: "block_results",
  reason: "could not find results for height #5",
});
const dead = new ProviderError("AKP_CHAIN_UNREACHABLE", { endpoint: "a node", reason: "gone" });
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

test("a block is not lost because nodes fail, however long they do", async (t) => {
  const { clock, judge } = await stage(t);
  assert.equal(await judge.judge(5n, dead, async () => true, never), undefined);
  await clock.advance(10 * limits.rpcGapPatienceMs);
  assert.equal(await judge.judge(5n, dead, async () => true, never), undefined);
});

test("results that nodes threw away are lost once they had time to come back, up to the first that is there", async (t) => {
  const { clock, judge } = await stage(t);
  await fc.assert(
    fc.asyncProperty(fc.bigInt(6n, 100n), async (first) => {
      const has = async (height: bigint) => height >= first;
      assert.equal(await judge.judge(1n, refused, has, never), undefined, "another height ends the wait");
      assert.equal(await judge.judge(5n, refused, has, never), undefined, "too early");
      await clock.advance(limits.rpcGapPatienceMs);
      assert.deepEqual(await judge.judge(5n, refused, has, never), { from: 5n, to: first - 1n });
    }),
    { numRuns: runs(5, 100) },
  );
});

test("where not even the newest results are there, one block is given up at a time", async (t) => {
  const { clock, judge } = await stage(t);
  const has = async () => false;
  await judge.judge(5n, refused, has, never);
  await clock.advance(limits.rpcGapPatienceMs);
  assert.deepEqual(await judge.judge(5n, refused, has, never), { from: 5n, to: 5n });
});

test("a block that only a node behind could have is waited for", async (t) => {
  const { proxies, clock, judge } = await stage(t);
  for (const proxy of proxies) proxy.lag = 1n;
  await judge.judge(100n, refused, async () => false, never);
  await clock.advance(2 * limits.rpcGapPatienceMs);
  assert.equal(await judge.judge(100n, refused, async () => false, never), undefined);
});
