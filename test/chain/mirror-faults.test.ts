/** The mirror when nodes, wires, listeners or the journal go wrong. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { rpcMirrorRelistMs } from "../../src/chain/comet/comet-chain.ts";
import { rpcGapTimeoutMs } from "../../src/chain/comet/gap.ts";
import { rpcBreakerFailures } from "../../src/chain/comet/rpc-node.ts";
import { formatBidId, formatOrderId } from "../../src/market/ids.ts";
import { type Clock, realClock } from "../../src/runtime/clock.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { eventually } from "../support/eventually.ts";
import { type FaultProxy, startFaultProxy } from "../support/fault-proxy.ts";
import { type MarketChain, providerKey, startMarketChain, tenantKey } from "../support/market-chain.ts";
import { closeDeployment, createBid, createDeployment, createLease } from "../support/market-messages.ts";
import type { Owner } from "../support/owner.ts";
import { bid, changedKeys, deployment, order, upToDate, watch } from "../support/stages/mirror-stage.ts";

async function twoProxies(t: Owner, { node }: MarketChain): Promise<[FaultProxy, FaultProxy]> {
  return [await startFaultProxy(t, () => node.rpcUrl), await startFaultProxy(t, () => node.rpcUrl)];
}

/** What else waits for minutes waits for a moment: only the comparison does. */
const oftenComparing: Clock = {
  ...realClock,
  timer: (delayMs, fire) => realClock.timer(delayMs > rpcMirrorRelistMs / 4 ? 20 : delayMs, fire),
};

test("an event that a node hides shows up as drift when the mirror is compared, and is put right", async (t) => {
  const market = await startMarketChain(t);
  const proxy = await startFaultProxy(t, () => market.node.rpcUrl);
  const watched = await watch(t, market, { urls: [proxy.url] });
  proxy.rewrite = (method, answer) => (method === "block_results" ? answer.replaceAll("EventOrder", "Event") : answer);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await upToDate(watched, market);
  assert.equal(watched.chain.mirror.order(order(1n)), undefined);
  const drifted = await watched.chain.compareMirror();
  assert.deepEqual(drifted[0], { kind: "order", key: formatOrderId(order(1n)) });
  assert.equal(watched.chain.counts.mirror.drift, 1);
  assert.equal(watched.chain.mirror.order(order(1n))?.state, "open");
});

test("after a block with an event that cannot be read, the mirror is built from the lists", async (t) => {
  const market = await startMarketChain(t);
  const proxy = await startFaultProxy(t, () => market.node.rpcUrl);
  const watched = await watch(t, market, { urls: [proxy.url] });
  proxy.rewrite = (method, answer) => (method === "block_results" ? answer.replaceAll("gseq", "xseq") : answer);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await upToDate(watched, market);
  assert.equal(watched.chain.mirror.order(order(1n))?.state, "open");
  assert.equal(watched.chain.counts.follower.malformedEvents, 1);
  assert.equal(watched.chain.counts.mirror.builds, 2);
});

test("a node whose application panics, knows no query or answers with garbage is avoided, and another one is queried", async (t) => {
  const market = await startMarketChain(t);
  const [bad, good] = await twoProxies(t, market);
  const answers = [
    { code: 111222, codespace: "sdk", log: "recovered: runtime error: invalid memory address: panic" },
    { code: 6, codespace: "sdk", log: "unknown query path: unknown request" },
    { code: 0, value: Buffer.from("garbage").toString("base64"), height: "1000" },
  ];
  for (const [index, response] of answers.entries()) {
    // Begun anew each time, with the first: an answer of the other that is under way would make that one the preferred.
    const watched = await watch(t, market, { urls: [bad.url, good.url] });
    bad.rewrite = (method, answer) =>
      method === "abci_query"
        ? JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(answer).id, result: { response } })
        : answer;
    const dseq = BigInt(index + 1);
    await market.act(tenantKey, createDeployment({ id: deployment(dseq) }));
    await upToDate(watched, market);
    assert.equal(watched.chain.mirror.order(order(dseq))?.state, "open");
    assert.equal(watched.chain.pool.nodes[0]?.condition, "failing", JSON.stringify(response));
    bad.rewrite = (_, answer) => answer;
    await watched.chain.pool.probe();
    assert.equal(watched.chain.pool.nodes[0]?.condition, "good", "and used again when it is well");
    await watched.stop();
  }
});

test("an order is not missed when its block can be read before the node has committed it", async (t) => {
  const market = await startMarketChain(t);
  const proxy = await startFaultProxy(t, () => market.node.rpcUrl);
  const watched = await watch(t, market, { urls: [proxy.url] });
  await upToDate(watched, market);
  let early = 0;
  proxy.rewrite = (method, answer, { height }) => {
    if (method !== "abci_query" || early >= 2) return answer;
    early += 1;
    const future = { code: 26, codespace: "sdk", log: "cannot query with height in the future", height: "0" };
    const absent = { code: 22, codespace: "sdk", log: "order not found", height: "0" };
    return JSON.stringify({ ...JSON.parse(answer), result: { response: height === undefined ? absent : future } });
  };
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await upToDate(watched, market);
  assert.equal(early, 2);
  assert.equal(watched.chain.mirror.order(order(1n))?.state, "open");
  assert.equal(watched.chain.counts.follower.retries, 0, "a short wait is no failure");
});

test("a mirror that is far behind the head is built anew once, and not led through every block", async (t) => {
  const market = await startMarketChain(t);
  const proxy = await startFaultProxy(t, () => market.node.rpcUrl);
  const watched = await watch(t, market, { urls: [proxy.url] });
  await upToDate(watched, market);
  proxy.fault = () => "cut";
  await eventually("the outage", () => watched.chain.status.reason !== undefined);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  for (let made = 0; made < 100; made += 1) market.node.step();
  proxy.fault = () => undefined;
  await upToDate(watched, market);
  assert.equal(watched.chain.mirror.order(order(1n))?.state, "open");
  assert.equal(watched.chain.counts.mirror.builds, 2);
  // A slow query may be repeated.
  const blocksRead = proxy.passed.get("block_results") ?? 0;
  assert.ok(blocksRead >= Number(market.node.height - 3n), "but every block was read");
});

test("the lists are begun anew at another node when the first fails half-way, also at the start", async (t) => {
  const market = await startMarketChain(t);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await market.act(providerKey, createBid(bid(1n)));
  await market.act(tenantKey, createLease(bid(1n)));
  const [first, second] = await twoProxies(t, market);
  let calls = 0;
  first.fault = (method) => {
    if (method === "abci_query") calls += 1;
    return calls >= 3 ? "html" : undefined;
  };
  const watched = await watch(t, market, { urls: [first.url, second.url] });
  assert.ok(calls >= 3);
  assert.equal(watched.chain.mirror.lease(bid(1n))?.state, "active");
  assert.equal(watched.chain.mirror.bid(bid(1n))?.state, "active");
});

test("a node whose queries are answered with errors is avoided, and the mirror goes on at another", async (t) => {
  const market = await startMarketChain(t);
  const [bad, good] = await twoProxies(t, market);
  const watched = await watch(t, market, { urls: [bad.url, good.url] });
  await upToDate(watched, market);
  bad.fault = (method) => (method === "abci_query" ? "error" : undefined);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await upToDate(watched, market);
  assert.equal(watched.chain.mirror.order(order(1n))?.state, "open");
  assert.deepEqual(
    watched.chain.status.nodes.map(({ condition }) => condition),
    ["failing", "good"],
  );
  assert.equal(watched.chain.status.reason, undefined);
});

test("a block that no node can return is a gap after a minute, and blocks nothing else meanwhile", async (t) => {
  const market = await startMarketChain(t);
  const proxies = await twoProxies(t, market);
  let laterMs = 0;
  const clock: Clock = { ...realClock, monotonicMs: () => realClock.monotonicMs() + laterMs };
  const watched = await watch(t, market, { urls: proxies.map(({ url }) => url), clock });
  const { chain } = watched;
  await upToDate(watched, market);
  const unread = market.node.height + 1n;
  for (const proxy of proxies) {
    proxy.rewrite = (method, answer, { height }) =>
      method === "block_results" && height === `${unread}` ? answer.replaceAll('"type":', '"typ":') : answer;
  }
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await market.act(tenantKey, createDeployment({ id: deployment(2n) }));
  const { follower } = chain.counts;
  /** A new block is announced at once, and ends the pause before the next try. */
  async function anotherTry(): Promise<void> {
    const before = follower.retries;
    market.node.step();
    await eventually("another try", () => follower.retries > before || follower.gaps > 0);
  }
  for (let failures = 0; failures <= rpcBreakerFailures; failures += 1) await anotherTry();
  assert.match(chain.status.reason ?? "", /an event has no type/);
  const { value } = await chain.queries.order(order(1n));
  assert.equal(value?.state, "open", "queries are answered");
  for (const { condition } of chain.status.nodes) assert.notEqual(condition, "down");
  for (; laterMs < rpcGapTimeoutMs; laterMs += rpcGapTimeoutMs / 2) await anotherTry();
  market.node.step();
  await upToDate(watched, market);
  assert.deepEqual(
    watched.steps.flatMap(({ gap }) => gap ?? []),
    [{ from: unread, to: unread }],
  );
  assert.ok(chain.mirror.order(order(1n)) && chain.mirror.order(order(2n)));
  assert.equal(chain.status.reason, undefined);
});

test("a step whose listener failed because of the chain is delivered again, also after a rebuild of the mirror", async (t) => {
  const market = await startMarketChain(t);
  const proxy = await startFaultProxy(t, () => market.node.rpcUrl);
  let failures = 0;
  const watched = await watch(t, market, {
    urls: [proxy.url],
    listener: ({ block }) => {
      if (!block || block.malformed.length === 0 || failures > 0) return undefined;
      failures += 1;
      throw new ProviderError("AKP_CHAIN_UNREACHABLE", { node: "a node", reason: "gone" });
    },
  });
  proxy.rewrite = (method, answer) => (method === "block_results" ? answer.replaceAll("gseq", "xseq") : answer);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await upToDate(watched, market);
  const steps = watched.steps.filter(({ block }) => block?.height === market.node.height);
  assert.deepEqual(
    steps.map(({ changed }) => changed),
    Array.from({ length: 2 }, () => [{ kind: "order", key: formatOrderId(order(1n)) }]),
  );
  market.node.step();
  await upToDate(watched, market);
  assert.deepEqual(watched.steps.at(-1)?.changed, [], "and then no more");
});

test("after blocks that no node has any more, the mirror is built from the lists and reports changes", async (t) => {
  const market = await startMarketChain(t, { keepBlocks: 5 });
  const proxy = await startFaultProxy(t, () => market.node.rpcUrl);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await market.act(providerKey, createBid(bid(1n)));
  await market.act(tenantKey, createLease(bid(1n)));
  const watched = await watch(t, market, { urls: [proxy.url] });
  await upToDate(watched, market);
  const seen = market.node.height;
  proxy.fault = () => "cut";
  await eventually("the outage", () => watched.chain.status.reason !== undefined);
  await market.act(tenantKey, closeDeployment(deployment(1n)));
  await market.act(tenantKey, createDeployment({ id: deployment(2n) }));
  for (let made = 0; made < 10; made += 1) market.node.step();
  proxy.fault = () => undefined;
  await upToDate(watched, market);
  const [gap] = watched.steps.filter((step) => step.gap);
  assert.deepEqual(gap?.gap, { from: seen + 1n, to: market.node.height - 5n });
  const keys = changedKeys(gap ? [gap] : []);
  assert.ok(keys.includes(`lease ${formatBidId(bid(1n))}`));
  assert.ok(keys.includes(`order ${formatOrderId(order(2n))}`));
  assert.equal(watched.chain.mirror.order(order(2n))?.state, "open");
  assert.equal(watched.chain.mirror.lease(bid(1n)), undefined, "how it ended is for the chain to say");
  assert.deepEqual(await watched.chain.compareMirror(), []);
});

test("a journal that is locked during the step of a comparison loses nothing and ends nothing", async (t) => {
  const market = await startMarketChain(t);
  const proxy = await startFaultProxy(t, () => market.node.rpcUrl);
  const written: string[] = [];
  let busy = 1;
  const watched = await watch(t, market, {
    urls: [proxy.url],
    clock: oftenComparing,
    async listener({ block, changed }) {
      if (!block && busy > 0) {
        busy -= 1;
        throw new ProviderError("AKP_JOURNAL_BUSY", { path: "journal", reason: "it is locked" });
      }
      written.push(...changed.map(({ kind }) => kind));
    },
  });
  proxy.rewrite = (method, answer) => (method === "block_results" ? answer.replaceAll("EventOrder", "Event") : answer);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await Promise.race([watched.ended, eventually("the lock", () => busy === 0)]);
  market.node.step();
  await Promise.race([watched.ended, eventually("the key", () => written.includes("order"))]);
  assert.equal(watched.chain.mirror.order(order(1n))?.state, "open");
});
