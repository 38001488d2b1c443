/** Adding a service with its status, condition and metric, and adding a bid check: one file and one line in a list each. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { bidChecks, decide } from "../../src/bidengine/decision/decide.ts";
import { type BidCheck, fail, failedChecks, pass } from "../../src/bidengine/decision/decision.ts";
import type { Chain } from "../../src/chain/chain.ts";
import { createHttpTransports } from "../../src/chain/comet/http-transport.ts";
import { createSigner } from "../../src/chain/keys/signer.ts";
import { createProvider } from "../../src/provider/provider.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { condition } from "../../src/runtime/condition.ts";
import type { RuntimeDeps } from "../../src/runtime/deps.ts";
import type { Service } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { done, type Outcome } from "../../src/runtime/outcome.ts";
import { createQueue } from "../../src/runtime/queue.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { providerKey, startMarketChain } from "../support/market-chain.ts";
import { sendSettings } from "../support/outbox-run.ts";
import { someInputs } from "../support/samples/decision-samples.ts";
import { cheap } from "../support/samples/failing-orders.ts";

interface BlockCounterDeps extends RuntimeDeps {
  readonly chain: Promise<Pick<Chain, "onStep">>;
}

interface BlockCounterStatus {
  readonly counted: number;
}

/** Counts blocks: each step of the chain adds a key to the queue, whose work counts it. */
function createBlockCounter(unit: string, deps: BlockCounterDeps): Service<BlockCounterStatus> {
  const { clock, random, log } = deps;
  let counted = 0;
  async function count(): Promise<Outcome> {
    counted += 1;
    return done();
  }
  const queue = createQueue({ name: "heights", work: count, clock, random, log });
  return {
    name: "block-counter",
    async start(scope) {
      const chain = await deps.chain;
      chain.onStep(({ block }) => {
        if (block) queue.add(`${block.height}`);
      });
      scope.task("heights", queue.run);
    },
    detail: () => `${counted} ${unit}`,
    status: () => ({ counted }),
    controlHandlers: { counted: () => counted },
    conditions: () => (counted > 0 ? [condition("BlocksCounted", `${counted} ${unit}`)] : []),
    queues: [queue],
    measure(metrics) {
      metrics.readEach("counter", "akash_provider", [["counted_blocks", "Blocks counted", () => counted]]);
    },
  };
}

test("a service added to the list → its detail, status, control handler, condition, queue and metrics are served", async (t) => {
  const market = await startMarketChain(t);
  const signer = createSigner(providerKey.secret);
  const provider = createProvider({
    dataDir: join(temporaryFolder(t), "data"),
    metricsListener: { host: "127.0.0.1", port: 0 },
    chain: {
      nodes: () => createHttpTransports([{ url: market.node.rpcUrl }], realClock),
      signer,
      settings: sendSettings,
    },
    after: (deps) => [createBlockCounter("blocks", deps)],
    clock: realClock,
    random: realRandom,
    log: silentLog,
  });
  const stopping = new AbortController();
  const running = provider.run(stopping.signal);
  const service = (name: string) => provider.status().services.find((each) => each.name === name);
  await eventually("it runs", () => service("block-counter")?.state === "running");
  market.node.step();
  const isCounted = () => provider.status().queues.find(({ name }) => name === "heights")?.counts.outcomes.done === 1;
  await eventually("a block is counted", isCounted);

  assert.equal(service("block-counter")?.detail, "1 blocks");
  assert.deepEqual(provider.status().statuses["block-counter"], { counted: 1 });
  assert.equal(provider.control("counted", {}, stopping.signal), 1);
  const said = provider.conditions().conditions.filter(({ service: of }) => of === "block-counter");
  assert.deepEqual(said, [{ ...condition("BlocksCounted", "1 blocks"), service: "block-counter" }]);
  const metrics = await (await fetch(service("metrics")?.detail ?? "")).text();
  for (const line of [
    /^akash_provider_counted_blocks_total 1$/m,
    /^akash_provider_queue_outcomes_total\{queue="heights",outcome="done"\} 1$/m,
    /^akash_provider_service_state\{service="block-counter",state="running"\} 1$/m,
  ])
    assert.match(metrics, line);

  stopping.abort();
  await running;
  assert.deepEqual(
    provider.status().services.map(({ name, state }) => [name, state]),
    ["metrics", "journal", "bus", "conditions", "chain", "block-counter"].map((name) => [name, "done"]),
  );
});

test("a bid check added to the list → it is in every decision and can reject an order", async () => {
  const fewReplicas: BidCheck = ({ request: { group } }) =>
    group.units.every(({ count }) => count < 2) ? pass("few replicas") : fail("never", "too many replicas");
  const decision = await decide(someInputs(), cheap, new AbortController().signal, { ...bidChecks, fewReplicas });
  assert.deepEqual(failedChecks(decision), [{ ...fail("never", "too many replicas"), name: "fewReplicas" }]);
  assert.equal(decision.verdict, "no");
});
