import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, startNode, wordsBase64 } from "../../../../test/support/embedded-node.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { openRpcSocket } from "../../../../test/support/rpc-socket.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { realClock } from "../../../runtime/clock.ts";
import { chainQueryChars } from "./query-language.ts";
import { chainWriteMs } from "./send-queue.ts";
import { chainSubscribers, chainSubscriptionsPerClient } from "./subscriptions.ts";
import { chainPingMs, chainRequestBytes } from "./websocket.ts";

test("a socket answers requests like HTTP does", async (t) => {
  const node = await startNode(t);
  node.step();
  const client = await openRpcSocket(t, node.rpcUrl);
  client.send("status", {}, "mine");
  client.send("nothing", {}, 2);
  client.socket.send("{");
  client.send("block", { height: "9" }, 4);
  const [status, unknown, malformed, rejected] = await client.first(4);
  assert.equal(status.id, "mine");
  assert.equal(status.result.sync_info.latest_block_height, "1");
  assert.equal(unknown.error.code, -32601);
  assert.equal(malformed.error.code, -32700);
  assert.match(rejected.error.data, /must be less than or equal to the current blockchain height 1/);
});

test("a subscription is answered with nothing, then events come under its id and query", async (t) => {
  const node = await startNode(t);
  const client = await openRpcSocket(t, node.rpcUrl);
  client.send("subscribe", { query: "tm.event = 'NewBlock'" }, 7);
  assert.deepEqual(await client.first(1), [{ jsonrpc: "2.0", id: 7, result: {} }]);
  await node.call("broadcast_tx_sync", { tx: wordsBase64("one") });
  node.step();
  const [, { id, result }] = await client.first(2);
  assert.equal(id, 7);
  assert.equal(result.query, "tm.event = 'NewBlock'");
  assert.equal(result.data.type, "tendermint/event/NewBlock");
  const { block, block_id, result_finalize_block } = result.data.value;
  assert.deepEqual({ block_id, block }, await node.call("block"));
  assert.equal(result_finalize_block.tx_results.length, 1);
  assert.deepEqual(result.events["tick.height"], ["1"]);
});

test("transaction events arrive one by one with their events, without fields of value zero, as from the real node", async (t) => {
  const node = await startNode(t);
  const client = await openRpcSocket(t, node.rpcUrl);
  client.send("subscribe", { query: "tm.event='Tx'" });
  await client.first(1);
  for (const words of ["one alice", "fail bob"]) await node.call("broadcast_tx_sync", { tx: wordsBase64(words) });
  node.step();
  const [, first, second] = (await client.first(3)).map(({ result }) => result);
  assert.equal(first.data.type, "tendermint/event/Tx");
  assert.deepEqual(Object.keys(first.data.value.TxResult), ["height", "tx", "result"]);
  assert.deepEqual(Object.keys(first.data.value.TxResult.result), ["data", "gas_wanted", "gas_used", "events"]);
  assert.deepEqual(first.events["message.sender"], ["alice"]);
  assert.deepEqual(first.events["tx.height"], ["1"]);
  assert.equal(second.data.value.TxResult.index, 1);
  assert.equal(second.data.value.TxResult.result.code, 12);
});

test("conditions beside the event choose among transactions", async (t) => {
  const node = await startNode(t);
  const client = await openRpcSocket(t, node.rpcUrl);
  const { hash } = await node.call("broadcast_tx_sync", { tx: wordsBase64("one alice") });
  await node.call("broadcast_tx_sync", { tx: wordsBase64("two bob") });
  client.send("subscribe", { query: `tm.event='Tx' AND tx.hash='${hash}'` }, "by hash");
  client.send("subscribe", { query: "tm.event='Tx' AND message.sender='bob'" }, "by sender");
  client.send("subscribe", { query: "tm.event='Tx' AND message.action='/other.Msg'" }, "none");
  await client.first(3);
  node.step();
  await client.first(5);
  client.send("health", {}, "last");
  const ids = (await client.first(6)).map(({ id }) => id);
  assert.deepEqual(ids.slice(3), ["by hash", "by sender", "last"]);
});

test("after unsubscribing nothing more comes", async (t) => {
  const node = await startNode(t);
  const client = await openRpcSocket(t, node.rpcUrl);
  const query = "tm.event='NewBlockHeader'";
  client.send("subscribe", { query }, 1);
  client.send("subscribe", { query: "tm.event  =  'NewBlockHeader'" }, 2);
  client.send("unsubscribe", { query }, 3);
  client.send("unsubscribe", { query }, 4);
  client.send("subscribe", { query }, 5);
  client.send("unsubscribe_all", {}, 6);
  client.send("unsubscribe_all", {}, 7);
  const answers = (await client.first(7)).map(({ error, result }) => error?.data ?? result);
  const gone = "subscription not found";
  assert.deepEqual(answers, [{}, "already subscribed", {}, gone, {}, {}, gone]);
  node.step();
  client.send("health", {}, 8);
  assert.equal((await client.first(8))[7].id, 8);
  assert.equal(node.counts.subscriptions, 0);
});

test("subscriptions are bounded per client, over all clients, and in the length of their query", async (t) => {
  const node = await startNode(t);
  const client = await openRpcSocket(t, node.rpcUrl);
  const most = chainSubscriptionsPerClient;
  for (let id = 1; id <= most + 1; id++) client.send("subscribe", { query: `tx.height=${id}` }, id);
  client.send("subscribe", { query: "nonsense" }, "wrong");
  client.send("unsubscribe", { query: "tx.height=1" }, "out");
  client.send("subscribe", { query: "nonsense" }, "wrong");
  client.send("subscribe", { query: `a='${"x".repeat(chainQueryChars)}'` }, "long");
  const answers = await client.first(most + 5);
  assert.equal(answers[most].error.data, `max_subscriptions_per_client ${most} reached`);
  assert.match(answers[most + 3].error.data, /^failed to parse query: offset/);
  assert.equal(answers[most + 4].error.data, "maximum query length exceeded");

  const others = Array.from({ length: chainSubscribers }, async () => {
    const other = await openRpcSocket(t, node.rpcUrl);
    other.send("subscribe", { query: "tx.height=1" });
    return (await other.first(1))[0].error?.data as string | undefined;
  });
  const rejections = (await Promise.all(others)).filter((rejection) => rejection !== undefined);
  assert.deepEqual(rejections, [`max_subscription_clients ${chainSubscribers} reached`]);
});

test("a client that leaves takes its subscriptions with it", async (t) => {
  const node = await startNode(t);
  const client = await openRpcSocket(t, node.rpcUrl);
  client.send("subscribe", { query: "tm.event='Tx'" });
  await client.first(1);
  assert.equal(node.counts.webSockets, 1);
  client.socket.terminate();
  await eventually("it is gone", () => node.counts.webSockets === 0 && node.counts.subscriptions === 0);
});

test("a client that does not read loses its subscription, then its connection; others go on", async (t) => {
  const socketClock = createVirtualClock();
  const node = await startNode(t, { socketClock });
  const open = async (id: string, query: string) => {
    const client = await openRpcSocket(t, node.rpcUrl);
    client.send("subscribe", { query }, id);
    await client.first(1);
    return client;
  };
  const quick = await open("quick", "tm.event='NewBlockHeader'");
  const slow = await open("slow", "tm.event='NewBlock'");
  const stuck = await open("stuck", "tm.event='NewBlock'");
  slow.socket.pause();
  stuck.socket.pause();
  // The operating system takes some megabytes before anything waits in the node.
  let blocks = 0;
  for (; node.counts.subscriptions > 1; blocks++) {
    assert.ok(blocks < 1_000, "the subscriptions should have ended by now");
    if (blocks < 20) await node.call("broadcast_tx_sync", { tx: wordsBase64(`${blocks} ${"x".repeat(300_000)}`) });
    node.step();
    await realClock.yield();
  }
  slow.socket.resume();
  const received = await eventually("the end", () => slow.messages.find((message: Answer) => message.error));
  const data = "subscription was canceled (reason: client is not pulling messages fast enough)";
  assert.deepEqual(received, { jsonrpc: "2.0", id: "slow", error: { code: -32000, message: "Server error", data } });
  await quick.first(blocks + 1);
  await socketClock.advance(chainWriteMs);
  await eventually("the stuck one is cut off", () => node.counts.webSockets === 2);
  node.step();
  await quick.first(blocks + 2);
});

test("the node pings, answers pings, and drops a client that does not answer", async (t) => {
  const socketClock = createVirtualClock();
  const node = await startNode(t, { socketClock });
  const [alive, dead] = [await openRpcSocket(t, node.rpcUrl), await openRpcSocket(t, node.rpcUrl)];
  let pings = 0;
  alive.socket.on("ping", () => {
    pings += 1;
  });
  const pong = new Promise((resolve) => alive.socket.once("pong", resolve));
  alive.socket.ping();
  await pong;
  dead.socket.pause();
  await socketClock.advance(chainPingMs);
  await eventually("a ping", () => pings === 1);
  // Its pong must have arrived before time goes on.
  alive.send("health");
  await alive.first(1);
  await socketClock.advance(chainPingMs);
  await eventually("the dead one is dropped", () => node.counts.webSockets === 1);
  assert.equal(alive.socket.readyState, alive.socket.OPEN);
});

test("a message beyond the limit ends the connection, not the node", async (t) => {
  const node = await startNode(t);
  const client = await openRpcSocket(t, node.rpcUrl);
  client.socket.on("error", () => undefined);
  const closed = new Promise<number>((resolve) => client.socket.once("close", resolve));
  client.socket.send("x".repeat(chainRequestBytes + 1));
  assert.equal(await closed, 1009);
  assert.deepEqual(await node.call("health"), {});
});

test("nothing is left when the node stops", async (t) => {
  const clock = createVirtualClock();
  const node = await startNode(t, { clock, blockMs: 1_000 });
  const client = await openRpcSocket(t, node.rpcUrl);
  client.send("subscribe", { query: "tm.event='NewBlock'" });
  await client.first(1);
  const closed = new Promise((resolve) => client.socket.once("close", resolve));
  await node.stop();
  await closed;
  assert.equal(clock.pendingTimers, 0);
  assert.deepEqual(
    { ...node.counts },
    { waitingTxs: 0, waitingBytes: 0, webSockets: 0, subscriptions: 0, grpcConnections: 0 },
  );
  await assert.rejects(fetch(node.rpcUrl));
});
