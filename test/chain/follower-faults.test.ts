/** Nodes and wires that go wrong between the chain and the follower. What is handed over is still the chain's own list. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createNode } from "../../src/box/chain/node/node.ts";
import { createPool } from "../../src/chain/comet/pool.ts";
import { type Log, silentLog } from "../../src/runtime/log.ts";
import { createEventApp } from "../support/event-app.ts";
import { follow, openPool, startEventChain } from "../support/event-chain.ts";
import { eventually } from "../support/eventually.ts";
import { playSeeds } from "../support/failed-cases.ts";
import { chaos, startFaultProxy } from "../support/fault-proxy.ts";
import { faultTransport } from "../support/fault-transport.ts";
import { createOwner } from "../support/owner.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { counts, quickTest, seeds } from "../support/thorough.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

test("calls that are cut, cut off, garbled, rejected or answered with a web page cost no event", async () => {
  await playSeeds("follower-faults", seeds(counts(2, 6, 60)), async (seed) => {
    await using owner = createOwner();
    const random = createSeededRandom(seed);
    const chain = await startEventChain(owner, { perBlock: 2 });
    const proxies = await Promise.all([1, 2].map(() => startFaultProxy(owner, () => chain.node.rpcUrl)));
    for (const proxy of proxies) {
      proxy.fault = chaos(random, 0.2, ["cut", "cut off", "html", "error", "wrong id"]);
    }
    const pool = openPool(
      owner,
      proxies.map(({ url }) => url),
      chain.node.chainId,
    );
    const following = await follow(owner, pool);
    for (let made = 0; made < 20; made += 1) await chain.block(1 + random.int(3));
    await eventually("the head", () => following.follower.height === chain.node.height);
    assert.deepEqual(following.seen, chain.app.orderIds);
    assert.deepEqual(following.gaps, []);
  });
});

/** Two ways to the same node, and the follower on one of them. */
async function twoNodes(t: TestContext, blockMs: number) {
  const clock = createVirtualClock();
  const app = createEventApp({ perBlock: 1 });
  const node = createNode({ app, clock, log: silentLog, indexMs: 0, blockMs, listens: false });
  await node.start();
  const transports = ["one", "two"].map((name) => faultTransport(node.transport(name)));
  const pool = createPool({ nodes: transports, clock, random: createSeededRandom(1), log: silentLog });
  await pool.open();
  const following = await follow(t, pool, { clock });
  t.after(() => pool.close());
  t.after(() => node.stop());
  const { follower } = following;
  // Until it has measured the block time it looks seldom.
  const hurry = node.onBlock(() => follower.wake());
  await clock.advanceUntil(() => follower.height >= 2n);
  hurry();
  const inUse = transports.find(({ name }) => name === pool.preferred.name);
  assert.ok(inUse);
  return { clock, app, node, pool, inUse, ...following };
}

quickTest("a node that takes calls and never answers is left within three block times", async (t) => {
  const blockMs = 1_000;
  const { clock, app, pool, inUse, follower, seen } = await twoNodes(t, blockMs);
  const before = follower.height;
  const sinceMs = clock.now();
  inUse.hangs = () => true;
  await clock.advanceUntil(() => follower.height > before);
  const tookMs = clock.now() - sinceMs;
  assert.ok(tookMs < 3 * blockMs, `it took ${tookMs} ms`);
  assert.notEqual(pool.preferred.name, inUse.name);
  assert.deepEqual(seen, app.orderIds.slice(0, seen.length));
});

quickTest("a node whose height stands still for three block times is exchanged for one that goes on", async (t) => {
  const blockMs = 200;
  const { clock, app, node, pool, inUse, follower, seen } = await twoNodes(t, blockMs);
  const frozenAt = node.height;
  inUse.frozenAt = frozenAt;
  const sinceMs = clock.now();
  await clock.advanceUntil(() => follower.height > frozenAt);
  const tookMs = clock.now() - sinceMs;
  assert.ok(tookMs < 10 * blockMs, `it took ${tookMs} ms`);
  assert.ok(follower.counts.standStills > 0);
  assert.notEqual(pool.preferred.name, inUse.name);
  assert.deepEqual(seen, app.orderIds.slice(0, seen.length));
});

quickTest("a chain that makes no blocks is logged once, and again when it stops again", async (t) => {
  const chain = await startEventChain(t);
  for (let made = 0; made < 3; made += 1) await chain.block();
  const pool = openPool(t, [chain.node.rpcUrl]);
  await pool.open();
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => void warnings.push(message) };
  const { follower } = await follow(t, pool, { log });
  await eventually("a long halt", () => follower.counts.standStills >= 3);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /no new block/);
  const before = follower.counts.standStills;
  await chain.block();
  await eventually("the next halt", () => follower.height === 4n && follower.counts.standStills >= before + 2);
  assert.equal(warnings.length, 2);
});

quickTest("a node three blocks behind is not used, and one that catches up is used again", async (t) => {
  const chain = await startEventChain(t, { perBlock: 1 });
  const [slow, good] = await Promise.all([1, 2].map(() => startFaultProxy(t, () => chain.node.rpcUrl)));
  assert.ok(slow && good);
  for (let made = 0; made < 10; made += 1) await chain.block();
  slow.lag = 3n;
  const pool = openPool(t, [slow.url, good.url]);
  await pool.open();
  assert.deepEqual(
    pool.nodes.map(({ condition, lag }) => [condition, lag]),
    [
      ["behind", 3n],
      ["good", 0n],
    ],
  );
  const following = await follow(t, pool);
  await eventually("the head", () => following.follower.height === 10n);
  assert.equal(slow.passed.get("block_results"), undefined);
  assert.deepEqual(following.seen, chain.app.orderIds);
  slow.lag = 2n;
  await pool.probe();
  assert.equal(pool.nodes[0]?.condition, "good");
});

quickTest("a node of another chain is never used", async (t) => {
  const chain = await startEventChain(t, { perBlock: 1 });
  const other = await startEventChain(t, { perBlock: 5, chainId: "other-1" });
  for (let made = 0; made < 5; made += 1) await chain.block();
  for (let made = 0; made < 50; made += 1) await other.block();
  const proxy = await startFaultProxy(t, () => other.node.rpcUrl);
  const pool = openPool(t, [proxy.url, chain.node.rpcUrl], "events-1");
  await pool.open();
  const following = await follow(t, pool);
  await eventually("the head", () => following.follower.height === 5n);
  assert.deepEqual(following.seen, chain.app.orderIds);
  assert.deepEqual([...proxy.passed.keys()], ["status"]);
  assert.equal(pool.nodes[0]?.condition, "other chain");
  assert.match(pool.nodes[0]?.error ?? "", /other-1/);
});

quickTest("a block of 5,000 events comes whole", async (t) => {
  const chain = await startEventChain(t);
  await chain.block(1, 5_000, 1);
  const pool = openPool(t, [chain.node.rpcUrl]);
  await pool.open();
  const following = await follow(t, pool);
  await eventually("the block", () => following.follower.height === 1n);
  assert.equal(following.seen.length, 5_002);
  assert.deepEqual(following.seen, chain.app.orderIds);
});

quickTest(
  "a node that cannot give a block's results is passed over for that, and nothing is called lost",
  async (t) => {
    const chain = await startEventChain(t, { perBlock: 1 });
    const [poor, good] = await Promise.all([1, 2].map(() => startFaultProxy(t, () => chain.node.rpcUrl)));
    assert.ok(poor && good);
    poor.fault = (method) => (method === "block_results" ? "error" : undefined);
    for (let made = 0; made < 10; made += 1) await chain.block();
    const pool = openPool(t, [poor.url, good.url]);
    await pool.open();
    const following = await follow(t, pool);
    await eventually("the head", () => following.follower.height === 10n);
    assert.deepEqual(following.seen, chain.app.orderIds);
    assert.deepEqual(following.gaps, []);
  },
);

quickTest("results that the only node rejects for a while are waited for", async (t) => {
  const chain = await startEventChain(t, { perBlock: 1 });
  const proxy = await startFaultProxy(t, () => chain.node.rpcUrl);
  let rejections = 0;
  proxy.fault = (method) => {
    if (method !== "block_results" || rejections >= 3) return undefined;
    rejections += 1;
    return "error";
  };
  for (let made = 0; made < 3; made += 1) await chain.block();
  const pool = openPool(t, [proxy.url]);
  await pool.open();
  const following = await follow(t, pool);
  await eventually("the head", () => following.follower.height === 3n);
  assert.deepEqual(following.seen, chain.app.orderIds);
  assert.deepEqual(following.gaps, []);
  assert.ok(following.follower.counts.retries > 0);
});

quickTest("a height that is announced before its results can be read causes no warning", async (t) => {
  const chain = await startEventChain(t, { perBlock: 1 });
  const proxies = await Promise.all([1, 2].map(() => startFaultProxy(t, () => chain.node.rpcUrl)));
  let early = 0;
  for (const proxy of proxies) {
    proxy.rewrite = (method, answer, { height }) => {
      if (method !== "block_results" || height !== "3" || early >= 6) return answer;
      early += 1;
      const { id } = JSON.parse(answer);
      const error = { code: -32603, message: "Internal error", data: "could not find results for height #3" };
      return JSON.stringify({ jsonrpc: "2.0", id, error });
    };
  }
  for (let made = 0; made < 3; made += 1) await chain.block();
  const pool = openPool(
    t,
    proxies.map(({ url }) => url),
  );
  await pool.open();
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => void warnings.push(message) };
  const { follower, seen } = await follow(t, pool, { log });
  let troubled = false;
  await eventually("the head", () => {
    troubled ||= follower.reason !== undefined;
    return follower.height === 3n;
  });
  assert.equal(early, 6);
  assert.deepEqual(seen, chain.app.orderIds);
  assert.deepEqual([warnings, troubled, follower.counts.retries], [[], false, 0]);
  assert.deepEqual(
    pool.nodes.map(({ condition }) => condition),
    ["good", "good"],
  );
});

quickTest("blocks that no node has any more are reported as a gap, and the rest is followed", async (t) => {
  const chain = await startEventChain(t, { perBlock: 1, keepBlocks: 10 });
  for (let made = 0; made < 50; made += 1) await chain.block();
  const pool = openPool(t, [chain.node.rpcUrl]);
  await pool.open();
  const following = await follow(t, pool);
  await eventually("the head", () => following.follower.height === 50n);
  assert.deepEqual(following.gaps, [{ from: 1n, to: 40n }]);
  assert.deepEqual(following.seen, chain.app.orderIds.slice(40));
});
