import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { StargateClient } from "@cosmjs/stargate";
import { startNode, wordsBase64 } from "../../../../test/support/embedded-node.ts";
import { createFakeApp } from "../../../../test/support/fake-app.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { realClock } from "../../../runtime/clock.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { silentLog } from "../../../runtime/log.ts";
import { createNode } from "./node.ts";

const nsPerMs = 1_000_000n;

test("with the clock a first block is made at once and the others on time", async (t) => {
  const clock = createVirtualClock();
  const startMs = clock.now();
  const node = await startNode(t, { clock, blockMs: 6_000, socketClock: realClock });
  const times: bigint[] = [];
  node.onBlock(({ header }) => times.push(header.timeNs));
  assert.equal(node.height, 1n);
  await clock.advance(5_999);
  assert.equal(node.height, 1n);
  await clock.advance(12_001);
  assert.deepEqual(
    times,
    [6_000, 12_000, 18_000].map((ms) => BigInt(startMs + ms) * nsPerMs),
  );
});

test("after a pause no blocks are made up for", async (t) => {
  let nowMs = 1_000;
  let fire: (() => void) | undefined;
  const clock = {
    ...realClock,
    now: () => nowMs,
    monotonicMs: () => nowMs,
    timer: (_: number, call: () => void) => {
      fire = call;
      return { cancel: () => undefined };
    },
  };
  const node = await startNode(t, { clock, blockMs: 1_000, socketClock: realClock });
  nowMs += 60_000;
  fire?.();
  assert.equal(node.height, 2n);
});

test("time goes on from block to block, also when the clock stands still or is set back", async (t) => {
  const clock = createVirtualClock();
  const node = await startNode(t, { clock });
  const genesisNs = BigInt(clock.now()) * nsPerMs;
  const times = [node.step(), node.step()].map(({ header }) => header.timeNs);
  clock.jump(-3_600_000);
  times.push(node.step().header.timeNs);
  assert.deepEqual(times, [genesisNs + nsPerMs, genesisNs + 2n * nsPerMs, genesisNs + 3n * nsPerMs]);
  clock.jump(7_200_000);
  assert.equal(node.step().header.timeNs, BigInt(clock.now()) * nsPerMs);
});

test("a chain with an initial height answers queries from that height on", async (t) => {
  const node = await startNode(t, { genesis: { initialHeight: 1_000n, timeNs: 5n, state: { hello: "world" } } });
  assert.equal(node.step().header.height, 1_000n);
  assert.equal(node.step().header.height, 1_001n);
  assert.equal((await node.call("status")).sync_info.earliest_block_height, "1000");
  assert.equal((await node.call("genesis")).genesis.initial_height, "1000");
  await assert.rejects(node.call("block", { height: "5" }), /height 5 is not available, lowest height is 1000/);
});

test("without a block clock, step makes a block and returns it", async (t) => {
  const node = await startNode(t);
  await node.call("broadcast_tx_sync", { tx: wordsBase64("one") });
  const block = node.step();
  assert.equal(block.header.height, 1n);
  assert.equal(block.output.txResults[0]?.code, 0);
  assert.equal(block.id.hash, (await node.call("block")).block_id.hash);
});

test("an application that breaks stops the chain: no more blocks, and waiters receive the error", async (t) => {
  const clock = createVirtualClock();
  const node = await startNode(t, { clock, blockMs: 1_000, socketClock: realClock });
  await node.call("broadcast_tx_sync", { tx: wordsBase64("panic now") });
  const failed = assert.rejects(node.failed, /the application lost its footing/);
  await clock.advance(10_000);
  await failed;
  assert.equal(node.height, 1n);
  assert.throws(() => node.step(), /the application lost its footing/);
  assert.equal(clock.pendingTimers, 0);
  assert.equal((await node.call("status")).sync_info.latest_block_height, "1", "it still answers queries");
});

test("a port that is taken is reported with its address, and nothing is left behind", async (t) => {
  const taken = createServer();
  t.after(() => void taken.close());
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as { port: number };
  const clock = createVirtualClock();
  const node = createNode({ app: createFakeApp(), clock, log: silentLog, grpcPort: port, blockMs: 1_000 });
  await assert.rejects(node.start(), (thrown) => {
    assert.ok(ProviderError.is(thrown, "AKP_LISTEN_FAILED"));
    assert.match(thrown.message, new RegExp(`127\\.0\\.0\\.1:${port}: .*EADDRINUSE`));
    return true;
  });
  await node.stop();
  assert.equal(clock.pendingTimers, 0);
  await assert.rejects(fetch(node.rpcUrl));
});

test("a node can be stopped twice, and before it started", async () => {
  const node = createNode({ app: createFakeApp(), clock: realClock, log: silentLog });
  await node.stop();
  const other = createNode({ app: createFakeApp(), clock: realClock, log: silentLog });
  await other.start();
  await other.stop();
  await other.stop();
});

test("a third-party client finds chain id, height and blocks", async (t) => {
  const node = await startNode(t);
  await node.call("broadcast_tx_sync", { tx: wordsBase64("one") });
  node.step();
  node.step();
  const client = await StargateClient.connect(node.rpcUrl);
  t.after(() => client.disconnect());
  assert.equal(await client.getChainId(), "test-1");
  assert.equal(await client.getHeight(), 2);
  const block = await client.getBlock(1);
  assert.equal(block.id, (await node.call("block", { height: "1" })).block_id.hash);
  assert.deepEqual(
    block.txs.map((tx) => Buffer.from(tx).toString()),
    ["one"],
  );
  assert.equal((await client.getBlock()).header.height, 2);
});
