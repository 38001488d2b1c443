/** A chain on the virtual clock with a tenant, and any number of providers that bid on it, each with its own journal. */

import { join } from "node:path";
import type { TestContext } from "node:test";
import type { BalanceOptions, BalanceStatus } from "../../../src/balance/balance-status.ts";
import type { BidEngineStatus } from "../../../src/bidengine/bid-status.ts";
import { createBidMessage } from "../../../src/bidengine/bidding.ts";
import type { BidEngine } from "../../../src/bidengine/bidengine.ts";
import { createBidEngineService } from "../../../src/bidengine/bidengine-service.ts";
import type { Capacity } from "../../../src/bidengine/capacity.ts";
import type { BidEngineOptions } from "../../../src/bidengine/decider.ts";
import { createPolicySource } from "../../../src/bidengine/policies/policy-source.ts";
import type { RunningPricing } from "../../../src/bidengine/pricing/create-pricing.ts";
import type { Pricing } from "../../../src/bidengine/pricing/pricing.ts";
import { createEmbeddedNode } from "../../../src/box/chain/embedded-node.ts";
import type { Node } from "../../../src/box/chain/node/node.ts";
import { createSimulatedCluster, type SimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import type { Bus } from "../../../src/bus/bus.ts";
import type { Chain, Queries } from "../../../src/chain/chain.ts";
import { closeBidMessage } from "../../../src/chain/closing.ts";
import { createPool } from "../../../src/chain/comet/pool.ts";
import { createQueries } from "../../../src/chain/comet/queries/queries.ts";
import type { RpcTransport } from "../../../src/chain/comet/transport.ts";
import { createSigner, type Signer } from "../../../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../../../src/chain/tx/comet-broadcaster.ts";
import {
  closeDeployment,
  createDeployment,
  createLease,
  type PackedMessage,
  packMessage,
} from "../../../src/chain/tx/messages.ts";
import { sendMessages } from "../../../src/chain/tx/send.ts";
import type { IpOperatorClient } from "../../../src/cluster/capacity/addresses/ip-operator.ts";
import { createNewestSnapshot, type InventoryFeed } from "../../../src/cluster/capacity/inventory/feed.ts";
import type { GpuCount } from "../../../src/cluster/capacity/placement/room.ts";
import { createClusterService } from "../../../src/cluster/cluster-service.ts";
import type { ClusterStatus } from "../../../src/cluster/cluster-status.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import { createKubeService } from "../../../src/kube/kube-service.ts";
import { parseCoin, parseCoins, parseDecCoin, parseDecCoins } from "../../../src/market/coin.ts";
import { parseDecimal } from "../../../src/market/decimal.ts";
import { noOvercommit } from "../../../src/market/fit.ts";
import type { Attribute, GroupSpec } from "../../../src/market/group-spec.ts";
import type { BidId, OrderId } from "../../../src/market/ids.ts";
import { parseQuantity } from "../../../src/market/quantity.ts";
import type { ExclusiveOptions } from "../../../src/provider/exclusive.ts";
import { createProvider, type ProviderServices, type ServiceDeps } from "../../../src/provider/provider.ts";
import { type Boundary, openBoundary } from "../../../src/runtime/boundary.ts";
import { type Clock, realClock, sleep } from "../../../src/runtime/clock.ts";
import type { Condition } from "../../../src/runtime/condition.ts";
import { untilAborted } from "../../../src/runtime/lifecycle.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { advanceUntilSettled } from "../advance-until-settled.ts";
import { memoryFolder } from "../folder.ts";
import { networkNode, networkSnapshot } from "../raw-operator.ts";
import { cell } from "../samples/lease-sdl.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock } from "../virtual-clock.ts";
import { snapshotNode } from "./reservation-stage.ts";

const purse = parseCoins("1000000000000uact,1000000000000uakt");
const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };
export const blockMs = 1_000;

/** How fast it goes there. */
interface Pace {
  readonly clock: Clock;
  readonly blockMs: number;
  /** Between two looks at what is waited for, and how long that may take. */
  readonly lookMs: number;
  readonly patienceMs: number;
  /** Whether others than this process can reach the chain. */
  readonly listens: boolean;
  /** How many blocks the chain keeps; all if not said. */
  readonly keepBlocks?: number;
}

export interface BidStage {
  readonly clock: Clock;
  readonly node: Node;
  readonly queries: Queries;
  /** Of all providers, without nodes; the network's custom resources are not defined there. */
  readonly cluster: SimulatedCluster;
  /** A deployment with one group; resolves when its order is on the chain. */
  /** Returns the order of the first group. */
  post(dseq: bigint, ...groups: GroupSpec[]): Promise<OrderId>;
  /** Many of them, as few transactions as will do. */
  postMany(dseqs: readonly bigint[], group?: GroupSpec): Promise<void>;
  accept(bid: BidId): Promise<void>;
  close(dseq: bigint): Promise<void>;
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
  blocks(count: number): Promise<void>;
  /** Gives somebody else so much of what it has. */
  pay(from: string, to: string, coins: string): Promise<void>;
  /** Locks so much of what somebody has in a deployment; resolves with what brings it home. For uact, which nobody can pay. */
  lock(name: string, dseq: bigint, coin: string): Promise<() => Promise<void>>;
  signer(name: string): Signer;
  /** The key of a signer, for another process. */
  secret(name: string): Uint8Array;
  register(name: string, attributes?: readonly Attribute[]): Promise<void>;
  /** Somebody else bids, without a program around it. */
  rivalBid(name: string, order: OrderId): Promise<void>;
  /** The same key, without the program. */
  closeBid(name: string, bid: BidId): Promise<void>;
  /** Starts one that is registered, in a folder of its own or in this one, whatever comes of it. */
  start(name: string, parts: ProviderParts & { readonly dir?: string }): StartedProvider;
  /** Registered on the chain, and running. */
  provider(name: string, options?: ProviderParts): Promise<BiddingProvider>;
}

export interface StartedProvider {
  readonly ready: Promise<BiddingProvider>;
  /** Settles when it has ended by itself or was stopped. */
  readonly ended: Promise<void>;
  /** The services that run, and the types of the conditions that hold. */
  services(): readonly string[];
  conditions(): readonly string[];
  stop(): Promise<void>;
}

export interface ProviderParts {
  readonly cpuMilli?: bigint;
  /** Of the one node. */
  readonly gpuCounts?: readonly GpuCount[];
  /** IP addresses are not leased if not given. */
  readonly ipOperator?: IpOperatorClient;
  readonly nodes?: () => readonly RpcTransport[];
  /** A fault between the bid engine and what it stands on. */
  readonly plant?: (sound: Sound) => Sound;
  readonly options?: Partial<BidEngineOptions>;
  readonly pricing?: Pricing | ((deps: ServiceDeps) => RunningPricing);
  /** A file of policies. */
  readonly policies?: string;
  /** How long a lease waits for its manifest; for ever if not said. */
  readonly manifestTimeoutMs?: number;
  readonly boundary?: Boundary;
  /** Looks after its money; nobody does if not said. */
  readonly balance?: BalanceOptions;
  /** The Lease that keeps a second provider with the same key out; none if not said. */
  readonly exclusive?: ExclusiveOptions;
}

export interface Sound {
  readonly capacity: Capacity;
  readonly journal: Journal;
}

export interface BiddingProvider {
  readonly signer: Signer;
  readonly chain: Chain;
  readonly journal: Journal;
  readonly engine: BidEngine;
  readonly feed: SnapshotFeed;
  /** Thousandths of a CPU that could still be sold. */
  freeMilli(): bigint | undefined;
  readonly bus: Bus;
  status(): BidEngineStatus | undefined;
  conditions(): readonly Condition[];
  balance(): BalanceStatus | undefined;
  /** In one line. */
  detail(): string;
  bidOn(order: OrderId): BidId;
  stop(): Promise<void>;
}

/** One price for everything. */
export function fixedPricing(price = "10uact"): Pricing {
  return {
    quote: () => ({ price: parseDecCoin(price), evidence: {} }),
    onChange: () => undefined,
    error: undefined,
  };
}

export const smallGroup = cell().groups[0] as GroupSpec;

/** The same with so many CPUs. */
export function groupOfCpus(milli: bigint): GroupSpec {
  const units = smallGroup.units.map((unit) => ({ ...unit, cpu: { ...unit.cpu, milli } }));
  return { ...smallGroup, units };
}

/** One replica with one GPU of these models. */
export function groupOfGpus(...models: string[]): GroupSpec {
  const attributes = models.map((model) => ({ key: `vendor/nvidia/model/${model}`, value: "true" }));
  const units = smallGroup.units.map((unit) => ({ ...unit, gpu: { count: 1n, attributes } }));
  return { ...smallGroup, units };
}

export async function onBidStage(
  t: TestContext,
  play: (stage: BidStage) => Promise<void>,
  more: Partial<Pick<Pace, "keepBlocks" | "blockMs">> = {},
): Promise<void> {
  const clock = createVirtualClock();
  const pace = { clock, blockMs, lookMs: 500, patienceMs: 600_000, listens: false, ...more };
  await advanceUntilSettled(clock, setUp(t, pace, play), 7_200_000);
}

/** In real time and as fast as a small machine can, for providers that are processes of their own. */
export async function onRealBidStage(
  t: TestContext,
  play: (stage: BidStage) => Promise<void>,
  clock = realClock,
): Promise<void> {
  await setUp(t, { clock, blockMs: 100, lookMs: 20, patienceMs: 240_000, listens: true }, play);
}

async function setUp(t: TestContext, pace: Pace, play: (stage: BidStage) => Promise<void>): Promise<void> {
  const { clock, lookMs, patienceMs, ...nodeOptions } = pace;
  const random = createSeededRandom(1);
  const folder = memoryFolder(t);
  const names = ["one", "two", "three", "four", "tenant"];
  const secrets = new Map(names.map((name) => [name, random.bytes(32)]));
  const signers = new Map([...secrets].map(([name, secret]) => [name, createSigner(secret)]));
  const tenant = signers.get("tenant") as Signer;
  const node = createEmbeddedNode({
    chainId: "bids-1",
    accounts: [...signers.values()].map(({ address }) => ({ address, coins: purse })),
    ...{ ...nodeOptions, clock, log: silentLog },
  });
  await node.start();
  const pool = createPool({ nodes: [node.transport("tenant's node")], clock, random, log: silentLog });
  await pool.open();
  const broadcaster = createCometBroadcaster(pool);
  const cluster = createSimulatedCluster({ nodes: [] }, { clock, random, log: silentLog });
  const endings: (() => Promise<void>)[] = [];

  async function send(signer: Signer, ...messages: PackedMessage[]): Promise<void> {
    const deps = { chainId: node.chainId, chain: broadcaster, signer, settings: fees, clock, random };
    await sendMessages(deps, messages);
  }

  const signer = (name: string) => signers.get(name) as Signer;

  async function register(name: string, attributes: readonly Attribute[] = []): Promise<void> {
    const { address: owner } = signer(name);
    if ((await stage.queries.provider(owner)).value) return;
    const entry = { owner, hostUri: "https://provider.example.com:8443", attributes: [...attributes], info: undefined };
    await send(signer(name), packMessage("createProvider", entry));
  }

  function start(name: string, { dir = join(folder, name), ...parts }: Parameters<BidStage["start"]>[1]) {
    const started = startProvider({ clock, node, cluster, dir, signer: signer(name), ...parts });
    endings.push(() => started.stop().catch(() => undefined));
    return started;
  }

  const deposit = parseCoin("5000000uact");
  const deploymentOf = (dseq: bigint, ...groups: GroupSpec[]) =>
    createDeployment({
      id: { owner: tenant.address, dseq },
      groups,
      hash: new Uint8Array(32).fill(1),
      deposit,
    });
  const stage: BidStage = {
    clock,
    node,
    queries: createQueries(pool),
    cluster,
    async post(dseq, ...groups) {
      await send(tenant, deploymentOf(dseq, ...(groups.length > 0 ? groups : [smallGroup])));
      return { owner: tenant.address, dseq, gseq: 1, oseq: 1 };
    },
    async postMany(dseqs, group = smallGroup) {
      for (let from = 0; from < dseqs.length; from += 200) {
        await send(tenant, ...dseqs.slice(from, from + 200).map((dseq) => deploymentOf(dseq, group)));
      }
    },
    accept: (bid) => send(tenant, createLease(bid)),
    close: (dseq) => send(tenant, closeDeployment({ owner: tenant.address, dseq })),
    async until(what, isSo) {
      const limitMs = clock.monotonicMs() + patienceMs;
      while (!(await isSo())) {
        if (clock.monotonicMs() > limitMs) throw new Error(`waited in vain: ${what}`);
        await sleep(clock, lookMs);
      }
    },
    async blocks(count) {
      const wanted = node.height + BigInt(count);
      while (node.height < wanted) await sleep(clock, lookMs);
    },
    async pay(from, to, text) {
      const amount = parseCoins(text).map((coin) => ({ denom: coin.denom, amount: `${coin.amount}` }));
      const [fromAddress, toAddress] = [signer(from).address, signer(to).address];
      await send(signer(from), packMessage("send", { fromAddress, toAddress, amount }));
    },
    async lock(name, dseq, text) {
      const id = { owner: signer(name).address, dseq };
      const content = { groups: [groupOfCpus(384_000n)], hash: new Uint8Array(32).fill(1), deposit: parseCoin(text) };
      await send(signer(name), createDeployment({ id, ...content }));
      return () => send(signer(name), closeDeployment(id));
    },
    signer,
    secret: (name) => secrets.get(name) as Uint8Array,
    async rivalBid(name, order) {
      await register(name);
      const { address: provider } = signer(name);
      const price = parseDecCoin("9uact");
      const content = {
        price,
        deposit: parseCoin("500000uakt"),
        offer: smallGroup.units,
        reclamationWindowNs: undefined,
      };
      await send(signer(name), createBidMessage({ ...order, provider, bseq: 0 }, { spec: smallGroup }, content));
    },
    closeBid: (name, bid) => send(signer(name), closeBidMessage(bid)),
    start,
    async provider(name, parts = {}) {
      await register(name, parts.options?.attributes);
      const { ready, stop } = start(name, parts);
      endings.push(stop);
      return ready;
    },
    register,
  };
  try {
    await play(stage);
  } finally {
    for (const end of endings) await end();
    await cluster.close();
    pool.close();
    await node.stop();
  }
}

interface Starting extends ProviderParts {
  readonly clock: Clock;
  /** Whether commands can ask it. */
  readonly control?: boolean;
  readonly node: Pick<Node, "transport">;
  readonly cluster: SimulatedCluster;
  readonly dir: string;
  readonly signer: Signer;
}

/** A provider that sells one node and runs nothing on it. */
export function startProvider(starting: Starting): StartedProvider {
  const { clock, node, dir, signer, pricing = fixedPricing(), boundary = openBoundary } = starting;
  const stopping = new AbortController();
  const opened = Promise.withResolvers<BiddingProvider>();
  const bidengine: BidEngineOptions = {
    attributes: [],
    bidDeposit: parseCoin("500000uakt"),
    minimumBalance: [],
    bidTimeoutMs: 300_000,
    reclamationWindowMs: 0,
    fee: undefined,
    ...starting.options,
  };
  const deps = { clock, random: createSeededRandom(2), log: silentLog };
  const feed = snapshotFeed(clock, starting.cpuMilli ?? 10_000n, starting.gpuCounts);
  const cluster = { overcommit: noOvercommit };
  const pricingOf = typeof pricing === "function" ? pricing : () => ({ ...pricing, run: untilAborted });
  const policies = createPolicySource(starting.policies, deps);
  const { plant, ipOperator } = starting;
  const opening = Promise.withResolvers<BidEngine>();
  const tell = async (services: ProviderServices) => {
    const engine = await (services.bidengine ?? opening.promise);
    const [chain, journal, bus] = await Promise.all([services.chain, services.journal, services.bus]);
    opened.resolve({
      ...{ signer, chain, journal, bus, engine, feed, stop },
      status: () => statusOf().bidengine,
      conditions: () => provider.conditions().conditions,
      balance: () => statusOf().balance,
      detail: () => provider.status().services.find(({ name }) => name === "bidengine")?.detail ?? "",
      freeMilli: () => freeOf(statusOf()),
      bidOn: (order) => ({ ...order, provider: signer.address, bseq: 0 }),
    });
  };
  const provider = createProvider({
    dataDir: dir,
    chain: { nodes: starting.nodes ?? (() => [node.transport()]), signer, settings: fees },
    kube: createKubeService(() => starting.cluster.connect("akash-provider", { boundary })),
    ...(!plant && {
      market: {
        ...{ cluster, inventory: () => feed, bidengine, pricing: pricingOf, policies: () => policies },
        ...(ipOperator && { ipOperator: () => ipOperator }),
        manifest: { timeoutMs: starting.manifestTimeoutMs ?? 0, requireHost: false },
      },
    }),
    boundary,
    ...(starting.balance && { balance: starting.balance }),
    ...(starting.exclusive && { exclusive: starting.exclusive }),
    control: starting.control ?? false,
    ...deps,
    after(services) {
      void tell(services);
      if (!plant || !services.kube) return [];
      const clusterService = createClusterService(cluster, {
        ...services,
        kube: services.kube,
        inventory: feed,
        ipOperator: undefined,
      });
      const planted = Promise.all([clusterService.opened, services.journal]).then(([{ capacity }, journal]) =>
        plant({ capacity, journal }),
      );
      const [capacity, journal] = [planted.then((sound) => sound.capacity), planted.then((sound) => sound.journal)];
      const engine = createBidEngineService(bidengine, {
        ...services,
        capacity,
        journal,
        pricing: () => pricingOf(services),
        policies: () => policies,
      });
      engine.opened.then(opening.resolve, opening.reject);
      return [clusterService, engine];
    },
  });
  /** By the names of the services, whoever put them in. */
  const statusOf = () => provider.status().statuses as unknown as Statuses;
  const ended = provider.run(stopping.signal);
  ended.catch(opened.reject);
  const stop = () => {
    stopping.abort();
    return ended;
  };
  return {
    ...{ ready: opened.promise, ended, stop },
    services: () => provider.status().services.flatMap(({ name, state }) => (state === "running" ? name : [])),
    conditions: () => provider.conditions().conditions.map(({ type }) => type),
  };
}

interface Statuses {
  readonly cluster: ClusterStatus | undefined;
  readonly bidengine: BidEngineStatus | undefined;
  readonly balance: BalanceStatus | undefined;
}

function freeOf({ cluster }: Statuses): bigint | undefined {
  const free = cluster?.resources.find(({ resource }) => resource === "cpu")?.["free"];
  return free === undefined ? undefined : parseQuantity(String(free)).nano / 1_000_000n;
}

export interface SnapshotFeed extends InventoryFeed {
  /** Another snapshot of the cluster: so many CPUs on its one node. */
  draw(cpuMilli: bigint): void;
  /** A snapshot without its node, as of one that is cordoned; perhaps also of entries that are invalid. */
  cordon(invalid?: readonly Condition[]): void;
  /** Nothing is heard any more. */
  silence(): void;
  /** Its source is heard again and has nothing new to tell. */
  resume(): void;
}

export function snapshotFeed(
  clock: Clock,
  cpuMilli: bigint,
  gpuCounts: readonly GpuCount[] = [],
  storageClasses: readonly string[] = [],
): SnapshotFeed {
  let heardAtMs: number | undefined;
  const newest = createNewestSnapshot(clock, silentLog, () => ({
    silentMs: heardAtMs === undefined ? 0 : clock.monotonicMs() - heardAtMs,
    ownAgeMs: 0,
  }));
  const draw = (milli: bigint, isCordoned = false, conditions: readonly Condition[] = []) => {
    heardAtMs = undefined;
    const sizes = { cpuMilli: milli, memoryBytes: 2n ** 44n, ephemeralBytes: 2n ** 46n, gpuCounts, storageClasses };
    const nodes = isCordoned ? [] : [snapshotNode("one", sizes)];
    const storage = storageClasses.map((name) => ({ class: name, bytes: { allocatable: 2n ** 46n, allocated: 0n } }));
    const network = () => networkSnapshot(nodes.map(({ name }) => networkNode(name)));
    newest.show({ nodes, storage, network, podsVersion: undefined, conditions, cameAtMs: clock.monotonicMs() });
  };
  return Object.assign(newest, {
    draw,
    cordon: (invalid = []) => draw(cpuMilli, true, invalid),
    silence() {
      heardAtMs = clock.monotonicMs();
    },
    resume() {
      heardAtMs = undefined;
    },
    ask: () => undefined,
    wake: () => undefined,
    run(signal: AbortSignal) {
      draw(cpuMilli);
      return untilAborted(signal);
    },
  });
}
