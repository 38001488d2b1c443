/** The chain's service over the wire, put together as the provider does it. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createChainService } from "../../src/chain/chain-service.ts";
import { createHttpTransports } from "../../src/chain/comet/http-transport.ts";
import { createSigner } from "../../src/chain/keys/signer.ts";
import { openJournal } from "../../src/journal/open.ts";
import { openBoundary } from "../../src/runtime/boundary.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { createLifecycle } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../support/eventually.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";
import { temporaryFolder } from "../support/folder.ts";
import { providerKey, startMarketChain, tenantKey } from "../support/market-chain.ts";
import { createBid, createDeployment } from "../support/market-messages.ts";
import { sendSettings } from "../support/outbox-run.ts";
import { bid, deployment } from "../support/stages/mirror-stage.ts";

async function start(t: TestContext) {
  const market = await startMarketChain(t);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  const proxy = await startFaultProxy(t, () => market.node.rpcUrl);
  const deps = { clock: realClock, random: realRandom, log: silentLog };
  const { journal } = await openJournal({ dir: temporaryFolder(t), ...deps });
  const signer = createSigner(providerKey.secret);
  const nodes = () => createHttpTransports([{ url: proxy.url }], realClock);
  const options = { nodes, signer, settings: sendSettings };
  const service = createChainService(options, { journal: Promise.resolve(journal), boundary: openBoundary, ...deps });
  const lifecycle = createLifecycle({ services: [service], ...deps });
  const abort = new AbortController();
  const running = lifecycle.run(abort.signal);
  t.after(async () => {
    abort.abort();
    await running;
    await journal.close();
  });
  await eventually("the chain is followed", () => lifecycle.services[0]?.state === "running");
  return { market, proxy, service, chain: await service.opened };
}

test("over a node that keeps no index, a bid is done when the block that holds it is followed", async (t) => {
  const { market, proxy, chain } = await start(t);
  let calls = 0;
  proxy.rewrite = (method, answer) => {
    if (method !== "tx") return answer;
    calls += 1;
    const error = { code: -32603, message: "Internal error", data: "transaction indexing is disabled" };
    return JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(answer).id, error });
  };
  const message = createBid(bid(1n));
  const id = await chain.outbox.file({ subject: "order 1", why: "test", message, priority: "bid" });
  await eventually("it is sent", () => chain.outbox.counts.broadcasts === 1);
  market.node.step();
  const { state, result } = await chain.outbox.wait(id);
  assert.equal(state, "done");
  assert.equal(result.spent, "500000uakt");
  assert.equal(calls, 0);
});

test("the status shows that no node answers", async (t) => {
  const { proxy, service, chain } = await start(t);
  proxy.fault = () => "cut";
  const message = createBid(bid(1n));
  await chain.outbox.file({ subject: "order 1", why: "test", message, priority: "bid" });
  const silent = await eventually("the outbox hears nothing", () => chain.outbox.state.silent);
  assert.equal(service.detail?.(), silent);
  assert.ok(service.status?.()?.error);
});
