import assert from "node:assert/strict";
import { test } from "node:test";
import { startNode, wordsBase64 } from "../../../../test/support/embedded-node.ts";
import { createFakeApp } from "../../../../test/support/fake-app.ts";
import { createBlockStore } from "./block-store.ts";
import { makeBlock } from "./blocks.ts";
import { createValidator } from "./validator.ts";

test("only the newest blocks are kept, and the others are rejected with the lowest height", async (t) => {
  const node = await startNode(t, { keepBlocks: 3 });
  for (let made = 0; made < 5; made++) node.step();
  const { sync_info } = await node.call("status");
  assert.equal(sync_info.earliest_block_height, "3");
  assert.equal(sync_info.latest_block_height, "5");
  assert.equal((await node.call("block", { height: "3" })).block.header.height, "3");
  for (const method of ["block", "block_results", "commit", "header", "validators", "consensus_params"]) {
    await assert.rejects(node.call(method, { height: "2" }), /^Error: height 2 is not available, lowest height is 3$/);
    await assert.rejects(
      node.call(method, { height: "7" }),
      /^Error: height 7 must be less than or equal to the current blockchain height [56]$/,
    );
    await assert.rejects(node.call(method, { height: "0" }), /^Error: height must be greater than 0, but got 0$/);
    await assert.rejects(node.call(method, { height: "-1" }), /^Error: height must be greater than 0, but got -1$/);
  }
});

test("large blocks are kept in smaller number, the latest always", () => {
  const app = createFakeApp();
  const store = createBlockStore(100, 10_000);
  const add = (words: string) => {
    const input = { height: app.height + 1n, timeNs: app.height + 1n, txs: [Buffer.from(words)] };
    store.add(makeBlock(app, createValidator(app.chainId), store.latest, input));
    return [...store.all()].length;
  };
  for (let blocks = 0; blocks < 50; blocks++) add(`small ${blocks}`);
  const small = [...store.all()].length;
  assert.ok(small > 5 && small < 50, `${small} blocks are kept`);
  assert.ok(add("x".repeat(5_000)) < small);
  assert.equal(add("x".repeat(50_000)), 1);
  assert.equal(add("small again"), 1);
  assert.equal(store.lowest, store.height);
});

test("before the first block there is nothing to show, and the node says so", async (t) => {
  const node = await startNode(t);
  const { sync_info } = await node.call("status");
  assert.equal(sync_info.latest_block_height, "0");
  assert.equal(sync_info.latest_block_time, "1970-01-01T00:00:00Z");
  await assert.rejects(node.call("block"), /there is no block yet/);
  await assert.rejects(node.call("block", { height: "1" }), /must be less than or equal to the current .* height 0$/);
  assert.deepEqual(await node.call("abci_info").then(({ response }) => Object.keys(response)), [
    "data",
    "last_block_app_hash",
  ]);
});

test("a transaction that was tried twice is found where it ended", async (t) => {
  const node = await startNode(t, { keepBlocks: 3 });
  const tx = wordsBase64("fail once");
  for (let tries = 0; tries < 2; tries++) {
    await node.call("broadcast_tx_sync", { tx });
    node.step();
  }
  const { txs, total_count } = await node.call("tx_search", { query: "tx.height>0" });
  assert.equal(total_count, "1");
  assert.equal(txs[0].height, "2");
});

test("transactions are forgotten with their block", async (t) => {
  const node = await startNode(t, { keepBlocks: 2 });
  const { hash } = await node.call("broadcast_tx_sync", { tx: wordsBase64("one") });
  const params = { hash: Buffer.from(hash, "hex").toString("base64") };
  node.step();
  node.step();
  assert.equal((await node.call("tx", params)).height, "1");
  node.step();
  await assert.rejects(node.call("tx", params), new RegExp(`tx \\(${hash}\\) not found`));
});
