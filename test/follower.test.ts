/** The follower against an embedded node: what it hands over is the chain's own list, whatever happens in between. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProviderError } from "../src/runtime/errors.ts";
import { follow, openPool, startEventChain } from "./event-chain.ts";
import { eventually } from "./eventually.ts";

test("blocks that were made before and while we follow are handed over in order, with all their events", async (t) => {
  const chain = await startEventChain(t, { perBlock: 3 });
  for (let made = 0; made < 40; made += 1) await chain.block(2, 0, 1);
  const pool = openPool(t, [chain.node.rpcUrl]);
  await pool.open();
  const following = await follow(t, pool);
  await eventually("the past", () => following.follower.height === 40n);
  for (let made = 0; made < 5; made += 1) await chain.block(1);
  await eventually("the present", () => following.follower.height === 45n);
  assert.deepEqual(following.seen, chain.app.told);
  assert.deepEqual(
    following.heights,
    Array.from({ length: 45 }, (_, index) => BigInt(index + 1)),
  );
  assert.equal(following.follower.counts.events, chain.app.told.length);
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
          throw new ProviderError("AKP_CHAIN_UNREACHABLE", { endpoint: "a node", reason: "gone" });
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
