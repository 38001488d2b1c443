/**
 * A whole history in one process, on the virtual clock and without a socket: a chain that makes blocks, a cluster, a
 * tenant, and a provider that ends at one boundary and starts again on the same journal. One seed is one history.
 */
import type { BidEngineOptions } from "../src/bidengine/bidengine-service.ts";
import { createPolicySource } from "../src/bidengine/policies/policy-source.ts";
import { createEmbeddedNode } from "../src/box/chain/embedded-node.ts";
import type { Block } from "../src/box/chain/node/block-store.ts";
import type { Node } from "../src/box/chain/node/node.ts";
import { createSimulatedCluster, type SimulatedCluster } from "../src/box/cluster/simulated-kube.ts";
import type { Chain, Queries } from "../src/chain/chain.ts";
import { createPool } from "../src/chain/comet/pool.ts";
import { createQueries } from "../src/chain/comet/queries/queries.ts";
import { createSigner, type Signer } from "../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../src/chain/tx/comet-broadcaster.ts";
import type { PackedMessage } from "../src/chain/tx/messages.ts";
import { sendMessages } from "../src/chain/tx/send.ts";
import { closeDeployment, createDeployment, createLease } from "../src/chain/tx/tenant-messages.ts";
import type { Intent } from "../src/journal/intents.ts";
import { openJournal } from "../src/journal/open.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { Change, Kube } from "../src/kube/kube.ts";
import { createKubeService } from "../src/kube/kube-service.ts";
import { parseCoin, parseCoins, parseDecCoins } from "../src/market/coin.ts";
import { parseDecimal } from "../src/market/decimal.ts";
import { type BidId, formatOrderId } from "../src/market/ids.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { manifestHash } from "../src/market/manifest.ts";
import { noOvercommit } from "../src/market/overcommit.ts";
import { createProvider } from "../src/provider/provider.ts";
import { type Boundary, createCountingBoundary, openBoundary, SimulatedCrash } from "../src/runtime/boundary.ts";
import { createVirtualClock, sleep, type VirtualClock } from "../src/runtime/clock.ts";
import { untilAborted } from "../src/runtime/lifecycle.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createSeededRandom, type Random } from "../src/runtime/random.ts";
import { fixedPricing, pictureFeed } from "./bid-stage.ts";
import { createOwner, type Owner } from "./owner.ts";
import { bidOn, createSkeletonService } from "./skeleton-service.ts";
import { skeletonGroups, skeletonManifest, skeletonWorkload } from "./skeleton-workload.ts";
import { whileTimePasses } from "./while-time-passes.ts";

export const purse = parseCoins("1000000000uact,1000000000uakt");
const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };
const [image, port] = ["example.com/web:1", 8080];
const machine = { name: "one", cpuMilli: 4_000n, memoryBytes: 2n ** 33n, ephemeralBytes: 2n ** 35n };
const bidding: BidEngineOptions = {
  attributes: [],
  bidDeposit: parseCoin("500000uakt"),
  bidTimeoutMs: 300_000,
  reclamationWindowMs: 0,
  fee: undefined,
};
/** How often somebody looks whether what he waits for has come. */
const lookMs = 1_000;

export interface HistoryOptions {
  readonly seed: number;
  /** The boundary at which the provider ends, counted from 1; 0 for none. */
  readonly crashAt: number;
  readonly dir: string;
}

/** What is left of a history, read from the outside once it is over. */
export interface History {
  readonly provider: Signer;
  readonly tenant: Signer;
  readonly lease: BidId;
  readonly blocks: readonly Block[];
  readonly queries: Queries;
  /** Every workload that ever was, and the namespaces that are left. */
  readonly workloads: ReadonlySet<string>;
  readonly namespacesLeft: readonly string[];
  readonly podsLeft: number;
  readonly intents: readonly Intent[];
  /** Capacity that is still spoken for. */
  readonly reservations: readonly string[];
  /** Boundaries that the first life of the provider crossed. */
  readonly crossings: readonly string[];
  readonly crashed: boolean;
}

interface World {
  readonly owner: Owner;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly node: Node;
  readonly cluster: SimulatedCluster;
  readonly provider: Signer;
  readonly tenant: Signer;
  readonly dir: string;
}

/** Plays the history and hands what is left of it to `check`, while its world still stands. */
export async function playHistory(options: HistoryOptions, check: (history: History) => Promise<void>): Promise<void> {
  const clock = createVirtualClock();
  await whileTimePasses(clock, play(options, clock, check), 3_600_000);
}

async function play(
  { seed, crashAt, dir }: HistoryOptions,
  clock: VirtualClock,
  check: (history: History) => Promise<void>,
): Promise<void> {
  await using owner = createOwner();
  const random = createSeededRandom(seed);
  const world = await begin(owner, clock, random, dir);
  const { node, cluster, provider, tenant } = world;
  const blocks: Block[] = [];
  node.onBlock((block) => void blocks.push(block));
  const observer = cluster.connect("observer");
  const workloads = new Set<string>();
  observer.watch({
    kind: kinds.deployment,
    project: ({ metadata }) => metadata.uid ?? "",
    handle: ({ value }: Change<string>) => void workloads.add(value),
  });
  const queries = await connect(world, "the tenant's node");
  const lease = bidOn({ owner: tenant.address, dseq: 7n, gseq: 1, oseq: 1 }, provider.address);

  const crash = Promise.withResolvers<void>();
  const boundary = createCountingBoundary(crashAt, (at) => {
    crash.resolve();
    throw new SimulatedCrash(at);
  });
  const told = tellStory(world, queries, lease, observer);
  await liveUntil(world, boundary, crash.promise, told);
  if (boundary.crashed) {
    await sleep(clock, [0, 2_000, 30_000][random.int(3)] ?? 0);
    await liveUntil(world, openBoundary, new Promise(() => undefined), told);
  }

  const { journal } = await openJournal({ dir, clock, log: silentLog });
  owner.after(() => journal.close());
  const { intents } = journal.read;
  await check({
    provider,
    tenant,
    lease,
    blocks,
    queries: queries.queries,
    workloads,
    namespacesLeft: (await observer.list(kinds.namespace)).map(({ metadata }) => metadata.name),
    podsLeft: (await observer.list(kinds.pod, { namespace: leaseNamespace(lease) })).length,
    intents: [provider.address, formatOrderId(lease)].flatMap((subject) => intents.about(subject)),
    reservations: journal.read.reservations.all().map(({ orderId }) => orderId),
    crossings: boundary.crossings,
    crashed: boundary.crashed,
  });
}

async function begin(owner: Owner, clock: VirtualClock, random: Random, dir: string): Promise<World> {
  const [provider, tenant] = [createSigner(random.bytes(32)), createSigner(random.bytes(32))];
  const node = createEmbeddedNode({
    chainId: "history-1",
    accounts: [provider, tenant].map(({ address }) => ({ address, coins: purse })),
    clock,
    log: silentLog,
    listens: false,
    blockMs: 500 + random.int(2_500),
  });
  owner.after(() => node.stop());
  await node.start();
  const behaviour = { pullMs: random.int(5_000), startMs: random.int(2_000), stopMs: random.int(2_000) };
  const http = () => ({ status: 200, body: "hello" });
  const cluster = createSimulatedCluster(
    { nodes: [machine], behaviour: (name) => (name === image ? { ...behaviour, http } : undefined) },
    { clock, random, log: silentLog },
  );
  owner.after(() => cluster.close());
  return { owner, clock, random, node, cluster, provider, tenant, dir };
}

interface Connection {
  readonly queries: Queries;
  send(message: PackedMessage): Promise<void>;
}

/** What the tenant's tools do: ask a node, and send what the tenant signed. */
async function connect({ owner, clock, random, node, tenant }: World, name: string): Promise<Connection> {
  const pool = createPool({ nodes: [node.transport(name)], clock, random, log: silentLog });
  owner.after(() => pool.close());
  await pool.open();
  const deps = { chainId: node.chainId, chain: createCometBroadcaster(pool), signer: tenant, settings: fees };
  return {
    queries: createQueries(pool),
    async send(message) {
      await sendMessages({ ...deps, clock, random }, [message]);
    },
  };
}

/** The tenant's side, which does not know that the provider may be away. */
async function tellStory(
  { clock, random, tenant }: World,
  { queries, send }: Connection,
  lease: BidId,
  observer: Kube,
): Promise<void> {
  const until = async (isSo: () => Promise<boolean>) => {
    while (!(await isSo())) await sleep(clock, lookMs);
  };
  const namespace = leaseNamespace(lease);
  const id = { owner: tenant.address, dseq: lease.dseq };
  await sleep(clock, random.int(6_000));
  await send(
    createDeployment({
      id,
      groups: skeletonGroups,
      hash: manifestHash(skeletonManifest),
      deposit: parseCoin("5000000uact"),
    }),
  );
  await until(async () => (await queries.bid(lease)).value?.state === "open");
  await send(createLease(lease));
  await until(async () => {
    const [pod] = await observer.list(kinds.pod, { namespace });
    const { phase } = (pod?.["status"] ?? {}) as { phase?: string };
    return phase === "Running";
  });
  await sleep(clock, random.int(6_000));
  await send(closeDeployment(id));
  await until(async () => (await observer.get(kinds.namespace, { name: namespace })) === undefined);
}

/** One life of the provider: until the story is told and nothing is owed any more, or until it crashes. */
async function liveUntil(
  { clock, random, node, cluster, provider, dir }: World,
  boundary: Boundary,
  crash: Promise<void>,
  told: Promise<void>,
): Promise<void> {
  const kube = cluster.connect("akash-provider", { boundary });
  const workloadOf = (lease: BidId) => skeletonWorkload({ namespace: leaseNamespace(lease), image, port });
  const ready = Promise.withResolvers<Chain>();
  const policies = () => createPolicySource(undefined, { clock, log: silentLog });
  const running = createProvider({
    dataDir: dir,
    chain: { nodes: () => [node.transport()], signer: provider, settings: fees },
    kube: createKubeService(() => cluster.connect("akash-provider", { boundary })),
    market: {
      cluster: { overcommit: noOvercommit },
      manifest: { timeoutMs: 0, requireHost: false },
      inventory: () => pictureFeed(clock, machine.cpuMilli),
      bidengine: bidding,
      pricing: () => ({ ...fixedPricing(), run: untilAborted }),
      policies,
    },
    after: (ground) => [createSkeletonService(ground, { kube, workloadOf, bids: false, onReady: ready.resolve })],
    boundary,
    clock,
    random,
    log: silentLog,
  });
  const stopping = new AbortController();
  let isCrashed = false;
  const crashed = crash.then(() => {
    isCrashed = true;
  });
  // Whatever a provider says that ends in a crash does not matter: nobody would hear it.
  const ended = running.run(stopping.signal).catch(async (thrown: unknown) => {
    await clock.yield();
    if (!isCrashed) throw thrown;
  });
  const nothingOwed = async () => {
    const [chain] = await Promise.all([ready.promise, told]);
    while (chain.outbox.counts.owed > 0) await sleep(clock, lookMs);
  };
  await Promise.race([crashed, nothingOwed(), ended]);
  stopping.abort();
  await ended;
  await kube.close();
}
