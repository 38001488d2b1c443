/**
 * The world around leases in one process, on the virtual clock and without a socket: a chain that makes blocks, a cluster
 * with machines, and a provider that lives there once or several times, on the journal of its folder. Whatever happens on
 * it follows from the seed.
 */
import type { BidEngineOptions } from "../../../src/bidengine/decider.ts";
import { createPolicySource } from "../../../src/bidengine/policies/policy-source.ts";
import type { AbciEvent } from "../../../src/box/chain/abci.ts";
import { createEmbeddedNode } from "../../../src/box/chain/embedded-node.ts";
import type { Node } from "../../../src/box/chain/node/node.ts";
import type { Behaviour } from "../../../src/box/cluster/components/kubelet/behaviour.ts";
import { createSimulatedCluster, type SimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import type { Bus } from "../../../src/bus/bus.ts";
import type { Chain, Queries } from "../../../src/chain/chain.ts";
import { createPool } from "../../../src/chain/comet/pool.ts";
import { createQueries } from "../../../src/chain/comet/queries/queries.ts";
import type { RpcTransport } from "../../../src/chain/comet/transport.ts";
import { createSigner, type Signer } from "../../../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../../../src/chain/tx/comet-broadcaster.ts";
import { type PackedMessage, packMessage } from "../../../src/chain/tx/messages.ts";
import { sendMessages } from "../../../src/chain/tx/send.ts";
import type { IpOperatorClient } from "../../../src/cluster/capacity/addresses/ip-operator.ts";
import type { Cluster } from "../../../src/cluster/cluster-service.ts";
import type { MonitorOptions } from "../../../src/cluster/health/monitoring.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import { installDefinitions, readDefinitions } from "../../../src/kube/definitions.ts";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube } from "../../../src/kube/kube.ts";
import { createKubeService } from "../../../src/kube/kube-service.ts";
import { readLeasedIp } from "../../../src/kube/objects/leased-ip.ts";
import type { Manifests } from "../../../src/manifest/intake.ts";
import { parseCoin, parseCoins, parseDecCoins } from "../../../src/market/coin.ts";
import { parseDecimal } from "../../../src/market/decimal.ts";
import { noOvercommit } from "../../../src/market/fit.ts";
import { formatOrderId } from "../../../src/market/ids.ts";
import {
  createProvider,
  type MarketOptions,
  type ProviderOptions,
  type ProviderStatus,
} from "../../../src/provider/provider.ts";
import { type Boundary, openBoundary } from "../../../src/runtime/boundary.ts";
import { realClock, sleep } from "../../../src/runtime/clock.ts";
import { invariant } from "../../../src/runtime/invariant.ts";
import { type ControlParams, untilAborted } from "../../../src/runtime/lifecycle.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import type { Metrics } from "../../../src/runtime/metrics.ts";
import type { Random } from "../../../src/runtime/random.ts";
import { advanceUntilSettled } from "../advance-until-settled.ts";
import { createOwner, type Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";
import { fixedPricing, snapshotFeed } from "./bid-stage.ts";

export const initialCoins = parseCoins("1000000000000uact,1000000000000uakt");
export const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };
/** How often somebody looks whether what he waits for has come. */
const lookMs = 1_000;
const patienceMs = 600_000;
/** Fewer than go by in a longer absence: then the blocks in between are gone. */
const keepBlocks = 200;

/** As the inventory operator labels it. */
export const machine = {
  name: "one",
  cpuMilli: 64_000n,
  memoryBytes: 2n ** 36n,
  ephemeralBytes: 2n ** 40n,
  labels: { "akash.network": "true", "akash.network/capabilities.storage.class.beta3": "1" },
};
export const bidding: BidEngineOptions = {
  attributes: [
    { key: "capabilities/storage/1/class", value: "beta3" },
    { key: "capabilities/storage/1/persistent", value: "true" },
    { key: "capabilities/storage/2/class", value: "ram" },
    { key: "capabilities/storage/2/persistent", value: "false" },
  ],
  bidDeposit: parseCoin("500000uakt"),
  minimumBalance: [],
  bidTimeoutMs: 300_000,
  reclamationWindowMs: 3_600_000,
  fee: undefined,
};

/** What these providers sell and how, but for where they look. */
export function marketOptions({ manifestTimeoutMs = 300_000, monitor }: SaleOptions) {
  const manifest = { timeoutMs: manifestTimeoutMs, requireHost: false };
  const cluster = { overcommit: noOvercommit, ...(monitor && { leases: { monitor } }) };
  return { cluster, bidengine: bidding, manifest };
}

interface SaleOptions {
  readonly manifestTimeoutMs?: number | undefined;
  /** When a lease that does not work is closed. */
  readonly monitor?: MonitorOptions | undefined;
}

export interface LeaseStageOptions extends SaleOptions {
  readonly seed?: number;
  /** Of the provider's journal, unless a life is told another. */
  readonly dir: string;
  readonly blockMs?: number;
  /** As some versions of the chain do. */
  readonly closeDryLeasesInEndBlock?: boolean;
  /** What the provider asks of every order, a block. */
  readonly price?: string;
  /** More accounts with money. */
  readonly tenants?: readonly Signer[];
}

export interface LeaseStage {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly node: Node;
  readonly cluster: SimulatedCluster;
  /** Looks at the cluster and writes nothing. */
  readonly observer: Kube;
  readonly queries: Queries;
  readonly provider: Signer;
  readonly tenant: Signer;
  readonly dir: string;
  /** How many transactions of the provider are in blocks. */
  readonly sent: number;
  /** As the tenant; resolves when it is in a block. */
  send(...messages: readonly PackedMessage[]): Promise<void>;
  sendAs(signer: Signer, ...messages: readonly PackedMessage[]): Promise<void>;
  /** With the provider's key, and without the provider. */
  sendAsProvider(...messages: readonly PackedMessage[]): Promise<void>;
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** Time passes, and what nobody looks at goes by quickly: there are few blocks in it. */
  meanwhile(ms: number): Promise<void>;
  /** Time passes, and the chain makes no block. */
  halted(ms: number): Promise<void>;
  start(options?: LifeOptions): Life;
  /** The newest that has not ended. */
  readonly life: Life | undefined;
  /** A provider runs that has nothing left to do. */
  atRest(): Promise<void>;
}

export interface LifeOptions {
  readonly boundary?: Boundary;
  readonly dir?: string;
  /** What it reaches the chain by. */
  readonly nodes?: () => readonly RpcTransport[];
  /** What else it is told. */
  readonly more?: Partial<ProviderOptions>;
  readonly market?: Partial<MarketOptions>;
}

/** One run of the provider. */
export interface Life {
  /** Once all of its services run. Never, where it ends before. */
  readonly services: Promise<LiveServices>;
  /** The same at once, where it is so already. */
  readonly open: LiveServices | undefined;
  status(): ProviderStatus;
  /** What a command is answered over the control socket. */
  ask(about: string, question?: ControlParams): unknown;
  /** What it serves at /metrics. */
  metrics(): Promise<string>;
  /** Resolves when it has stopped; rejects with what it died of. */
  stop(): Promise<void>;
  /** Rejects when it dies by itself. */
  readonly ended: Promise<void>;
}

export interface LiveServices {
  readonly bus: Bus;
  readonly chain: Chain;
  readonly journal: Journal;
  readonly kube: Kube;
  readonly manifests: Manifests;
  readonly cluster: Cluster;
}

/** Plays on a new stage, which is taken down afterwards. */
export async function onLeaseStage(
  options: LeaseStageOptions,
  play: (stage: LeaseStage) => Promise<void>,
  limitMs = 3 * 3_600_000,
): Promise<void> {
  const clock = createVirtualClock();
  await advanceUntilSettled(clock, setUp(options, clock, play), limitMs);
}

async function setUp(
  options: LeaseStageOptions,
  clock: VirtualClock,
  play: (stage: LeaseStage) => Promise<void>,
): Promise<void> {
  await using owner = createOwner();
  const { seed = 1, dir, blockMs = 1_000, closeDryLeasesInEndBlock = false } = options;
  const random = createSeededRandom(seed);
  const [provider, tenant] = [createSigner(random.bytes(32)), createSigner(random.bytes(32))];
  const node = createEmbeddedNode({
    chainId: "leases-1",
    accounts: [provider, tenant, ...(options.tenants ?? [])].map(({ address }) => ({ address, coins: initialCoins })),
    clock,
    log: silentLog,
    listens: false,
    closeDryLeasesInEndBlock,
    keepBlocks,
  });
  owner.after(() => node.stop());
  await node.start();
  const blocks = makeBlocks(node, clock, blockMs);
  owner.after(blocks.stop);
  const cluster = simulateCluster(owner, clock, random);
  const { queries, send } = await connect(owner, { clock, random, node });
  let sent = 0;
  node.onBlock(({ output }) => {
    sent += output.txResults.filter(({ events }) => isPaidBy(events, provider.address)).length;
  });
  const lives = new Set<Life>();
  owner.after(async () => {
    for (const life of lives) await life.stop().catch(() => undefined);
  });
  const stage: LeaseStage = {
    ...{ clock, random, node, cluster, queries, provider, tenant, dir },
    observer: cluster.connect("observer"),
    get sent() {
      return sent;
    },
    send: (...messages) => send(tenant, ...messages),
    sendAs: send,
    sendAsProvider: (...messages) => send(provider, ...messages),
    async until(what, isSo) {
      const limitMs = clock.now() + patienceMs;
      while (!(await isSo())) {
        if (clock.now() > limitMs) throw new Error(`waited in vain: ${what}`);
        await sleep(clock, lookMs);
      }
    },
    async meanwhile(ms) {
      blocks.every(Math.max(blockMs, ms / keepBlocks / 2));
      await sleep(clock, ms);
      blocks.every(blockMs);
      // The newest block is of now again.
      await sleep(clock, 3 * blockMs);
    },
    async halted(ms) {
      blocks.every(2 * ms);
      await sleep(clock, ms);
      blocks.every(blockMs);
    },
    start(lifeOptions = {}) {
      const life = startLife(stage, { ...options, ...lifeOptions });
      lives.add(life);
      const over = () => void lives.delete(life);
      life.ended.then(over, over);
      return life;
    },
    get life() {
      return [...lives].at(-1);
    },
    async atRest() {
      // Twice in a row: between a change and the look at it, nothing waits either.
      let looks = 0;
      await stage.until("rest", () => {
        looks = isAtRest(stage.life) ? looks + 1 : 0;
        return looks === 2;
      });
    },
  };
  await send(provider, registration(provider.address));
  await play(stage);
}

/** The chain's own pace, which can be changed. */
function makeBlocks(node: Node, clock: VirtualClock, firstMs: number) {
  let everyMs = firstMs;
  node.step();
  let timer = clock.timer(everyMs, make);
  function make(): void {
    node.step();
    timer = clock.timer(everyMs, make);
  }
  return {
    every(ms: number): void {
      everyMs = ms;
      timer.cancel();
      timer = clock.timer(everyMs, make);
    },
    stop: () => timer.cancel(),
  };
}

function isPaidBy(events: readonly AbciEvent[], address: string): boolean {
  return events.some(({ type, attributes }) => {
    return type === "tx" && attributes.some(({ key, value }) => key === "fee_payer" && value === address);
  });
}

/** Everything that is known has been looked at and sent, and every manifest has come to the cluster. */
function isAtRest(life: Life | undefined): boolean {
  if (!life?.open) return false;
  const { chain, journal } = life.open;
  const { manifests } = journal.read;
  const isBusy = life.status().queues.some(({ counts }) => counts.ready + counts.running > 0);
  const isApplied = (leaseId: string) => {
    const { version, deployed, refusal, withdrawnAtMs } = manifests.get(leaseId) ?? {};
    return deployed?.version === version || refusal !== undefined || withdrawnAtMs !== undefined;
  };
  return !isBusy && chain.outbox.counts.owed === 0 && manifests.leaseIds().every(isApplied);
}

export function registration(owner: string): PackedMessage {
  const entry = { owner, hostUri: "https://provider.example.com:8443", attributes: [...bidding.attributes] };
  return packMessage("createProvider", { ...entry, info: undefined });
}

/** What its containers do follows from the seed too. */
function simulateCluster(owner: Owner, clock: VirtualClock, random: Random): SimulatedCluster {
  const behaviour = { pullMs: random.int(5_000), startMs: random.int(2_000), stopMs: random.int(2_000) };
  const metrics = { afterMs: 15_000 };
  const cluster = createSimulatedCluster(
    { nodes: [machine], behaviour: (image) => ({ ...behaviour, ...faultOf(image) }), metrics },
    { clock, random, log: silentLog },
  );
  owner.after(() => cluster.close());
  prepareCluster(cluster);
  return cluster;
}

/** Of images whose names say so. */
function faultOf(image: string): Behaviour {
  if (image.includes("crashing")) return { exitAfterMs: 1_000, exitCode: 1 };
  return image.includes("missing") ? { missing: true } : {};
}

/** What an operator brings to a cluster before a provider runs there. */
export function prepareCluster({ server }: Pick<SimulatedCluster, "server">): void {
  for (const definition of definitions) server.create(kinds.customResourceDefinition, definition, "operator");
  server.create(kinds.namespace, leaseNamespaceObject, "operator");
  const beta3 = {
    metadata: { name: "beta3", labels: { "akash.network": "true" } },
    provisioner: "rancher.io/local-path",
    volumeBindingMode: "WaitForFirstConsumer",
  };
  server.create(kinds.storageClass, beta3, "operator");
}

/** Read once: a history is played many times. */
const definitions = readDefinitions();
/** Where custom resources live. */
const leaseNamespaceObject = { metadata: { name: "lease" } };

/** The same on a real one. */
export async function prepareKube(kube: Kube): Promise<void> {
  await installDefinitions(kube, realClock);
  await kube.create(kinds.namespace, leaseNamespaceObject);
}

/** What people's tools do: ask a node, and send what they signed. */
async function connect(owner: Owner, { clock, random, node }: Pick<LeaseStage, "clock" | "random" | "node">) {
  const pool = createPool({ nodes: [node.transport("people's node")], clock, random, log: silentLog });
  owner.after(() => pool.close());
  await pool.open();
  const deps = { chainId: node.chainId, chain: createCometBroadcaster(pool), settings: fees, clock, random };
  return {
    queries: createQueries(pool),
    async send(signer: Signer, ...messages: readonly PackedMessage[]) {
      await sendMessages({ ...deps, signer }, messages);
    },
  };
}

/** An IP operator with many addresses, which gives one to whoever has declared a port of it. */
export function declaredAddresses({ server }: Pick<SimulatedCluster, "server">): IpOperatorClient {
  const declared = () => server.list(kinds.providerLeasedIp).flatMap((object) => readLeasedIp(object) ?? []);
  return {
    usage: async () => ({ total: 1_000n, inUse: BigInt(new Set(declared().map(({ sharingKey }) => sharingKey)).size) }),
    portsOf: async (orderId) =>
      declared()
        .filter(({ lease }) => formatOrderId(lease) === orderId)
        .map(({ lease: _, sharingKey: __, ...port }) => ({ ...port, address: "203.0.113.7" })),
  };
}

function startLife(stage: LeaseStage, options: LeaseStageOptions & LifeOptions): Life {
  const { clock, random, node, cluster, provider: signer } = stage;
  const { dir, boundary = openBoundary, nodes = () => [node.transport()] } = options;
  const opened = Promise.withResolvers<LiveServices>();
  let open: LiveServices | undefined;
  let measured: Metrics | undefined;
  const provider = createProvider({
    dataDir: dir,
    chain: { nodes, signer, settings: fees },
    kube: createKubeService(() => cluster.connect("akash-provider", { boundary })),
    market: {
      ...marketOptions(options),
      inventory: () => snapshotFeed(clock, machine.cpuMilli, [], ["beta3"]),
      ipOperator: () => declaredAddresses(cluster),
      pricing: () => ({ ...fixedPricing(options.price), run: untilAborted }),
      policies: () => createPolicySource(undefined, { clock, log: silentLog }),
      ...options.market,
    },
    ...options.more,
    after: (services) => [
      {
        name: "stage",
        async start() {
          const { kube, manifests, cluster } = services;
          measured = services.metrics;
          invariant(kube && manifests && cluster, "the provider of the stage sells");
          const [chain, journal, bus] = await Promise.all([services.chain, services.journal, services.bus]);
          open = { bus, chain, journal, kube: await kube, manifests: await manifests, cluster: await cluster };
          opened.resolve(open);
        },
      },
    ],
    boundary,
    clock,
    random,
    log: silentLog,
  });
  const stopping = new AbortController();
  const ended = provider.run(stopping.signal);
  // Whoever stops it is told; nobody has to.
  ended.catch(() => undefined);
  return {
    services: opened.promise,
    get open() {
      return open;
    },
    status: provider.status,
    ask: (about, question = {}) => provider.control(about, question, stopping.signal),
    metrics: async () => (await measured?.text()) ?? "",
    ended,
    stop() {
      stopping.abort();
      return ended;
    },
  };
}
