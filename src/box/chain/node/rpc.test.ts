import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { WebSocket } from "ws";
import { type Answer, startNode, wordsBase64 } from "../../../../test/support/embedded-node.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { chainCommitWaitMs } from "./commit-waits.ts";
import { chainRequestBytes } from "./websocket.ts";

test("a method can be called by its path, with its parameters in the URI", async (t) => {
  const node = await startNode(t);
  node.step();
  const get = async (path: string): Promise<Answer> => (await fetch(`${node.rpcUrl}${path}`)).json();
  const { id, result } = await get("/block?height=1");
  assert.equal(id, -1);
  assert.equal(result.block.header.height, "1");
  const byHash = await get(`/block_by_hash?hash=0x${result.block_id.hash}`);
  assert.deepEqual(byHash.result, result);
  const echo = await get(`/abci_query?path="/test.Query/Echo"&data=0x0a0b`);
  assert.equal(echo.result.response.value, "Cgs=");
  const sent = await get(`/broadcast_tx_sync?tx="hello"`);
  assert.equal(sent.result.hash, "2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824");
  node.step();
  const found = await get(`/tx_search?query="tx.height=2"&per_page=1&order_by="desc"`);
  assert.equal(found.result.txs[0].hash, sent.result.hash);
});

test("other paths are not found, the root lists the methods, and the type of content says what it is", async (t) => {
  const node = await startNode(t);
  assert.equal((await fetch(`${node.rpcUrl}/nothing`)).status, 404);
  assert.equal((await fetch(`${node.rpcUrl}/websocket`)).status, 404);
  const root = await fetch(node.rpcUrl);
  assert.equal(root.headers.get("content-type"), "text/html");
  assert.match(await root.text(), /broadcast_tx_sync/);
  assert.equal((await fetch(`${node.rpcUrl}/health`)).headers.get("content-type"), "application/json");
});

test("a WebSocket is offered at its path only, and nothing hangs on the others", async (t) => {
  const node = await startNode(t);
  const socket = new WebSocket(`${node.rpcUrl.replace("http", "ws")}/other`);
  const [error] = await once(socket, "error");
  assert.match(String(error), /Unexpected server response: 404/);
  const { hostname, port } = new URL(node.rpcUrl);
  const plain = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  plain.write("GET /other HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  await once(plain, "data");
  await node.stop();
  plain.destroy();
});

test("a body beyond the limit is rejected before it is read to its end", async (t) => {
  const node = await startNode(t);
  for (const size of [chainRequestBytes + 1, 10 * chainRequestBytes]) {
    const { status, text } = await node.post(" ".repeat(size));
    assert.equal(status, 400);
    assert.equal(JSON.parse(text).error.data, "error reading request body: http: request body too large");
  }
  assert.equal((await node.post(" ".repeat(chainRequestBytes))).status, 500, "read, but nothing is in it");
});

test("a client that hangs up in the middle of a request does not affect others", async (t) => {
  const node = await startNode(t);
  const { hostname, port } = new URL(node.rpcUrl);
  for (const words of ["GET", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", "\0\0\0\r\n\r\n"]) {
    const socket = connect(Number(port), hostname);
    await new Promise<void>((resolve) => socket.write(words, () => resolve()));
    socket.destroy();
  }
  assert.deepEqual(await node.call("health"), {});
});

test("a query goes through to the application, and its rejections come back with code and codespace", async (t) => {
  const node = await startNode(t);
  node.step();
  node.step();
  const query = async (params: object) => (await node.call("abci_query", { ...params })).response;
  const echo = { path: "/test.Query/Echo", data: "0a0b" };
  assert.deepEqual(await query({ ...echo, prove: true }), {
    code: 0,
    log: "",
    info: "",
    index: "0",
    key: null,
    value: "Cgs=",
    proofOps: null,
    height: "2",
    codespace: "",
  });
  assert.equal((await query({ path: "/test.Query/Echo" })).value, null);
  const missing = await query({ path: "/test.Query/Missing" });
  assert.deepEqual([missing.code, missing.codespace], [22, "sdk"]);
  assert.match(missing.log, /^rpc error: code = NotFound desc = order not found/);
  assert.equal((await query({ path: "/other" })).code, 6);
  assert.deepEqual(pick(await query({ path: "/cosmos.tx.v1beta1.Service/BroadcastTx" })), [18, "sdk"]);
  assert.equal((await query({ ...echo, height: "2" })).code, 0);
  assert.deepEqual(pick(await query({ ...echo, height: "3" })), [26, "sdk"]);
  assert.deepEqual(pick(await query({ ...echo, height: "1" })), [38, "sdk"]);
  assert.deepEqual(pick(await query({ ...echo, height: "-1" })), [18, "sdk"]);
  await assert.rejects(node.call("abci_query", { path: "/test.Query/Broken" }), /a query lost its footing/);
});

function pick({ code, codespace }: { code: number; codespace: string }): unknown[] {
  return [code, codespace];
}

test("a transaction is found by its hash once its block is made, and not before", async (t) => {
  const node = await startNode(t);
  const { hash } = await node.call("broadcast_tx_sync", { tx: wordsBase64("one") });
  const params = { hash: Buffer.from(hash, "hex").toString("base64") };
  await assert.rejects(node.call("tx", params), new RegExp(`^Error: tx \\(${hash}\\) not found$`));
  assert.deepEqual(await node.call("num_unconfirmed_txs"), { n_txs: "1", total: "1", total_bytes: "3", txs: null });
  assert.deepEqual((await node.call("unconfirmed_txs", { limit: "5" })).txs, [wordsBase64("one")]);
  node.step();
  const found = await node.call("tx", params);
  assert.equal(found.height, "1");
  assert.equal(found.index, 0);
  assert.equal(found.hash, hash);
  assert.equal(found.tx, wordsBase64("one"));
  assert.equal(found.tx_result.gas_used, "100000");
  assert.equal((await node.call("num_unconfirmed_txs")).total, "0");
});

test("broadcast_tx_async does not return the result of CheckTx", async (t) => {
  const node = await startNode(t);
  const answer = await node.call("broadcast_tx_async", { tx: wordsBase64("bad one") });
  assert.deepEqual({ ...answer, hash: "" }, { code: 0, data: "", log: "", codespace: "", hash: "" });
  assert.equal(node.counts.waitingTxs, 0);
});

test("broadcast_tx_commit answers when the block is made, with the result of the transaction", async (t) => {
  const node = await startNode(t);
  const answer = node.call("broadcast_tx_commit", { tx: wordsBase64("fail one") });
  await eventually("the transaction waits", () => node.counts.waitingTxs === 1);
  node.step();
  const { check_tx, tx_result, height, hash } = await answer;
  assert.equal(check_tx.code, 0);
  assert.equal(tx_result.code, 12);
  assert.equal(tx_result.codespace, "market");
  assert.equal(height, "1");
  assert.match(hash, /^[\dA-F]{64}$/);
});

test("broadcast_tx_commit answers at once when the transaction is rejected or known", async (t) => {
  const node = await startNode(t);
  const rejected = await node.call("broadcast_tx_commit", { tx: wordsBase64("bad one") });
  assert.equal(rejected.check_tx.code, 5);
  assert.equal(rejected.height, "0");
  const tx = wordsBase64("one");
  await node.call("broadcast_tx_sync", { tx });
  const known = /^Error: error on broadcastTxCommit: tx already exists in cache$/;
  await assert.rejects(node.call("broadcast_tx_commit", { tx }), known);
});

test("broadcast_tx_commit gives up after its time, and when the node stops", async (t) => {
  const clock = createVirtualClock();
  const node = await startNode(t, { clock });
  const waiting = node.call("broadcast_tx_commit", { tx: wordsBase64("one") });
  await eventually("it waits", () => clock.pendingTimers === 1);
  const late = assert.rejects(waiting, /^Error: timed out waiting for tx to be included in a block$/);
  await clock.advance(chainCommitWaitMs);
  await late;
  const cut = node.call("broadcast_tx_commit", { tx: wordsBase64("two") });
  await eventually("it waits", () => clock.pendingTimers === 1);
  const rejected = assert.rejects(cut);
  await node.stop();
  await rejected;
  assert.equal(clock.pendingTimers, 0);
});

test("transactions are searched by height, by event and by hash, in pages and in either order", async (t) => {
  const node = await startNode(t);
  for (let height = 1; height <= 3; height++) {
    for (const who of ["alice", "bob"]) {
      await node.call("broadcast_tx_sync", { tx: wordsBase64(`send ${height} ${who}`) });
    }
    node.step();
  }
  const search = async (params: object) => {
    const { txs, total_count } = await node.call("tx_search", { ...params });
    const found = txs.map(({ tx }: { tx: string }) => Buffer.from(tx, "base64").toString());
    return { found, total: total_count };
  };
  assert.deepEqual(await search({ query: "tx.height=2" }), { found: ["send 2 alice", "send 2 bob"], total: "2" });
  const alices = ["send 1 alice", "send 2 alice", "send 3 alice"];
  const query = "message.action='/test.MsgDo' AND message.sender='alice'";
  assert.deepEqual((await search({ query })).found, alices);
  assert.deepEqual((await search({ query, order_by: "desc" })).found, alices.toReversed());
  assert.deepEqual(await search({ query, page: "2", per_page: "2" }), { found: ["send 3 alice"], total: "3" });
  assert.deepEqual(await search({ query: "message.sender='carol'" }), { found: [], total: "0" });
  const [{ hash }] = (await node.call("tx_search", { query: "tx.height>=3 AND message.sender='bob'" })).txs;
  assert.deepEqual((await search({ query: `tx.hash='${hash}'` })).found, ["send 3 bob"]);
  await assert.rejects(search({ query, page: "9" }), /page should be within \[1, 1\] range, given 9/);
  await assert.rejects(search({ query, order_by: "up" }), /expected order_by to be either `asc` or `desc` or empty/);
  await assert.rejects(search({ query: `a='${"x".repeat(600)}'` }), /maximum query length exceeded/);
  const { blocks, total_count } = await node.call("block_search", { query: "block.height>1 AND tick.height EXISTS" });
  assert.equal(total_count, "2");
  assert.equal(blocks[0].block.header.height, "3");
});

test("headers are listed from the highest down, twenty at most", async (t) => {
  const node = await startNode(t);
  for (let made = 0; made < 25; made++) node.step();
  const heights = async (params: object) => {
    const { block_metas } = await node.call("blockchain", { ...params });
    return block_metas.map((meta: { header: { height: string } }) => Number(meta.header.height));
  };
  assert.deepEqual(
    await heights({}),
    Array.from({ length: 20 }, (_, index) => 25 - index),
  );
  assert.deepEqual(await heights({ minHeight: "2", maxHeight: "4" }), [4, 3, 2]);
  await assert.rejects(heights({ minHeight: "4", maxHeight: "2" }), /min height 4 can't be greater than max height 2/);
  const [meta] = (await node.call("blockchain")).block_metas;
  assert.deepEqual(Object.keys(meta), ["block_id", "block_size", "header", "num_txs"]);
});

test("a block or header of an unknown hash is null, not an error", async (t) => {
  const node = await startNode(t);
  node.step();
  const hash = Buffer.alloc(32, 1);
  assert.deepEqual(await node.call("block_by_hash", { hash: hash.toString("base64") }), {
    block_id: { hash: "", parts: { total: 0, hash: "" } },
    block: null,
  });
  assert.deepEqual(await node.call("header_by_hash", { hash: hash.toString("hex") }), { header: null });
  const { header } = await node.call("header");
  const { block_id } = await node.call("block");
  assert.deepEqual((await node.call("header_by_hash", { hash: block_id.hash })).header, header);
});

test("there is one validator, a genesis and no peers", async (t) => {
  const node = await startNode(t, { genesis: { state: { hello: "world" } } });
  const { validators, total } = await node.call("validators");
  assert.equal(total, "1");
  assert.deepEqual(Object.keys(validators[0]), ["address", "pub_key", "voting_power", "proposer_priority"]);
  const { genesis } = await node.call("genesis");
  assert.equal(genesis.chain_id, "test-1");
  assert.equal(genesis.initial_height, "1");
  assert.deepEqual(genesis.app_state, { hello: "world" });
  assert.equal((await node.call("net_info")).n_peers, "0");
});
