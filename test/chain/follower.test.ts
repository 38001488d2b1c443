/** The follower against an embedded node: what it hands over is the chain's own list, whatever happens in between. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BlockTx } from "../../src/chain/block.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { follow, openPool, startEventChain } from "../support/event-chain.ts";
import { eventually } from "../support/eventually.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";

test("blocks that were made before and while we follow are handed over in order, with all their events", async (t) => {
  const chain = await startEventChain(t, { perBlock: 3 });
  for (let made = 0; made < 40; made += 1) await chain.block(2, 0, 1);
  const pool = openPool(t, [chain.node.rpcUrl]);
  await pool.open();
  const following = await follow(t, pool);
  await eventually("the past", () => following.follower.height === 40n);
  for (let made = 0; made < 5; made += 1) await chain.block(1);
  await eventually("the present", () => following.follower.height === 45n);
  assert.deepEqual(following.seen, chain.app.orderIds);
  assert.deepEqual(
    following.heights,
    Array.from({ length: 45 }, (_, index) => BigInt(index + 1)),
  );
  assert.equal(following.follower.counts.events, chain.app.orderIds.length);
  assert.equal(following.follower.counts.otherEvents, 40 * 3 + 5);
});

test("a block that the consumer could not take because of the chain comes again, and the cursor waits", async (t) => {
  const chain = await startEventChain(t);
  for (let made = 0; made < 3; made += 1) await chain.block(1);
  const pool = openPool(t, [chain.node.rpcUrl]);
  await pool.open();
  let failures = 2;
  const following = await follow(t, pool, {
    consumer: {
      async block({ height }) {
        if (height === 2n && failures-- > 0) {
          throw new ProviderError("AKP_CHAIN_UNREACHABLE", { node: "a node", reason: "gone" });
        }
        return undefined;
      },
    },
  });
  await eventually("the head", () => following.follower.height === 3n);
  assert.deepEqual(following.heights, [1n, 2n, 2n, 2n, 3n]);
  assert.equal(following.follower.counts.blocks, 3);
  assert.deepEqual(following.gaps, []);
});

test("a consumer that fails for reasons of its own ends the following before the cursor has moved", async (t) => {
  const chain = await startEventChain(t);
  for (let made = 0; made < 3; made += 1) await chain.block(1);
  const pool = openPool(t, [chain.node.rpcUrl]);
  await pool.open();
  const following = await follow(t, pool, {
    consumer: {
      async block({ height }) {
        if (height === 2n) throw new Error("out of its depth");
        return undefined;
      },
    },
  });
  await assert.rejects(following.ended, /out of its depth/);
  assert.equal(following.journal.read.cursor.get(chain.node.chainId), 1n);
});

test("a chain never followed begins at the height given, and that is where a second start goes on", async (t) => {
  const chain = await startEventChain(t);
  for (let made = 0; made < 5; made += 1) await chain.block(1);
  const pool = openPool(t, [chain.node.rpcUrl]);
  await pool.open();
  const following = await follow(t, pool, { start: 5n });
  await eventually("the beginning", () => following.journal.read.cursor.get(chain.node.chainId) === 5n);
  await chain.block(1);
  following.follower.wake();
  await eventually("the next block", () => following.follower.height === 6n);
  assert.deepEqual(following.heights, [6n]);
});

test("a block carries its transactions under the hashes that the node knows them by, with what came of them", async (t) => {
  const chain = await startEventChain(t, { perBlock: 1 });
  await chain.block();
  await chain.block(1, 3);
  const pool = openPool(t, [chain.node.rpcUrl]);
  await pool.open();
  const txs = new Map<bigint, readonly BlockTx[]>();
  const following = await follow(t, pool, {
    consumer: {
      async block(block) {
        txs.set(block.height, block.txs);
        return undefined;
      },
    },
  });
  await eventually("the head", () => following.follower.height === 2n);
  assert.deepEqual(txs.get(1n), []);
  const own = txs.get(2n) ?? [];
  // Each has the application's plain event in front of the orders that it makes.
  assert.deepEqual(
    own.map(({ code, gasUsed, events }) => [code, gasUsed, events.length]),
    [
      [0, 0n, 2],
      [0, 0n, 4],
    ],
  );
  for (const { hash } of own) {
    const params = { hash: Buffer.from(hash, "hex").toString("base64") };
    const { result } = await pool.call("tx", params, (found) => found as { readonly hash: string });
    assert.equal(result.hash, hash);
  }
});

test("a block whose transactions are not those of its results is not handed over", async (t) => {
  const chain = await startEventChain(t, { perBlock: 1 });
  const proxy = await startFaultProxy(t, () => chain.node.rpcUrl);
  let wrong = true;
  proxy.rewrite = (method, answer) =>
    wrong && method === "block" ? answer.replace(/"txs":\[[^\]]*\]/, `"txs":["AA==","AQ=="]`) : answer;
  await chain.block(2);
  const pool = openPool(t, [proxy.url]);
  await pool.open();
  const { follower, heights } = await follow(t, pool);
  await eventually("trouble", () => follower.reason !== undefined);
  assert.match(follower.reason ?? "", /2 transactions and 1 results/);
  assert.deepEqual(heights, []);
  wrong = false;
  follower.wake();
  await eventually("the head", () => follower.height === 1n);
});
