/**
 * A cluster with machines that come and go, the inventory operator on it, and a provider that keeps capacity and leases by
 * its snapshots: all of it in one process, on the virtual clock, without a chain that makes blocks.
 */
import { createSimulatedCluster, type SimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import type { Chain } from "../../../src/chain/chain.ts";
import { type CapacityKeeper, createCapacityKeeper } from "../../../src/cluster/capacity/capacity-keeper.ts";
import { createMemoryFeed, type SnapshotSource } from "../../../src/cluster/capacity/inventory/memory-feed.ts";
import { createHealthKeeper, type HealthKeeper } from "../../../src/cluster/health/health-keeper.ts";
import { createLeaseKeeper, type LeaseKeeper } from "../../../src/cluster/leases/lease-loop.ts";
import { leaseDefaults } from "../../../src/cluster/leases/lease-options.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import { openJournal } from "../../../src/journal/open.ts";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Change, Kube, WatchOptions } from "../../../src/kube/kube.ts";
import { noOvercommit } from "../../../src/market/fit.ts";
import { formatDeploymentId, formatLeaseId, type LeaseId } from "../../../src/market/ids.ts";
import { type Manifest, manifestHash } from "../../../src/market/manifest.ts";
import type { Sdl } from "../../../src/market/sdl/sdl.ts";
import { createInventoryOperator } from "../../../src/operators/inventory/operator.ts";
import { createPublisher } from "../../../src/operators/inventory/serving/publisher.ts";
import type { Clock } from "../../../src/runtime/clock.ts";
import { endedBy } from "../../../src/runtime/ended-by.ts";
import { createLifecycle } from "../../../src/runtime/lifecycle.ts";
import { type Log, silentLog } from "../../../src/runtime/log.ts";
import { createQueue } from "../../../src/runtime/queue.ts";
import type { Random } from "../../../src/runtime/random.ts";
import type { createLedger } from "../capacity-ledger.ts";
import { memoryFolder } from "../folder.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";
import { defineCustomResources } from "./lease-keeper-stage.ts";
import { bidOf, chainOf, createWorld, leaseOf, openBid, orderKey, type World } from "./reservation-stage.ts";

export const storageClass = "beta3";

export interface CapacityStage {
  readonly clock: VirtualClock;
  readonly cluster: SimulatedCluster;
  readonly world: World;
  /** What a ledger is reckoned from. */
  readonly truth: Parameters<typeof createLedger>[0];
  /** The one that lives. */
  readonly life: Life;
  /** Ends the provider and starts another one on its journal. */
  restart(): Promise<void>;
  /** Leases that it wanted to close. */
  readonly closings: readonly string[];
  /** News of pods, or snapshots, are kept from the provider until they are let through. */
  readonly late: { pods: Gate; pictures: Gate };
  /** Reserved for an order; false where there is no room for it. */
  bid(dseq: number, sdl: Sdl): Promise<boolean>;
  lose(dseq: number): Promise<void>;
  win(dseq: number): Promise<LeaseId>;
  send(lease: LeaseId, manifest: Manifest): Promise<void>;
  close(lease: LeaseId): Promise<void>;
}

/** One run of a provider. */
export interface Life {
  readonly keeper: CapacityKeeper;
  readonly leases: LeaseKeeper;
  readonly health: HealthKeeper;
  readonly journal: Journal;
  stop(): Promise<void>;
}

export interface MachineSize {
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
}

interface CapacityStageOptions {
  readonly machines: readonly string[];
  readonly size: MachineSize;
  readonly seed?: number;
  /** What happens before a provider of ours starts for the first time. */
  readonly before?: (deps: Pick<CapacityStage, "cluster" | "world">) => Promise<void>;
}

export async function capacityStage(
  owner: Owner,
  { machines, size, seed = 1, before = async () => undefined }: CapacityStageOptions,
): Promise<CapacityStage> {
  const clock = createVirtualClock();
  const deps = { clock, random: createSeededRandom(seed), log: silentLog };
  const behaviour = () => ({ pullMs: 100, startMs: 100, stopMs: 500 });
  const cluster = createSimulatedCluster({ nodes: machines.map((name) => ({ name, ...size })), behaviour }, deps);
  prepare(cluster);
  const late = { pods: createGate(), pictures: createGate() };
  const publisher = startOperator(owner, cluster.connect("akash-operator-inventory"), deps);
  const world = createWorld(clock);
  const { chain: mirrored, step } = chainOf(world);
  const closings: string[] = [];
  const chain: Chain = { ...mirrored, outbox: { ...mirrored.outbox, intentOf: ({ subject }) => refuse(subject) } };
  const refuse = (subject: string) => {
    closings.push(subject);
    throw new Error("nothing is closed here");
  };
  const dir = memoryFolder(owner);

  async function start(): Promise<Life> {
    const kube = withLatePods(cluster.connect("akash-provider"), late.pods);
    const source = withLatePictures(publisher, late.pictures);
    const starting = startLife({
      chain,
      kube,
      source,
      dir,
      manifestNamespace: leaseDefaults.manifestNamespace,
      ...deps,
    });
    const [started] = await Promise.all([starting, clock.advance(1_000)]);
    return { ...started, stop: async () => void (await Promise.all([started.stop(), clock.advance(5_000)])) };
  }

  const durable = (write: Parameters<Journal["durable"]>[1]) =>
    Promise.all([stage.life.journal.durable("test", write), clock.settle()]);
  await before({ cluster, world });
  await clock.advance(1_000);
  let life = await start();
  owner.after(async () => {
    await life.stop();
    await cluster.close();
  });

  const stage: CapacityStage = {
    ...{ clock, cluster, world, late, closings },
    truth: { objects: (kind) => cluster.server.list(kind), keeper: () => life.keeper },
    get life() {
      return life;
    },
    async restart() {
      await life.stop();
      late.pods.drop();
      late.pictures.drop();
      life = await start();
    },
    async bid(dseq, { groups }) {
      const [key, group] = [orderKey(dseq), groups[0]];
      const fit = group ? life.keeper.capacity.fit(group) : undefined;
      if (!group || !fit?.fits) return false;
      const expiresAtMs = clock.now() + 10 ** 12;
      const reserved = life.keeper.capacity.reserve({ orderId: key, group, offer: fit.offer, expiresAtMs });
      if (!reserved.fits) throw new Error("what fits cannot be taken");
      const lease = bidOf(key);
      world.bids.set(formatLeaseId(lease), openBid(key));
      const deployment = { groups: groups.map((spec, at) => ({ id: { ...lease, gseq: at + 1 }, spec })) };
      world.deployments.set(formatDeploymentId(lease), deployment as never);
      await durable(reserved.write);
      return true;
    },
    async lose(dseq) {
      world.bids.delete(formatLeaseId(bidOf(orderKey(dseq))));
      await Promise.all([life.keeper.capacity.release(orderKey(dseq), "lost"), clock.settle()]);
    },
    async win(dseq) {
      const lease = bidOf(orderKey(dseq));
      world.leases.set(formatLeaseId(lease), leaseOf(orderKey(dseq)));
      await step({ kind: "lease", key: formatLeaseId(lease) });
      return lease;
    },
    async send(lease, manifest) {
      const leaseId = formatLeaseId(lease);
      const version = Buffer.from(manifestHash(manifest)).toString("hex");
      await durable(({ manifests }) => manifests.put({ leaseId, version, body: JSON.stringify([manifest[0]]) }));
      life.leases.wake(leaseId);
    },
    async close(lease) {
      const key = formatLeaseId(lease);
      world.leases.set(key, { ...leaseOf(orderKey(Number(lease.dseq)), "closed"), closedOn: 9n });
      world.bids.delete(key);
      await step({ kind: "lease", key });
    },
  };
  return stage;
}

interface LifeDeps {
  readonly chain: Chain;
  readonly kube: Kube;
  readonly source: SnapshotSource;
  readonly dir: string;
  readonly manifestNamespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** What keeps capacity, leases and their health, on any cluster. */
export async function startLife({ chain, kube, source, dir, manifestNamespace, ...deps }: LifeDeps): Promise<Life> {
  const { journal } = await openJournal({ dir, ...deps });
  const inventory = createMemoryFeed({ source: Promise.resolve(source), ...deps });
  const own = { chain, journal, kube, ...deps };
  const keeper = createCapacityKeeper({ ...own, inventory, ipOperator: undefined, overcommit: noOvercommit });
  const options = { ...leaseDefaults, manifestNamespace, overcommit: noOvercommit };
  const leases = createLeaseKeeper({ ...own, options, onChange: () => undefined });
  const { pods, claims } = keeper;
  const health = createHealthKeeper({ ...own, options, leases, pods, claims });
  const queue = createQueue({ name: "reservations", work: keeper.look, ...deps });
  const stopping = new AbortController();
  const tasks: Promise<void>[] = [];
  const cleanups: (() => Promise<void> | void)[] = [];
  const scope = {
    signal: stopping.signal,
    task: (_name: string, work: (signal: AbortSignal) => Promise<void>) =>
      void tasks.push(work(stopping.signal).catch(() => undefined)),
    onStop: (cleanup: () => Promise<void> | void) => void cleanups.push(cleanup),
  };
  await keeper.open(scope, queue);
  scope.task("reservations", queue.run);
  leases.open(scope);
  health.open(scope);
  return {
    ...{ keeper, leases, health, journal },
    async stop() {
      stopping.abort();
      await Promise.all(tasks);
      for (const cleanup of cleanups) await cleanup();
      await kube.close();
      await journal.close();
    },
  };
}

function prepare(cluster: SimulatedCluster): void {
  cluster.server.create(kinds.namespace, { metadata: { name: leaseDefaults.manifestNamespace } }, "operator");
  defineCustomResources(cluster);
  const metadata = { name: storageClass, labels: { "akash.network": "true" } };
  const local = { provisioner: "rancher.io/local-path", volumeBindingMode: "WaitForFirstConsumer" };
  cluster.server.create(kinds.storageClass, { metadata, ...local }, "operator");
}

/** It lives on when the provider does not. */
export function startOperator(
  owner: Owner,
  kube: Kube,
  deps: Omit<Parameters<typeof createInventoryOperator>[1], "kube" | "onInventory">,
) {
  const publisher = createPublisher({
    ...deps,
    waitingFor: () => operator.waitingFor,
    ageMs: () => operator.ageMs,
    volumesAgeMs: () => operator.volumesAgeMs,
  });
  const config = `version: v1\ncluster_storage: [${storageClass}]`;
  const operator = createInventoryOperator(
    { config, registry: undefined, registryPeriodMs: 10 ** 9, discovery: undefined },
    { ...deps, kube, onInventory: publisher.show },
  );
  const stopping = new AbortController();
  const running = createLifecycle({ services: [operator], ...deps }).run(stopping.signal);
  owner.after(async () => {
    stopping.abort();
    await running;
    publisher.close();
  });
  return publisher;
}

/** Lets news through, or keeps them in their order. */
export interface Gate {
  readonly isShut: boolean;
  shut(): void;
  open(): void;
  /** What is kept is never told. */
  drop(): void;
  pass(tell: () => void): void;
}

function createGate(): Gate {
  let kept: (() => void)[] | undefined;
  return {
    get isShut() {
      return kept !== undefined;
    },
    shut() {
      kept ??= [];
    },
    open() {
      const news = kept ?? [];
      kept = undefined;
      for (const tell of news) tell();
    },
    drop() {
      kept = undefined;
    },
    pass(tell) {
      if (kept) kept.push(tell);
      else tell();
    },
  };
}

function withLatePods(kube: Kube, gate: Gate): Kube {
  return {
    ...kube,
    watch<T, Index extends string = never>(options: WatchOptions<T, Index>) {
      const { handle } = options;
      if (options.kind !== kinds.pod || !handle) return kube.watch(options);
      return kube.watch({ ...options, handle: (change: Change<T>) => gate.pass(() => handle(change)) });
    },
  };
}

function withLatePictures(source: SnapshotSource, gate: Gate): SnapshotSource {
  type Shown = ReturnType<SnapshotSource["snapshot"]>;
  let shown: Shown | undefined;
  return {
    async next(after, signal) {
      const newest = await source.next(after, signal);
      await endedBy(new Promise<void>((resolve) => gate.pass(resolve)), signal);
      shown = newest;
      return newest;
    },
    snapshot: () => (gate.isShut && shown) || source.snapshot(),
    get ageMs() {
      return source.ageMs;
    },
    get volumesAgeMs() {
      return source.volumesAgeMs;
    },
  };
}
