/** What every transport to a node of the chain keeps: the chain's client does not know which one it speaks over. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createRpcCall } from "../../../src/chain/comet/rpc-call.ts";
import type { RpcTransport } from "../../../src/chain/comet/transport.ts";
import { startNode, type TestNode, wordsBase64 } from "../embedded-node.ts";
import { eventually } from "../eventually.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";

export interface TransportContract {
  readonly name: string;
  open(node: TestNode, clock: VirtualClock): RpcTransport;
}

const forever = new AbortController().signal;
const anyBytes = { signal: forever, onBytes: () => undefined };
const subscribe = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "subscribe",
  params: { query: "tm.event='NewBlockHeader'" },
});

function request(method: string, params = {}) {
  return { method, text: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }) };
}

/** Answered once a block holds the transaction, so not before the test makes one. */
const waitsForBlock = { tx: wordsBase64("slow") };

export function checkTransport({ name, open }: TransportContract): void {
  async function stage(t: TestContext) {
    const clock = createVirtualClock();
    const node = await startNode(t, { clock });
    node.step();
    const transport = open(node, clock);
    t.after(() => transport.close());
    return { clock, node, transport };
  }

  /** Stays subscribed until the test ends it; what came so far. */
  function listen(t: TestContext, transport: RpcTransport) {
    const ending = new AbortController();
    const messages: string[] = [];
    const ended = transport.listen(subscribe, (message) => void messages.push(message), ending.signal);
    t.after(() => ending.abort());
    return { messages, ended, end: () => ending.abort() };
  }

  test(`${name}: an answer is the text that the node's wire has, and its bytes are told`, async (t) => {
    const { node, transport } = await stage(t);
    let bytes = 0;
    const onBytes = (more: number) => {
      bytes += more;
    };
    for (const asked of [request("block", { height: "1" }), request("block", { height: "9" }), request("nothing")]) {
      bytes = 0;
      const { status, body } = await transport.send(asked, { signal: forever, onBytes });
      assert.deepEqual({ status, text: body }, await node.post(asked.text));
      assert.equal(bytes, Buffer.byteLength(body));
    }
  });

  test(`${name}: a call that is no longer wanted ends with the reason, whether or not it is under way`, async (t) => {
    const { node, transport } = await stage(t);
    const wanted = new AbortController();
    const call = transport.send(request("broadcast_tx_commit", waitsForBlock), { ...anyBytes, signal: wanted.signal });
    await eventually("the transaction", () => node.counts.waitingTxs === 1);
    wanted.abort(new Error("enough"));
    await assert.rejects(call, /enough/);
    await assert.rejects(transport.send(request("status"), { ...anyBytes, signal: wanted.signal }), /enough/);
  });

  test(`${name}: whoever has had enough bytes gets no more`, async (t) => {
    const { transport } = await stage(t);
    const wanted = new AbortController();
    const onBytes = () => wanted.abort(new Error("too large"));
    await assert.rejects(transport.send(request("status"), { signal: wanted.signal, onBytes }), /too large/);
  });

  test(`${name}: a node that takes too long is given up at the time that was set`, async (t) => {
    const { clock, transport } = await stage(t);
    const call = createRpcCall(transport, clock);
    const late = assert.rejects(call("broadcast_tx_commit", waitsForBlock, { timeoutMs: 700 }), {
      code: "AKP_CHAIN_UNREACHABLE",
      message: /no answer within 700 ms/,
    });
    await clock.advance(700);
    await late;
  });

  test(`${name}: a subscription is confirmed, tells of every block, and ends when asked to`, async (t) => {
    const { node, transport } = await stage(t);
    const { messages, ended, end } = listen(t, transport);
    await eventually("the confirmation", () => messages.length === 1);
    assert.deepEqual(JSON.parse(messages[0] ?? ""), { jsonrpc: "2.0", id: 1, result: {} });
    for (const height of ["2", "3"]) {
      node.step();
      await eventually("the block", () => messages.length === Number(height));
      assert.equal(JSON.parse(messages.at(-1) ?? "").result.data.value.header.height, height);
    }
    end();
    await ended;
    node.step();
    await node.call("status");
    assert.equal(messages.length, 3);
    assert.equal(node.counts.subscriptions, 0);
  });

  test(`${name}: with the node its subscriptions end, and calls say that it cannot be reached`, async (t) => {
    const { node, transport } = await stage(t);
    const { messages, ended } = listen(t, transport);
    await eventually("the confirmation", () => messages.length === 1);
    await node.stop();
    await ended;
    await assert.rejects(transport.send(request("status"), anyBytes), { code: "AKP_CHAIN_UNREACHABLE" });
    await assert.rejects(
      transport.listen(subscribe, () => undefined, forever),
      { code: "AKP_CHAIN_UNREACHABLE" },
    );
  });
}
