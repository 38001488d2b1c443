/** The provider that the bids benchmark measures: all of it, over the wire, with a journal on disk and 100 nodes to sell. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPolicySource } from "../src/bidengine/policies/policy-source.ts";
import { createPricing } from "../src/bidengine/pricing/create-pricing.ts";
import type { PriceSettings } from "../src/bidengine/pricing/pricing.ts";
import { createSimulatedCluster } from "../src/box/cluster/simulated-kube.ts";
import { demoPrices } from "../src/box/demo-prices.ts";
import { createHttpTransports } from "../src/chain/comet/http-transport.ts";
import type { ClusterSnapshot, InventoryFeed } from "../src/cluster/capacity/inventory/feed.ts";
import { createKubeService } from "../src/kube/kube-service.ts";
import { parseCoin, parseDecCoins } from "../src/market/coin.ts";
import { parseDecimal } from "../src/market/decimal.ts";
import { noOvercommit } from "../src/market/fit.ts";
import { createProvider } from "../src/provider/provider.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { untilAborted } from "../src/runtime/lifecycle.ts";
import { silentLog } from "../src/runtime/log.ts";
import type { Metrics } from "../src/runtime/metrics.ts";
import { realRandom } from "../src/runtime/random.ts";
import { providerSigner } from "../test/support/stages/outbox-stage.ts";
import { size } from "./report.ts";

export interface Bidder extends AsyncDisposable {
  /** Resolves when it has nothing left to do. */
  quiet(): Promise<void>;
  /** Why the newest order got no bid. */
  lastNo(): string | undefined;
  /** No more than this took all but one of a hundred decisions, by the bounds of the histogram. */
  decisionP99Ms(): Promise<number>;
}

const deps = { clock: realClock, random: realRandom, log: silentLog };

export async function openBidder(rpcUrl: string, strategy: "scale" | "shellScript"): Promise<Bidder> {
  const dir = mkdtempSync(join(tmpdir(), "akash-provider-bench-"));
  const script = join(dir, "price");
  writeFileSync(script, "#!/bin/sh\necho 2\n");
  chmodSync(script, 0o755);
  const stopping = new AbortController();
  const { promise: ready, resolve, reject } = Promise.withResolvers<unknown>();
  let metrics: Metrics | undefined;
  const cluster = createSimulatedCluster({ nodes: [] }, deps);
  const provider = createProvider({
    dataDir: dir,
    chain: {
      nodes: () => createHttpTransports([{ url: rpcUrl }], realClock),
      signer: providerSigner,
      settings: { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") },
    },
    kube: createKubeService(() => cluster.connect("akash-provider")),
    market: {
      cluster: { overcommit: noOvercommit },
      manifest: { timeoutMs: 0, requireHost: false },
      inventory: () => standingFeed(snapshotOf(100)),
      bidengine: {
        attributes: [{ key: "region", value: "lab" }],
        bidDeposit: parseCoin("500000uakt"),
        minimumBalance: [],
        bidTimeoutMs: 300_000,
        reclamationWindowMs: 0,
        fee: undefined,
      },
      pricing: (deps) => createPricing({ current: pricesBy(strategy, script) }, deps),
      policies: (deps) => createPolicySource(undefined, deps),
    },
    after(services) {
      metrics = services.metrics;
      services.bidengine?.then(resolve, reject);
      return [];
    },
    ...deps,
  });
  const ended = provider.run(stopping.signal);
  ended.catch(reject);
  await ready;
  return {
    lastNo: () => provider.status().bidengine?.recent[0]?.reason,
    async quiet() {
      // Twice in a row: between hearing of a block and looking at what it changed, nothing waits either.
      for (let looks = 0; looks < 2; ) {
        await sleep(realClock, size(500, 100));
        const { bidengine, queues } = provider.status();
        // How orders ended is written down at a pace of its own, behind everything else.
        const others = queues.filter(({ name }) => name !== "market-memory");
        const isBusy = others.some(({ counts }) => counts.ready + counts.running > 0);
        looks = isBusy || bidengine?.orders !== 0 || bidengine.bids !== 0 ? 0 : looks + 1;
      }
    },
    async decisionP99Ms() {
      const lines = (await metrics?.text())?.matchAll(/decision_seconds_bucket\{le="([^"]+)"\} (\d+)/g) ?? [];
      const buckets = [...lines].map(([, le, count]) => ({ ms: 1_000 * Number(le), count: Number(count) }));
      const all = buckets.at(-1)?.count ?? 0;
      return buckets.find(({ count }) => count >= 0.99 * all)?.ms ?? Number.NaN;
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await ended;
      await cluster.close();
      rmSync(dir, { recursive: true });
    },
  };
}

function pricesBy(strategy: "scale" | "shellScript", script: string): PriceSettings {
  const price = { general: parseDecimal("0.01"), own: new Map() };
  return {
    ...demoPrices,
    bidPriceStrategy: strategy,
    bidPriceCpuScale: price,
    bidPriceMemoryScale: price,
    bidPriceStorageScale: { general: new Map([["ephemeral", parseDecimal("0.01")]]), own: new Map() },
    bidPriceEndpointScale: price,
    bidPriceIpScale: price,
    bidPriceGpuScale: { general: new Map(), own: new Map() },
    bidPriceScriptPath: script,
    // As it is by default.
    bidPriceScriptProcessLimit: 32,
    bidPriceScriptTimeoutMs: 10_000,
  };
}

/** One snapshot, always fresh: how snapshots come is not what is measured. */
function standingFeed(shown: ClusterSnapshot): InventoryFeed {
  return {
    snapshot: shown,
    ageMs: 0,
    volumesAgeMs: 0,
    error: undefined,
    counts: { snapshots: 1, proofs: 0, reconnects: 0, errors: 0 },
    lastError: undefined,
    onSnapshot: (listener) => void listener(shown),
    run: untilAborted,
    ask: () => undefined,
    wake: () => undefined,
  };
}

/** Half taken, each a little differently. */
function snapshotOf(count: number): ClusterSnapshot {
  const gi = 2n ** 30n;
  const amount = (allocatable: bigint, allocated: bigint) => ({ allocatable, allocated });
  const nodes = Array.from({ length: count }, (_, n) => ({
    name: `node-${String(n).padStart(3, "0")}`,
    cpuMilli: amount(64_000n, 20_000n + BigInt(n) * 100n),
    memoryBytes: amount(256n * gi, 100n * gi + BigInt(n) * gi),
    ephemeralBytes: amount(1_000n * gi, 500n * gi),
    gpus: amount(0n, 0n),
    gpuCounts: [],
    storageClasses: [],
    volumes: { allocatable: "unlimited" as const, allocated: 0n },
  }));
  return { nodes, storage: [], podsVersion: undefined, cameAtMs: realClock.monotonicMs(), conditions: [] };
}
