import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { GetTxRequest } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { startNode, wordsBase64 } from "../../../../test/support/embedded-node.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../../test/support/folder.ts";
import { openGrpcClient } from "../../../../test/support/grpc-client.ts";
import type { Owner } from "../../../../test/support/owner.ts";
import { openRpcSocket } from "../../../../test/support/rpc-socket.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { realClock } from "../../../runtime/clock.ts";
import { chainIndexMs } from "./node.ts";

async function startOnTime(owner: Owner, file?: string) {
  const clock = createVirtualClock();
  const options = { clock, socketClock: realClock, indexMs: chainIndexMs, ...(file !== undefined && { file }) };
  const node = await startNode(owner, options);
  const { call: grpc } = openGrpcClient(owner, node.grpcUrl);
  /** How many ways of looking find the transaction. */
  async function findings(hash: string): Promise<number> {
    const params = { hash: Buffer.from(hash, "hex").toString("base64") };
    const found = [
      await node.call("tx", params).then(
        () => true,
        () => false,
      ),
      (await node.call("tx_search", { query: `tx.hash='${hash}'` })).total_count === "1",
      (await grpc("/cosmos.tx.v1beta1.Service/GetTx", GetTxRequest.encode({ hash }).finish())).status === 0,
    ];
    return found.filter((each) => each).length;
  }
  return { node, clock, findings };
}

test("a transaction is in its block and published at once, and found by its hash a moment later", async (t) => {
  const { node, clock, findings } = await startOnTime(t);
  const client = await openRpcSocket(t, node.rpcUrl);
  client.send("subscribe", { query: "tm.event='Tx'" });
  await client.first(1);
  const committed = node.call("broadcast_tx_commit", { tx: wordsBase64("one") });
  await eventually("the transaction", async () => (await node.call("num_unconfirmed_txs")).n_txs === "1");
  node.step();
  const { hash, height } = await committed;
  assert.equal(height, "1");
  await client.first(2);
  assert.equal((await node.call("block_results", { height: "1" })).txs_results.length, 1);
  assert.equal(await findings(hash), 0);
  await clock.advance(chainIndexMs - 1);
  assert.equal(await findings(hash), 0);
  await clock.advance(1);
  assert.equal(await findings(hash), 3);
});

test("blocks that follow each other quickly are all indexed, each in its time, but none after it is forgotten", async (t) => {
  const clock = createVirtualClock();
  const node = await startNode(t, { clock, socketClock: realClock, indexMs: 20, keepBlocks: 2 });
  const total = async () => (await node.call("tx_search", { query: "tx.height>0" })).total_count;
  for (const words of ["one", "two", "three"]) {
    await node.call("broadcast_tx_sync", { tx: wordsBase64(words) });
    node.step();
    await clock.advance(5);
  }
  assert.equal(await total(), "0");
  await clock.advance(10);
  assert.equal(await total(), "1", "the second; the first is gone");
  await clock.advance(5);
  assert.equal(await total(), "2");
});

test("what was not indexed when the node stopped is found after a start", async (t) => {
  const file = join(temporaryFolder(t), "chain");
  const first = await startOnTime(t, file);
  const { hash } = await first.node.call("broadcast_tx_sync", { tx: wordsBase64("one") });
  first.node.step();
  await first.node.stop();
  const second = await startOnTime(t, file);
  assert.equal(await second.findings(hash), 3);
});
