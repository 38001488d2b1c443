/** The chain's service at its start and against the local clock: what it waits for, what it rejects, and what it shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { rpcClockSkewMs } from "../../src/chain/comet/block-times.ts";
import { createCometChain } from "../../src/chain/comet/comet-chain.ts";
import type { Cursor } from "../../src/chain/comet/follower.ts";
import { createHttpTransports } from "../../src/chain/comet/http-transport.ts";
import { type Clock, realClock } from "../../src/runtime/clock.ts";
import { createLifecycle } from "../../src/runtime/lifecycle.ts";
import { type Log, silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { type FaultProxy, startFaultProxy } from "../support/fault-proxy.ts";
import { type MarketChain, providerAddress, startMarketChain } from "../support/market-chain.ts";
import type { Owner } from "../support/owner.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { serviceOf, upToDate, watch } from "../support/stages/mirror-stage.ts";

async function twoProxies(t: Owner, { node }: MarketChain): Promise<[FaultProxy, FaultProxy]> {
  return [await startFaultProxy(t, () => node.rpcUrl), await startFaultProxy(t, () => node.rpcUrl)];
}

/** Starts the chain's service with next to no time for a start, and does not wait for it. */
function startChain(t: Owner, urls: readonly string[], cursor: Cursor) {
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => void warnings.push(message) };
  const parts = { clock: realClock, random: createSeededRandom(1), log };
  const addresses = urls.map((url) => ({ url }));
  const nodes = createHttpTransports(addresses, realClock);
  const chain = createCometChain({ nodes, provider: providerAddress, cursor, ...parts });
  const lifecycle = createLifecycle({ services: [serviceOf(chain)], clock: realClock, log: silentLog, startMs: 20 });
  const stopping = new AbortController();
  const ended = lifecycle.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await ended;
  });
  return { chain, warnings, ended };
}

function cursorAt(height: bigint | undefined): Cursor {
  return { load: () => height, save: () => Promise.resolve() };
}

test("a start without any node waits for one, warns once and shows the reason", async (t) => {
  const market = await startMarketChain(t);
  const proxies = await twoProxies(t, market);
  let calls = 0;
  for (const proxy of proxies) {
    proxy.fault = () => {
      calls += 1;
      return "cut";
    };
  }
  const urls = proxies.map(({ url }) => url);
  const { chain, warnings } = startChain(t, urls, cursorAt(undefined));
  assert.match(chain.status.reason ?? "", /no RPC node has answered yet/);
  await eventually("several tries", () => calls >= 6);
  assert.match(chain.status.reason ?? "", /cannot be reached/);
  assert.equal(chain.status.chainId, undefined);
  assert.equal(warnings.filter((message) => /the start waits/.test(message)).length, 1);
  for (const proxy of proxies) proxy.fault = () => undefined;
  await eventually("the mirror", () => chain.mirror.ready && chain.status.reason === undefined);
  assert.equal(chain.status.chainId, market.node.chainId);
});

test("a start for which every node fails at the lists waits until one gives them", async (t) => {
  const market = await startMarketChain(t);
  const proxies = await twoProxies(t, market);
  for (const proxy of proxies) {
    let ours = 0;
    proxy.fault = (method) => {
      if (method !== "abci_query") return undefined;
      ours += 1;
      return ours % 2 === 0 ? "html" : undefined;
    };
  }
  const urls = proxies.map(({ url }) => url);
  const { chain } = startChain(t, urls, cursorAt(undefined));
  await eventually("a reason", () => /an HTML page/.test(chain.status.reason ?? ""));
  assert.equal(chain.mirror.ready, false);
  for (const proxy of proxies) proxy.fault = () => undefined;
  await eventually("the mirror", () => chain.mirror.ready);
});

test("a start whose nodes are all of another chain does not wait: a person must correct that", async (t) => {
  const market = await startMarketChain(t);
  const nodes = createHttpTransports([{ url: market.node.rpcUrl }], realClock);
  const parts = { cursor: cursorAt(undefined), clock: realClock, random: createSeededRandom(1), log: silentLog };
  const chain = createCometChain({ nodes, chainId: "other-1", provider: providerAddress, ...parts });
  const lifecycle = createLifecycle({ services: [serviceOf(chain)], clock: realClock, log: silentLog });
  await assert.rejects(lifecycle.run(new AbortController().signal), { code: "AKP_CHAIN_WRONG_ID" });
});

test("a cursor above the head of the chain is called that, and followed once the chain is past it", async (t) => {
  const market = await startMarketChain(t);
  const cursor = market.node.height + 10n;
  const { chain } = startChain(t, [market.node.rpcUrl], cursorAt(cursor));
  const words = new RegExp(`followed market-1 up to block ${cursor}, and its nodes are only at ${market.node.height}`);
  await eventually("the words", () => words.test(chain.status.reason ?? ""));
  while (market.node.height < cursor) market.node.step();
  await eventually("the mirror", () => chain.mirror.ready);
  market.node.step();
  await eventually("the next block", () => chain.height === market.node.height);
});

test("a wrong local clock shows as problem while blocks are followed, and ends when it is set", async (t) => {
  const market = await startMarketChain(t);
  let offMs = 0;
  const clock: Clock = { ...realClock, now: () => realClock.now() + offMs };
  const watched = await watch(t, market, { clock });
  await upToDate(watched, market);
  offMs = -2 * rpcClockSkewMs;
  await eventually("the doubt", () => {
    market.node.step();
    return watched.chain.status.reason !== undefined;
  });
  assert.match(watched.chain.status.reason ?? "", /the local clock is \d+ s behind the time of new blocks/);
  offMs = 0;
  market.node.step();
  await eventually("the end of it", () => watched.chain.status.reason === undefined);
});
