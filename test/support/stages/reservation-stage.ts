/** The keeper of capacity with a journal of its own, on snapshots, pods, bids and leases that a test shows it. */

import type { Chain, Step, StepListener } from "../../../src/chain/chain.ts";
import type { Bid, Deployment, Lease } from "../../../src/chain/records.ts";
import type { IpOperatorClient } from "../../../src/cluster/capacity/addresses/ip-operator.ts";
import type { AddressSharing } from "../../../src/cluster/capacity/addresses/lease-addresses.ts";
import { type CapacityKeeper, createCapacityKeeper } from "../../../src/cluster/capacity/capacity-keeper.ts";
import type {
  Amount,
  ClusterSnapshot,
  InventoryFeed,
  SnapshotNode,
} from "../../../src/cluster/capacity/inventory/feed.ts";
import { freeInAll, type GpuCount } from "../../../src/cluster/capacity/placement/room.ts";
import { type ClusterStatus, clusterStatus } from "../../../src/cluster/cluster-status.ts";
import { createLeaseStates } from "../../../src/cluster/leases/lease-states.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import { openJournal } from "../../../src/journal/open.ts";
import { journalRelaxedFlushMs } from "../../../src/journal/writer.ts";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Change, Kube, KubeObject, WatchOptions } from "../../../src/kube/kube.ts";
import { noOvercommit, type Overcommit } from "../../../src/market/fit.ts";
import type { GroupSpec, ResourceUnit } from "../../../src/market/group-spec.ts";
import {
  type BidId,
  type DeploymentId,
  formatBidId,
  formatDeploymentId,
  type LeaseId,
  parseOrderId,
} from "../../../src/market/ids.ts";
import { leaseNamespace } from "../../../src/market/lease-namespace.ts";
import { type Boundary, openBoundary } from "../../../src/runtime/boundary.ts";
import { msToNs } from "../../../src/runtime/clock.ts";
import { type Log, silentLog } from "../../../src/runtime/log.ts";
import { createQueue, type Queue } from "../../../src/runtime/queue.ts";
import { gi } from "../samples/placement-samples.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";
import { person } from "./market-stage.ts";

export const provider = person(11);
export const tenant = person(1);

export function orderKey(dseq: number): string {
  return `${tenant}/${dseq}/1/1`;
}

export function bidOf(orderId: string): BidId {
  return { ...parseOrderId(orderId), provider, bseq: 0 };
}

export function groupOf(...units: ResourceUnit[]): GroupSpec {
  return { name: "group", requirements: { attributes: [], allOf: [], anyOf: [] }, units };
}

export interface NodeSize {
  readonly cpuMilli?: bigint;
  readonly memoryBytes?: bigint;
  readonly ephemeralBytes?: bigint;
  readonly gpuCounts?: readonly GpuCount[];
  readonly storageClasses?: readonly string[];
}

export const nodeSize = { cpuMilli: 8_000n, memoryBytes: 32n * gi, ephemeralBytes: 100n * gi };

/** What the pods that are bound take of a node. */
export interface TakenOfNode {
  readonly cpuMilli: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
  readonly gpus: bigint;
}

const nothing: TakenOfNode = { cpuMilli: 0n, memoryBytes: 0n, ephemeralBytes: 0n, gpus: 0n };

export function snapshotNode(name: string, size: NodeSize = {}, taken: Partial<TakenOfNode> = {}): SnapshotNode {
  const { cpuMilli, memoryBytes, ephemeralBytes, gpuCounts = [], storageClasses = [] } = { ...nodeSize, ...size };
  const all = { ...nothing, ...taken };
  const amount = (allocatable: bigint, allocated: bigint): Amount => ({ allocatable, allocated });
  return {
    name,
    cpuMilli: amount(cpuMilli, all.cpuMilli),
    memoryBytes: amount(memoryBytes, all.memoryBytes),
    ephemeralBytes: amount(ephemeralBytes, all.ephemeralBytes),
    gpus: amount(
      gpuCounts.reduce((sum, { count }) => sum + count, 0n),
      all.gpus,
    ),
    gpuCounts,
    volumes: { allocatable: "unlimited", allocated: 0n },
    storageClasses,
  };
}

export interface World {
  readonly clock: VirtualClock;
  readonly bids: Map<string, Bid>;
  readonly leases: Map<string, Lease>;
  readonly deployments: Map<string, Deployment>;
  /** Pods of the cluster, by name. */
  readonly pods: Map<string, KubeObject>;
  /** Its volume claims, by name. */
  readonly claims: Map<string, KubeObject>;
  snapshot: ClusterSnapshot | undefined;
  /** Since when it is known to be true. */
  trueAtMs: number;
  error: string | undefined;
  /** Since when the inventory operator hears nothing of persistent volumes, if it does not. */
  volumesSilentSinceMs: number | undefined;
  /** Since pods were heard of. */
  podsAgeMs: number;
  ipOperator: IpOperatorClient | undefined;
  addressSharing: AddressSharing;
  overcommit: Overcommit;
}

export function createWorld(clock = createVirtualClock()): World {
  return {
    clock,
    bids: new Map(),
    leases: new Map(),
    deployments: new Map(),
    pods: new Map(),
    claims: new Map(),
    snapshot: undefined,
    trueAtMs: 0,
    error: undefined,
    volumesSilentSinceMs: undefined,
    podsAgeMs: 0,
    ipOperator: undefined,
    addressSharing: "endpoint",
    overcommit: noOvercommit,
  };
}

/** The mirror of the world's bids and leases, and the steps that tell of them. */
export function chainOf(world: World) {
  const stepListeners: StepListener[] = [];
  const at = <T>(value: T) => ({ value, height: 10n, node: "test" });
  const mirror = {
    ready: true,
    height: 10n,
    get timeNs() {
      return msToNs(world.clock.now());
    },
    bids: () => world.bids.values(),
    bid: (id: BidId) => world.bids.get(formatBidId(id)),
    leases: () => world.leases.values(),
    lease: (id: LeaseId) => world.leases.get(formatBidId(id)),
    deployment: (id: DeploymentId) => world.deployments.get(formatDeploymentId(id)),
  };
  const queries = { bid: async (id: BidId) => at(mirror.bid(id)), lease: async (id: LeaseId) => at(mirror.lease(id)) };
  const onStep = (listener: StepListener) => void stepListeners.push(listener);
  return {
    chain: { provider, mirror, queries, onStep } as unknown as Chain,
    async step(...changed: Step["changed"]): Promise<void> {
      for (const listener of stepListeners) await listener({ changed });
      await world.clock.settle();
    },
  };
}

export interface Stage {
  readonly keeper: CapacityKeeper;
  readonly capacity: CapacityKeeper["capacity"];
  readonly journal: Journal;
  readonly queue: Queue;
  show(snapshot: Partial<ClusterSnapshot>): void;
  /** Puts a pod into the cluster, or changes it; undefined for one that goes. */
  pod(name: string, object: KubeObject | undefined): void;
  /** The same of a volume claim. */
  claim(name: string, object: KubeObject | undefined): void;
  step(...changed: Step["changed"]): Promise<void>;
  /** Thousandths of cpu that could still be sold. */
  freeCpu(): bigint;
  free(at: number): bigint;
  status(): ClusterStatus;
  stop(): Promise<void>;
}

type Tell = (change: Change<unknown>) => void;

export interface StageOptions {
  readonly dir: string;
  readonly boundary?: Boundary;
  readonly log?: Log;
}

/** A provider's start, on the world as it is. */
export async function openStage(
  world: World,
  { dir, boundary = openBoundary, log = silentLog }: StageOptions,
): Promise<Stage> {
  const { clock } = world;
  const { journal } = await openJournal({ dir, clock, log: silentLog, boundary });
  const pictureListeners: ((snapshot: ClusterSnapshot) => void)[] = [];
  const watchers = { pods: [] as Tell[], claims: [] as Tell[] };
  const inventory: InventoryFeed = {
    get snapshot() {
      return world.snapshot;
    },
    get ageMs() {
      return world.snapshot && clock.monotonicMs() - world.trueAtMs;
    },
    get volumesAgeMs() {
      return world.snapshot && clock.monotonicMs() - (world.volumesSilentSinceMs ?? world.trueAtMs);
    },
    get error() {
      return world.snapshot ? world.error : "no inventory snapshot has come yet";
    },
    counts: { snapshots: 0, proofs: 0, reconnects: 0, errors: 0 },
    lastError: undefined,
    onSnapshot: (listener) => void pictureListeners.push(listener),
    run: async () => undefined,
    ask: () => undefined,
    wake: () => undefined,
  };
  const { chain, step } = chainOf(world);
  const kube = {
    watch<T>({ kind, project, handle }: WatchOptions<T>) {
      const [objects, told] = kind === kinds.pod ? [world.pods, watchers.pods] : [world.claims, watchers.claims];
      const tell = ({ before: _, ...change }: Change<unknown>) =>
        void handle?.({ ...change, value: project(change.value as KubeObject) });
      told.push(tell);
      for (const [name, value] of objects) tell({ type: "added", name, value });
      return {
        get ageMs() {
          return world.podsAgeMs;
        },
        synced: async () => undefined,
        close: async () => undefined,
      };
    },
  };
  const deps = { clock, random: createSeededRandom(1), log };
  const keeper = createCapacityKeeper({
    chain,
    journal,
    kube: kube as unknown as Kube,
    inventory,
    ipOperator: world.ipOperator,
    addressSharing: world.addressSharing,
    overcommit: world.overcommit,
    ...deps,
  });
  const queue = createQueue({ name: "reservations", work: keeper.look, ...deps });
  const stopping = new AbortController();
  const tasks: Promise<void>[] = [];
  const scope = {
    signal: stopping.signal,
    task(_name: string, work: (signal: AbortSignal) => Promise<void>) {
      const ended = work(stopping.signal).catch((thrown: unknown) => {
        if (!stopping.signal.aborted) throw thrown;
      });
      tasks.push(ended);
    },
    onStop: () => undefined,
  };
  function put(kind: "pods" | "claims", name: string, object: KubeObject | undefined): void {
    const before = world[kind].get(name);
    if (object) world[kind].set(name, object);
    else world[kind].delete(name);
    const change = object
      ? ({ type: before ? "modified" : "added", name, value: object } as const)
      : ({ type: "deleted", name, value: before } as const);
    for (const tell of watchers[kind]) tell(change);
  }

  await keeper.open(scope, queue);
  scope.task("queue", queue.run);
  await clock.settle();
  return {
    keeper,
    capacity: keeper.capacity,
    journal,
    queue,
    show(snapshot) {
      const nothing = { nodes: [], storage: [], conditions: [], podsVersion: undefined };
      world.snapshot = { ...nothing, cameAtMs: clock.monotonicMs(), ...snapshot };
      world.trueAtMs = clock.monotonicMs();
      for (const listener of pictureListeners) listener(world.snapshot);
    },
    pod: (name, object) => put("pods", name, object),
    claim: (name, object) => put("claims", name, object),
    step,
    status() {
      const leaseKeeper = { states: createLeaseStates(() => undefined), error: undefined };
      const reconciler = { lasting: () => [], skipped: undefined };
      return clusterStatus({
        keeper,
        leaseKeeper,
        health: { all: () => [], alarms: () => [], circuitBreaker: () => undefined },
        reconciler,
        ...{ ipOperator: undefined, hostnameFeed: undefined, hasHosts: () => false },
      });
    },
    free: (at) => freeInAll(keeper.book.room, at),
    freeCpu: () => freeInAll(keeper.book.room, 0),
    async stop() {
      stopping.abort();
      // Whoever waits for the journal's next flush waits by this clock.
      await clock.advance(journalRelaxedFlushMs);
      await Promise.all(tasks);
      await journal.close();
    },
  };
}

export interface PodSize {
  readonly cpu: string;
  readonly memory?: string;
  readonly gpus?: number;
  /** How many claims it mounts. */
  readonly volumes?: number;
  readonly node?: string | undefined;
  readonly version?: string;
  readonly phase?: string;
  readonly leaving?: boolean;
  /** When it was bound, as the cluster says it. */
  readonly boundAt?: string;
}

/** A pod of the order's lease. */
export function leasePod(orderId: string, name: string, size: PodSize): KubeObject {
  const { cpu, memory = "1Gi", gpus = 0, volumes = 0 } = size;
  const { node, version = "1", phase = "Pending", leaving = false, boundAt } = size;
  const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: boundAt };
  const requests = { cpu, memory, ...(gpus > 0 && { "nvidia.com/gpu": String(gpus) }) };
  return {
    metadata: {
      name,
      namespace: leaseNamespace(bidOf(orderId)),
      uid: `uid-${name}`,
      resourceVersion: version,
      labels: { "akash.network": "true" },
      ...(leaving && { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    },
    spec: {
      containers: [{ name: "main", resources: { requests } }],
      volumes: Array.from({ length: volumes }, (_, at) => ({
        name: `data-${at}`,
        persistentVolumeClaim: { claimName: `data-${at}-${name}` },
      })),
      ...(node !== undefined && { nodeName: node }),
    },
    status: { phase, ...(boundAt !== undefined && { conditions: [scheduled] }) },
  };
}

/** A claim of the order's lease, which has its volume. */
export function leaseClaim(orderId: string, name: string, size: string, version = "1"): KubeObject {
  const namespace = leaseNamespace(bidOf(orderId));
  return {
    metadata: { name, namespace, uid: `uid-${name}`, resourceVersion: version, labels: { "akash.network": "true" } },
    spec: { storageClassName: "beta3", resources: { requests: { storage: size } } },
    status: { phase: "Bound", capacity: { storage: size } },
  };
}

export function leaseOf(orderId: string, state: Lease["state"] = "active"): Lease {
  return { id: bidOf(orderId), state } as Lease;
}

export function openBid(orderId: string, state: Bid["state"] = "open", offer: Bid["offer"] = []): Bid {
  return { id: bidOf(orderId), state, offer } as unknown as Bid;
}
