import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startEventChain } from "../../../test/support/event-chain.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { startFaultProxy } from "../../../test/support/fault-proxy.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { silentLog } from "../../runtime/log.ts";
import { createNodeTransport, rpcWakePingMs } from "./http-transport.ts";
import type { RpcTransport } from "./transport.ts";
import { createWakeup, rpcWakeReconnectFirstMs } from "./wakeup.ts";

/** Real sockets, and time that the test moves. */
async function stage(t: TestContext) {
  const chain = await startEventChain(t);
  await chain.block();
  const proxy = await startFaultProxy(t, () => chain.node.rpcUrl);
  const clock = createVirtualClock();
  const node = createNodeTransport({ url: proxy.url }, clock);
  let woken = 0;
  const wake = () => {
    woken += 1;
  };
  let current: RpcTransport = node;
  const use = (next: RpcTransport) => {
    current = next;
  };
  const parts = { node: () => current, wake, clock, random: createSeededRandom(1), log: silentLog };
  const wakeup = createWakeup(parts);
  const stopping = new AbortController();
  const ended = wakeup.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await ended;
    node.close();
  });
  await eventually("the subscription", () => wakeup.subscribed);
  return { chain, proxy, clock, wakeup, use, counts: node.sockets, wakes: () => woken };
}

test("a fault of our own ends the wake-up instead of being tried again for ever", async () => {
  const node = (): RpcTransport => {
    throw new TypeError("no such thing");
  };
  const parts = { node, wake: () => undefined, clock: createVirtualClock(), log: silentLog };
  const wakeup = createWakeup({ ...parts, random: createSeededRandom(1) });
  await assert.rejects(wakeup.run(new AbortController().signal), /no such thing/);
});

test("every new block wakes, and so does the beginning of a subscription", async (t) => {
  const { chain, wakes } = await stage(t);
  assert.equal(wakes(), 1);
  await chain.block();
  await eventually("the block", () => wakes() === 2);
});

test("a connection over which nothing comes any more is noticed and made anew", async (t) => {
  const { chain, proxy, clock, wakeup, counts, wakes } = await stage(t);
  proxy.muteSockets();
  await chain.block();
  await clock.advance(rpcWakePingMs);
  assert.equal(counts.halfOpen, 0, "the breaker is checked first");
  await clock.advance(rpcWakePingMs);
  await eventually("the end of it", () => counts.halfOpen === 1 && !wakeup.subscribed);
  const before = wakes();
  await eventually("a new connection", async () => {
    await clock.advance(rpcWakeReconnectFirstMs);
    return counts.connections === 2 && wakes() > before;
  });
});

test("a healthy connection without blocks is kept", async (t) => {
  const { clock, wakeup, counts } = await stage(t);
  for (let beat = 1; beat < 5; beat += 1) {
    await eventually("the answer to a ping", () => counts.pongs === beat);
    await clock.advance(rpcWakePingMs);
  }
  assert.deepEqual([counts.connections, counts.halfOpen, wakeup.subscribed], [1, 0, true]);
});

test("when another node is in use, that one is listened to", async (t) => {
  const { clock, wakeup, use, wakes } = await stage(t);
  const other = await startEventChain(t);
  await other.block();
  const second = createNodeTransport({ url: other.node.rpcUrl }, clock);
  t.after(() => second.close());
  wakeup.moveOn();
  assert.equal(wakeup.subscribed, true, "it is the same node still");
  use(second);
  wakeup.moveOn();
  await eventually("the end of the first", () => !wakeup.subscribed);
  await eventually("the second", async () => {
    await clock.advance(rpcWakeReconnectFirstMs);
    return wakeup.subscribed;
  });
  const before = wakes();
  await other.block();
  await eventually("the other's block", () => wakes() === before + 1);
});
