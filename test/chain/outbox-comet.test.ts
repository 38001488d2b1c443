/** The outbox's view of the chain over the real wire, from an embedded node's RPC. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createApp } from "../../src/box/chain/app.ts";
import { createNode } from "../../src/box/chain/node/node.ts";
import { createHttpTransports } from "../../src/chain/comet/http-transport.ts";
import { createPool } from "../../src/chain/comet/pool.ts";
import type { Broadcaster } from "../../src/chain/tx/broadcaster.ts";
import { createCometBroadcaster } from "../../src/chain/tx/comet-broadcaster.ts";
import { transactionHash, unsignedTransaction } from "../../src/chain/tx/transaction.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { signTransaction, testKey, type Unsigned } from "../support/chain-signing.ts";
import { sendMessage } from "../support/embedded-app.ts";
import { eventually } from "../support/eventually.ts";
import { type FaultProxy, startFaultProxy } from "../support/fault-proxy.ts";
import { chainId, providerKey, providerSigner, tenantKey } from "../support/stages/outbox-stage.ts";

/** The chain over a node, or over as many wires to it as are given. */
async function start(t: TestContext, wires = 0) {
  const accounts = [{ address: providerKey.address, coins: [{ denom: "uakt", amount: 1_000_000n }] }];
  const timeNs = BigInt(Date.now() - 60_000) * 1_000_000n;
  const deps = { clock: realClock, log: silentLog };
  const node = createNode({ app: createApp({ chainId, timeNs, accounts }), indexMs: 0, ...deps });
  t.after(() => node.stop());
  await node.start();
  node.step();
  const proxies = await Promise.all(Array.from({ length: wires }, () => startFaultProxy(t, () => node.rpcUrl)));
  const addresses = wires === 0 ? [{ url: node.rpcUrl }] : proxies.map(({ url }) => ({ url }));
  const pool = createPool({ nodes: createHttpTransports(addresses, realClock), random: realRandom, ...deps });
  t.after(() => pool.close());
  await pool.open();
  return { node, pool, chain: createCometBroadcaster(pool), proxies };
}

/** Lets the node reject a method, as JSON-RPC does. */
function reject(proxy: FaultProxy | undefined, rejected: string, data: string): void {
  assert.ok(proxy);
  const before = proxy.rewrite;
  proxy.rewrite = (method, answer, params) => {
    if (method !== rejected) return before(method, answer, params);
    const error = { code: -32603, message: "Internal error", data };
    return JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(answer).id, error });
  };
}

/** A node that took the state over at a height: it has no block before that, and no transaction of them. */
function beginAt(proxy: FaultProxy | undefined, height: bigint, hash: string): void {
  assert.ok(proxy);
  proxy.rewrite = (method, answer) =>
    method === "status"
      ? answer.replace(/"earliest_block_height":"\d+"/, `"earliest_block_height":"${height}"`)
      : answer;
  reject(proxy, "tx", `tx (${hash}) not found`);
}

/** The node says of every transaction that it failed before its messages. */
function failTransactions(proxy: FaultProxy | undefined): void {
  assert.ok(proxy);
  const before = proxy.rewrite;
  proxy.rewrite = (method, answer, params) => {
    if (method !== "tx") return before(method, answer, params);
    const tx_result = { code: 5, codespace: "sdk", log: "insufficient funds", gas_used: "1", events: [] };
    return JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(answer).id, result: { height: "3", tx_result } });
  };
}

const send = (amount: bigint) => sendMessage(providerKey.address, tenantKey.address, amount);
let ties = 0n;

function sign(timeoutNs: bigint, amount: bigint, more: Partial<Unsigned> = {}): Uint8Array {
  const signers = [{ key: providerKey, accountNumber: 0n }];
  return signTransaction({ messages: [send(amount)], signers, chainId, unorderedNs: timeoutNs + ties++, ...more });
}

test("head and accounts match the node's, and an account without money does not exist", async (t) => {
  const { node, chain } = await start(t);
  const head = await chain.head();
  assert.equal(head.height, node.height);
  const { height } = head;
  assert.deepEqual(await chain.account(providerKey.address, height), { number: 0n, sequence: 0n, height });
  assert.equal(await chain.account(testKey("nobody").address, head.height), undefined);
  await assert.rejects(chain.account(providerKey.address, head.height + 1n), "no node has got that far");
});

test("a simulation returns the gas or the transaction's error", async (t) => {
  const { chain } = await start(t);
  const { height, timeNs } = await chain.head();
  const validity = { kind: "unordered", timeoutNs: timeNs + 60_000_000_000n } as const;
  const draft = (amount: bigint) => ({ messages: [send(amount)], validity, gas: 0n, fee: [] });
  const fine = await chain.simulate(unsignedTransaction(draft(1n), providerSigner.publicKey), height);
  assert.ok(fine.kind === "ran" && fine.gasUsed > 10_000n);
  const tooMuch = await chain.simulate(unsignedTransaction(draft(10n ** 12n), providerSigner.publicKey), height);
  assert.ok(tooMuch.kind === "refused");
  assert.match(tooMuch.log, /message index: 0.*insufficient funds/);
});

test("a transaction is taken once and again, found once it is in a block, and says how it ended", async (t) => {
  const { node, chain } = await start(t);
  const { height, timeNs } = await chain.head();
  const timeoutNs = timeNs + 120_000_000_000n;
  const fine = sign(timeoutNs, 1n);
  const fails = sign(timeoutNs, 10n ** 12n);
  for (const tx of [fine, fine, fails]) assert.deepEqual(await chain.broadcast(tx), { kind: "taken" });
  assert.equal(await chain.findTx(transactionHash(fine), height), undefined);
  node.step();
  const found = await chain.findTx(transactionHash(fine), height + 1n);
  assert.equal(found?.code, 0);
  assert.equal(found?.height, height + 1n);
  const failed = await chain.findTx(transactionHash(fails), height + 1n);
  assert.deepEqual([failed?.codespace, failed?.code, failed?.admitted], ["sdk", 5, true]);
  assert.match(failed?.log ?? "", /message index: 0/);
  const poor = await chain.broadcast(sign(timeoutNs, 1n, { fee: [{ denom: "uakt", amount: "1" }] }));
  assert.ok(poor.kind === "refused");
  assert.deepEqual([poor.codespace, poor.code], ["sdk", 13]);
});

test("a node that began after a transaction left cannot say that no block holds it; one that has the blocks can", async (t) => {
  const { node, pool, chain, proxies } = await start(t, 2);
  const [first, second] = proxies;
  const { height, timeNs } = await chain.head();
  const tx = sign(timeNs + 120_000_000_000n, 1n);
  const [hash, nothing] = [transactionHash(tx), "AB".repeat(32)];
  await chain.broadcast(tx);
  node.step();
  node.step();
  beginAt(first, height + 2n, hash);
  await pool.probe();
  assert.equal((await chain.findTx(hash, height + 2n, height + 1n))?.height, height + 1n);
  assert.equal(await chain.findTx(nothing, height + 2n, height + 1n), undefined);
  beginAt(second, height + 2n, hash);
  await pool.probe();
  await assert.rejects(chain.findTx(hash, height + 2n, height + 1n), { code: "AKP_TX_UNPROVEN" });
  assert.equal(await chain.findTx(hash, height + 2n, height + 2n), undefined, "one that left later is in no block");
});

test("a failure before the messages is believed only of a node that has every block that could hold it", async (t) => {
  const { node, pool, chain, proxies } = await start(t, 2);
  const { height, timeNs } = await chain.head();
  const tx = sign(timeNs + 120_000_000_000n, 1n);
  const hash = transactionHash(tx);
  await chain.broadcast(tx);
  node.step();
  node.step();
  beginAt(proxies[0], height + 2n, hash);
  failTransactions(proxies[0]);
  await pool.probe();
  assert.equal((await chain.findTx(hash, height + 2n, height + 1n))?.code, 0);
  assert.equal((await chain.findTx(hash, height + 2n, height + 2n))?.code, 5);
});

test("a node without an index and one with a full pool are passed over", async (t) => {
  const { node, chain, proxies } = await start(t, 2);
  const { height, timeNs } = await chain.head();
  const tx = sign(timeNs + 120_000_000_000n, 1n);
  const hash = transactionHash(tx);
  const full = "mempool is full: number of txs 5000 (max: 5000), total txs bytes 1 (max: 2)";
  for (const [index, proxy] of proxies.entries()) {
    reject(proxy, "tx", "transaction indexing is disabled");
    reject(proxy, "broadcast_tx_sync", full);
    if (index > 0) continue;
    assert.deepEqual(await chain.broadcast(tx), { kind: "taken" });
    node.step();
    assert.equal((await chain.findTx(hash, height + 1n, height + 1n))?.code, 0);
  }
  await assert.rejects(chain.findTx(hash, height + 1n, height + 1n), { code: "AKP_TX_UNPROVEN" });
  await assert.rejects(chain.broadcast(tx), /mempool is full/, "nothing is said about this transaction");
});

test("a node with a quota on broadcasts is failing and comes after the others; with a quota at every node the broadcast rejects", async (t) => {
  const { chain, pool, proxies } = await start(t, 2);
  const [limited, sound] = proxies as [FaultProxy, FaultProxy];
  const { timeNs } = await chain.head();
  const send = () => chain.broadcast(sign(timeNs + 120_000_000_000n, 1n));
  let calls = 0;
  const quota = "Too many requests, daily quota exceeded";
  reject(limited, "broadcast_tx_sync", quota);
  const { rewrite } = limited;
  limited.rewrite = (method, ...more) => {
    if (method === "broadcast_tx_sync") calls += 1;
    return rewrite(method, ...more);
  };
  for (let sent = 0; sent < 3; sent += 1) assert.deepEqual(await send(), { kind: "taken" });
  assert.equal(calls, 1);
  assert.equal(pool.nodes[0]?.condition, "failing");
  assert.match(pool.nodes[0]?.error ?? "", /daily quota/);
  reject(sound, "broadcast_tx_sync", quota);
  await assert.rejects(send(), { code: "AKP_CHAIN_NO_ENDPOINT", message: /daily quota/ });
});

test("a node that answers a broadcast with an HTML page comes last until it succeeds again", async (t) => {
  const { chain, pool, proxies } = await start(t, 2);
  const [first] = proxies as [FaultProxy];
  const { timeNs } = await chain.head();
  let calls = 0;
  first.fault = (method) => {
    if (method !== "broadcast_tx_sync") return undefined;
    calls += 1;
    return "html";
  };
  for (let sent = 0; sent < 3; sent += 1) {
    assert.equal((await chain.broadcast(sign(timeNs + 120_000_000_000n, 1n))).kind, "taken");
  }
  assert.equal(calls, 1);
  first.fault = () => undefined;
  await pool.probe();
  assert.equal((await chain.broadcast(sign(timeNs + 120_000_000_000n, 1n))).kind, "taken");
  assert.ok(first.passed.has("broadcast_tx_sync"));
});

test("a transaction that no node takes is rejected; one that another node takes is not", async (t) => {
  const { chain, proxies } = await start(t, 2);
  const { timeNs } = await chain.head();
  const tooLarge = "Tx too large. Max size is 10, but got 300";
  reject(proxies[0], "broadcast_tx_sync", tooLarge);
  assert.deepEqual(await chain.broadcast(sign(timeNs + 120_000_000_000n, 1n)), { kind: "taken" });
  reject(proxies[1], "broadcast_tx_sync", tooLarge);
  const rejection = { kind: "refused", code: -32603, codespace: "rpc", log: tooLarge };
  assert.deepEqual(await chain.broadcast(sign(timeNs + 120_000_000_000n, 1n)), rejection);
});

test("a limit that the operator of a node has set is no rejection of the transaction, whatever words it is in", async (t) => {
  const { chain, proxies } = await start(t, 1);
  const { timeNs } = await chain.head();
  reject(proxies[0], "broadcast_tx_sync", "quota of the free plan: tx too large");
  await assert.rejects(chain.broadcast(sign(timeNs + 120_000_000_000n, 1n)), { code: "AKP_CHAIN_CALL_REFUSED" });
});

test("a node that wants a higher price than others keeps no transaction from them", async (t) => {
  const { chain, proxies } = await start(t, 2);
  const [first] = proxies as [FaultProxy];
  const log = "insufficient fees; got: 1uakt required: 9uakt: insufficient fee";
  first.rewrite = (method, answer) =>
    method === "broadcast_tx_sync"
      ? JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(answer).id, result: { code: 13, codespace: "sdk", log } })
      : answer;
  const { timeNs } = await chain.head();
  const receipt = await chain.broadcast(sign(timeNs + 120_000_000_000n, 1n));
  assert.deepEqual(receipt, { kind: "taken", objection: { code: 13, codespace: "sdk", log } });
});

test("a transaction that one node keeps to itself reaches the chain when it is offered to all", async (t) => {
  const { node, chain, proxies } = await start(t, 2);
  const { height, timeNs } = await chain.head();
  const tx = sign(timeNs + 120_000_000_000n, 1n);
  const [hole] = proxies;
  assert.ok(hole);
  hole.fault = (method) => (method === "broadcast_tx_sync" ? "swallow" : undefined);
  assert.deepEqual(await chain.broadcast(tx), { kind: "taken" });
  node.step();
  assert.equal(await chain.findTx(transactionHash(tx), height + 1n), undefined);
  assert.deepEqual(await chain.broadcast(tx, "all"), { kind: "taken" });
  node.step();
  assert.equal((await chain.findTx(transactionHash(tx), height + 2n))?.code, 0);
});

test("a node's objection to a transaction is returned also when another takes it", async (t) => {
  const { chain, proxies } = await start(t, 2);
  const { timeNs } = await chain.head();
  const [hole] = proxies;
  assert.ok(hole);
  hole.fault = (method) => (method === "broadcast_tx_sync" ? "swallow" : undefined);
  const cheap = sign(timeNs + 120_000_000_000n, 1n, { fee: [{ denom: "uakt", amount: "1" }] });
  const receipt = await chain.broadcast(cheap, "all");
  assert.ok(receipt.kind === "taken");
  assert.equal(receipt.objection?.code, 13);
});

test("a node whose index is stuck is not believed while another knows better", async (t) => {
  const { node, chain, proxies } = await start(t, 2);
  const { height, timeNs } = await chain.head();
  const tx = sign(timeNs + 120_000_000_000n, 1n);
  const hash = transactionHash(tx);
  await chain.broadcast(tx);
  node.step();
  reject(proxies[0], "tx", `tx (${hash}) not found`);
  assert.equal((await chain.findTx(hash, height + 1n, height + 1n))?.code, 0);
  reject(proxies[1], "tx", `tx (${hash}) not found`);
  assert.equal(await chain.findTx(hash, height + 1n, height + 1n), undefined);
});

test("every call ends when its signal aborts", async (t) => {
  const { pool, chain, proxies } = await start(t, 1);
  const [proxy] = proxies;
  assert.ok(proxy);
  const { height } = await chain.head();
  let hanging = 0;
  proxy.fault = () => {
    hanging += 1;
    return "hang";
  };
  const calls: ((ending: Broadcaster) => Promise<unknown>)[] = [
    (ending) => ending.head(),
    (ending) => ending.account(providerKey.address, height),
    (ending) => ending.simulate(new Uint8Array(), height),
    (ending) => ending.broadcast(new Uint8Array(), "one"),
    (ending) => ending.findTx("AB".repeat(32), height, height),
  ];
  for (const [index, call] of calls.entries()) {
    const abort = new AbortController();
    const ended = assert.rejects(call(createCometBroadcaster(pool, abort.signal)), { name: "AbortError" });
    await eventually("the node was called", () => hanging === index + 1);
    abort.abort();
    await ended;
  }
});

test("a node that is gone answers nothing, and says so by rejecting", async (t) => {
  const { node, chain } = await start(t);
  const { height } = await chain.head();
  await node.stop();
  await assert.rejects(chain.findTx("AA".repeat(32), height));
  await assert.rejects(chain.head());
});
