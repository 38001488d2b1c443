/**
 * A provider in a process of its own, on the lab's cluster and on a chain in the parent. It runs until its task is done and
 * reports that, or is killed at the first boundary at which no earlier process was killed.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { writeFileSync } from "node:fs";
import { createPolicySource } from "../../src/bidengine/policies/policy-source.ts";
import { createNodeTransport } from "../../src/chain/comet/http-transport.ts";
import { createSigner } from "../../src/chain/keys/signer.ts";
import { networkSettings } from "../../src/cli/market.ts";
import { createGet, createIpOperator } from "../../src/cluster/capacity/addresses/ip-operator.ts";
import { createNewestSnapshot, type SnapshotNode } from "../../src/cluster/capacity/inventory/feed.ts";
import { leaseDefaults } from "../../src/cluster/leases/lease-options.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { createHttpKube } from "../../src/kube/http/http-kube.ts";
import { type Kind, resourceOf } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { createKubeService } from "../../src/kube/kube-service.ts";
import type { Manifests } from "../../src/manifest/intake.ts";
import { parseCoin, parseDecCoins } from "../../src/market/coin.ts";
import { parseDecimal } from "../../src/market/decimal.ts";
import { noOvercommit } from "../../src/market/fit.ts";
import type { DeploymentId } from "../../src/market/ids.ts";
import { createProvider, type ProviderServices } from "../../src/provider/provider.ts";
import { type Boundary, openBoundary } from "../../src/runtime/boundary.ts";
import { realClock, sleep } from "../../src/runtime/clock.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { invariant } from "../../src/runtime/invariant.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { fixedPricing } from "../support/stages/bid-stage.ts";
import { attributes } from "./lease-sdl.ts";

export interface LeaseTask {
  readonly dir: string;
  readonly rpcUrl: string;
  readonly secret: Uint8Array;
  readonly kubeconfig: string;
  readonly manifestNamespace: string;
  /** Below which each service over HTTP gets a host name; without it none does. */
  readonly staticHostDomain?: string;
  /** Where an IP operator answers. */
  readonly ipOperatorPort: number;
  /** A manifest that the tenant sends at the start. */
  readonly sends?: { readonly deployment: DeploymentId; readonly body: string };
  /** Whether it goes on until it has written an Event, which may take a while. */
  readonly writesEvent?: true;
  /**
   * When it ends: a manifest is deployed, every lease is reconciled and nothing is left to do, a lease is gone everywhere, or
   * a stop message arrives.
   */
  readonly until: { readonly lease: string; readonly isSo: "deployed" | "settled" | "gone" } | "stopped";
  /** Boundaries at which others were killed, and a file for the one at which this one is; without it, it is not killed. */
  readonly kill?: { readonly not: readonly string[]; readonly note: string };
}

export type ChildMessage = "ready" | "done" | { readonly failed: string };

interface Write {
  readonly verb: string;
  readonly resource: string;
}

/** The defaults of `run`. */
const { values: unset } = loadConfig({ flags: {}, env: {}, readFile: () => "" });
const clock = realClock;
const lookMs = 20;
/** Boundaries of a lease. Other journal writes depend on time and blocks, and so do Events. */
const counts = /^kube (?!.*events\.events)|^journal (manifest|lease)/;
const eventWithinMs = 60_000;

process.once("message", (task: LeaseTask) => {
  live(task).catch((thrown: unknown) => {
    send({ failed: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) });
    process.exitCode = 1;
    process.disconnect();
  });
});

async function live(task: LeaseTask): Promise<void> {
  const stopping = new AbortController();
  process.once("disconnect", () => stopping.abort());
  process.on("message", () => stopping.abort());
  const opened = Promise.withResolvers<ProviderServices>();
  const provider = createLabProvider(task, opened.resolve);
  const ended = provider.run(stopping.signal);
  const done = async () => {
    const services = await opened.promise;
    const [manifests, journal] = await Promise.all([services.manifests, services.journal]);
    await services.bidengine;
    if (!manifests) throw new Error("nothing is sold");
    send("ready");
    if (task.until === "stopped") return;
    await submit(task, manifests);
    await isSo(task.until, journal, () => provider.status().queues);
    if (task.writesEvent) await hasWrittenEvent(() => provider.status().queues);
    send("done");
    stopping.abort();
  };
  await Promise.all([Promise.race([ended, done()]), ended]);
  process.disconnect();
}

/** As a tenant does: again, while the provider does not know enough to judge. */
async function submit({ sends }: LeaseTask, manifests: Manifests): Promise<void> {
  if (!sends) return;
  for (;;) {
    try {
      await manifests.submit(sends.deployment, sends.body);
      return;
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_CLUSTER_UNKNOWN")) throw thrown;
    }
    await sleep(clock, lookMs);
  }
}

type Queues = ReturnType<typeof createProvider>["status"] extends () => { queues: infer Q } ? () => Q : never;

async function isSo({ lease, isSo }: Exclude<LeaseTask["until"], "stopped">, journal: Journal, queues: Queues) {
  const look = () => {
    const row = journal.read.manifests.get(lease);
    if (isSo === "gone") return row === undefined;
    if (isSo === "deployed") return row !== undefined && row.deployed?.version === row.version;
    const { counts } = queues().find(({ name }) => name === "leases") ?? {};
    return counts !== undefined && counts.ready + counts.running === 0 && counts.outcomes.recheck > 0;
  };
  while (!look()) await sleep(clock, lookMs);
}

async function hasWrittenEvent(queues: Queues): Promise<void> {
  const endMs = clock.monotonicMs() + eventWithinMs;
  const isWritten = () => (queues().find(({ name }) => name === "events")?.counts.outcomes.done ?? 0) > 0;
  while (!isWritten() && clock.monotonicMs() < endMs) await sleep(clock, lookMs);
}

function createLabProvider(task: LeaseTask, onOpen: (services: ProviderServices) => void) {
  const { dir, rpcUrl, secret, kubeconfig, manifestNamespace, staticHostDomain, ipOperatorPort } = task;
  const hosts = { ...leaseDefaults.hosts, ingressDomain: staticHostDomain, staticHostDomain };
  const log = silentLog;
  const deps = { clock, random: createSeededRandom(1), log };
  const written = new AsyncLocalStorage<Write>();
  const inFlight = new Set<Write>();
  const boundary = killing(task, written, inFlight);
  const policies = createPolicySource(undefined, deps);
  const pricing = { ...fixedPricing(), run: untilAborted };
  const connect = () =>
    named(createHttpKube({ fieldManager: "akash-provider", kubeconfig }, { ...deps, boundary }), written, inFlight);
  return createProvider({
    dataDir: dir,
    chain: {
      nodes: () => [createNodeTransport({ url: rpcUrl }, clock)],
      signer: createSigner(secret),
      settings: { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") },
    },
    kube: createKubeService(connect),
    market: {
      cluster: {
        overcommit: noOvercommit,
        leases: { ...leaseDefaults, manifestNamespace, hosts, network: networkSettings(unset) },
      },
      inventory: labFeed,
      ipOperator: ({ kube }) => {
        invariant(kube, "what is sold is in a cluster");
        const endpoint = { host: "127.0.0.1", port: ipOperatorPort };
        return createIpOperator(createGet({ endpoint, inCluster: false, kube }, clock));
      },
      manifest: { timeoutMs: 600_000, requireHost: false },
      bidengine: {
        attributes,
        bidDeposit: parseCoin("500000uakt"),
        minimumBalance: [],
        bidTimeoutMs: 300_000,
        reclamationWindowMs: 0,
        fee: undefined,
      },
      pricing: () => pricing,
      policies: () => policies,
    },
    boundary,
    control: true,
    ...deps,
    after(services) {
      onOpen(services);
      return [];
    },
  });
}

/** The same cluster with a boundary at every write, and a list of writes in flight. */
function named(kube: Kube, written: AsyncLocalStorage<Write>, inFlight: Set<Write>): Kube {
  async function during<T>(verb: string, kind: Kind, send: () => Promise<T>): Promise<T> {
    const write = { verb, resource: resourceOf(kind) };
    inFlight.add(write);
    try {
      return await written.run(write, send);
    } finally {
      inFlight.delete(write);
    }
  }
  return {
    ...kube,
    apply: (kind, ...rest) => during("apply", kind, () => kube.apply(kind, ...rest)),
    delete: (kind, ...rest) => during("delete", kind, () => kube.delete(kind, ...rest)),
  };
}

function killing({ kill }: LeaseTask, written: AsyncLocalStorage<Write>, inFlight: ReadonlySet<Write>): Boundary {
  if (!kill) return openBoundary;
  const before = new Set(kill.not);
  return {
    cross(kind, point) {
      const write = written.getStore();
      // Just before a write the cluster is as it was just after the one before it.
      const isWritten = kind === "kube" && point.endsWith(":after");
      const at = [kind, point, isWritten ? write?.resource : undefined].filter(Boolean).join(" ");
      if (before.has(at) || !counts.test(at)) return;
      // The API server may complete a write in flight, and the next process finds it done.
      const others = [...inFlight].filter((each) => each !== write);
      const sent = others.map(({ verb, resource }) => `kube ${verb}:sent ${resource}`);
      // A killed process sends no last word.
      writeFileSync(kill.note, [at, ...sent].join("\n"));
      process.kill(process.pid, "SIGKILL");
      // The signal arrives at once, but not before the next instruction.
      for (;;);
    },
  };
}

/** One node with room for everything, whatever the lab's other users take of it. */
function labFeed() {
  const plenty = (amount: bigint) => ({ allocatable: amount, allocated: 0n });
  const node: SnapshotNode = {
    name: "lab",
    cpuMilli: plenty(64_000n),
    memoryBytes: plenty(2n ** 38n),
    ephemeralBytes: plenty(2n ** 40n),
    gpus: plenty(0n),
    gpuCounts: [],
    volumes: { allocatable: "unlimited", allocated: 0n },
    storageClasses: ["beta2"],
  };
  const log = silentLog;
  const newest = createNewestSnapshot(clock, log, () => ({ silentMs: 0, ownAgeMs: 0 }));
  return Object.assign(newest, {
    ask: () => undefined,
    wake: () => undefined,
    run(signal: AbortSignal) {
      const storage = [{ class: "beta2", bytes: plenty(2n ** 40n) }];
      newest.show({ nodes: [node], storage, podsVersion: undefined, conditions: [], cameAtMs: clock.monotonicMs() });
      return untilAborted(signal);
    },
  });
}

function send(message: ChildMessage): void {
  process.send?.(message);
}
