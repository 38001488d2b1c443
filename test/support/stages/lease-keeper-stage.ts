/**
 * The keeper of leases with a journal of its own and a simulated cluster, on leases that a test shows it: all that can
 * happen to a lease, without a chain that makes blocks.
 */
import type { Behaviours } from "../../../src/box/cluster/components/kubelet/behaviour.ts";
import type { SimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import { createSimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import type { At, Chain, SendRequest } from "../../../src/chain/chain.ts";
import { intentOf } from "../../../src/chain/outbox/intent.ts";
import type { Lease } from "../../../src/chain/records.ts";
import { createLeaseClaims, createLeasePods } from "../../../src/cluster/capacity/reservations/lease-watches.ts";
import { createHealthKeeper, type HealthKeeper } from "../../../src/cluster/health/health-keeper.ts";
import type { MonitorOptions } from "../../../src/cluster/health/monitoring.ts";
import { createLeaseKeeper, type LeaseKeeper } from "../../../src/cluster/leases/lease-loop.ts";
import { type LeaseOptions, leaseDefaults } from "../../../src/cluster/leases/lease-options.ts";
import type { LeaseStatus } from "../../../src/cluster/leases/lease-states.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import { openJournal } from "../../../src/journal/open.ts";
import { journalRelaxedFlushMs } from "../../../src/journal/writer.ts";
import { type Kind, kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { noOvercommit, type Overcommit } from "../../../src/market/fit.ts";
import { formatDeploymentId, formatLeaseId, type LeaseId } from "../../../src/market/ids.ts";
import { leaseNamespace } from "../../../src/market/lease-namespace.ts";
import { type Manifest, type ManifestGroup, manifestHash, type ServiceParams } from "../../../src/market/manifest.ts";
import { readSdl, type Sdl } from "../../../src/market/sdl/sdl.ts";
import { type Boundary, openBoundary } from "../../../src/runtime/boundary.ts";
import { ProviderError } from "../../../src/runtime/errors.ts";
import type { Scope } from "../../../src/runtime/lifecycle.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { definitionOf } from "../kube/kube-definition.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";
import { bidOf, chainOf, createWorld, leaseOf, orderKey, tenant, type World } from "./reservation-stage.ts";

const machine = {
  ...{ name: "one", cpuMilli: 640_000n, memoryBytes: 2n ** 40n, ephemeralBytes: 2n ** 42n, pods: 5_000 },
  labels: { "akash.network": "true", "akash.network/capabilities.storage.class.beta3": "1" },
};

export interface LeaseStage {
  readonly clock: VirtualClock;
  readonly cluster: SimulatedCluster;
  readonly world: World;
  readonly observer: Kube;
  start(options?: StartOptions): Promise<Life>;
  /** The lease is there, and runs. */
  won(dseq: number, sdl?: Sdl, owner?: LeaseId["owner"]): LeaseId;
  /** As the chain has it from now on; undefined where it knows of none. */
  becomes(lease: LeaseId, state: Lease["state"] | undefined): void;
  /** The mirror does not have it any more; the chain says what it said last. */
  forgotten(lease: LeaseId): void;
  /** Whether the chain answers. */
  chainAnswers: boolean;
  /** How old what the mirror has is. */
  mirrorAgeMs: number;
  /** All that is in the namespace of a lease: "deployments.apps web" and its uid. */
  objects(lease: LeaseId): Map<string, KubeObject>;
  /** Those that run. */
  pods(lease: LeaseId): KubeObject[];
  until(what: string, isSo: () => boolean | Promise<boolean>, limitMs?: number): Promise<void>;
}

interface StartOptions {
  readonly dir?: string;
  readonly boundary?: Boundary;
  readonly leases?: Partial<LeaseOptions>;
  readonly overcommit?: Overcommit;
  /** Has its health looked after too. */
  readonly monitor?: MonitorOptions;
  /** A fault between the keeper and the cluster. */
  readonly plant?: (sound: Kube) => Kube;
}

/** One process. */
export interface Life {
  readonly keeper: LeaseKeeper;
  readonly health: HealthKeeper | undefined;
  readonly journal: Journal;
  readonly kube: Kube;
  /** The tenant's manifest, as the manifest service writes it down. */
  send(lease: LeaseId, manifest: Manifest): Promise<string>;
  withdraw(lease: LeaseId): Promise<void>;
  /** The lease has changed on the chain. */
  step(lease: LeaseId): Promise<void>;
  state(lease: LeaseId): LeaseStatus["state"] | undefined;
  why(lease: LeaseId): string;
  stop(): Promise<void>;
}

interface StageOptions {
  readonly dir: string;
  readonly definitions?: boolean;
  /** What containers do, by image. */
  readonly behaviour?: Behaviours;
}

export async function leaseStage(owner: Owner, options: StageOptions): Promise<LeaseStage> {
  const { dir, definitions = true } = options;
  const clock = createVirtualClock();
  const random = createSeededRandom(1);
  const behaviour = { pullMs: 100, startMs: 100, stopMs: 100 };
  const cluster = createSimulatedCluster(
    { nodes: [machine], behaviour: (...asked) => ({ ...behaviour, ...options.behaviour?.(...asked) }) },
    { clock, random, log: silentLog },
  );
  owner.after(() => cluster.close());
  cluster.server.create(kinds.namespace, { metadata: { name: leaseDefaults.manifestNamespace } }, "operator");
  if (definitions) defineCustomResources(cluster);
  const storage = { provisioner: "rancher.io/local-path", volumeBindingMode: "WaitForFirstConsumer" };
  cluster.server.create(kinds.storageClass, { metadata: { name: "beta3" }, ...storage }, "operator");
  const world = createWorld(clock);
  const { chain: mirrored, step } = chainOf(world);
  /** Beyond what the mirror has. */
  const onChain = new Map<string, Lease>();
  const ask = async (id: LeaseId): Promise<At<Lease | undefined>> => {
    if (!stage.chainAnswers)
      throw new ProviderError("AKP_CHAIN_UNREACHABLE", { node: "test", reason: "it does not answer" });
    const key = formatLeaseId(id);
    return { value: world.leases.get(key) ?? onChain.get(key), height: 10n, node: "test" };
  };
  const chain = {
    ...mirrored,
    queries: { ...mirrored.queries, lease: ask },
    get status() {
      return { mirrorAgeMs: stage.mirrorAgeMs };
    },
    // What is filed is in the journal, and nobody sends it.
    outbox: {
      intentOf: (request: SendRequest) => intentOf(request, { chainId: "test", sender: mirrored.provider }),
      wake: () => undefined,
    },
  } as Chain;

  async function start(given: StartOptions = {}): Promise<Life> {
    const {
      dir: own = dir,
      boundary = openBoundary,
      leases = {},
      overcommit = noOvercommit,
      plant = (sound) => sound,
    } = given;
    const { journal } = await openJournal({ dir: own, clock, log: silentLog, boundary });
    const kube = plant(cluster.connect("akash-provider", { boundary }));
    const options = { ...leaseDefaults, ...leases, overcommit };
    const deps = { clock, random, log: silentLog };
    const keeper = createLeaseKeeper({ chain, journal, kube, options, ...deps, onChange: () => undefined });
    const stopping = new AbortController();
    const tasks: Promise<void>[] = [];
    const cleanups: (() => Promise<void> | void)[] = [];
    const scope: Scope = {
      signal: stopping.signal,
      task: (_name, work) => void tasks.push(work(stopping.signal).catch(() => undefined)),
      onStop: (cleanup) => void cleanups.push(cleanup),
    };
    const [pods, claims] = [createLeasePods(kube), createLeaseClaims(kube)];
    const { monitor } = given;
    const watched = { chain, journal, kube, leases: keeper, pods, claims, ...deps };
    const health = monitor && createHealthKeeper({ ...watched, options: { ...options, monitor } });
    keeper.open(scope);
    if (health) await Promise.all([pods.open(scope), claims.open(scope), clock.settle()]);
    health?.open(scope);
    let isStopped = false;
    const life: Life = {
      keeper,
      health,
      journal,
      kube,
      async send(lease, manifest) {
        const version = Buffer.from(manifestHash(manifest)).toString("hex");
        const leaseId = formatLeaseId(lease);
        const group = manifest[lease.gseq - 1];
        const written = journal.durable("manifest", ({ manifests }) =>
          manifests.put({ leaseId, version, body: JSON.stringify([group]) }),
        );
        await Promise.all([written, clock.settle()]);
        keeper.wake(leaseId);
        return version;
      },
      async withdraw(lease) {
        const leaseId = formatLeaseId(lease);
        const written = journal.durable("withdrawn", ({ manifests }) => manifests.withdraw(leaseId));
        await Promise.all([written, clock.settle()]);
        keeper.wake(leaseId);
      },
      step: (lease) => step({ kind: "lease", key: formatLeaseId(lease) }),
      state: (lease) => keeper.states.get(formatLeaseId(lease))?.state,
      why: (lease) => keeper.states.get(formatLeaseId(lease))?.why ?? "",
      async stop() {
        if (isStopped) return;
        isStopped = true;
        stopping.abort();
        await clock.advance(journalRelaxedFlushMs);
        await Promise.all(tasks);
        const cleaned = Promise.all(cleanups.map((cleanup) => cleanup())).catch(() => undefined);
        await Promise.all([cleaned, clock.advance(journalRelaxedFlushMs)]);
        await kube.close();
        await journal.close().catch(() => undefined);
      },
    };
    owner.after(() => life.stop());
    await clock.settle();
    return life;
  }

  const stage: LeaseStage = {
    chainAnswers: true,
    mirrorAgeMs: 0,
    clock,
    cluster,
    world,
    observer: cluster.connect("observer"),
    start,
    won(dseq, { groups } = shop(), owner = tenant) {
      const lease = { ...bidOf(orderKey(dseq)), owner };
      const deployment = { groups: groups.map((spec, at) => ({ id: { ...lease, gseq: at + 1 }, spec })) };
      world.deployments.set(formatDeploymentId(lease), deployment as never);
      world.leases.set(formatLeaseId(lease), { ...leaseOf(orderKey(dseq)), id: lease });
      return lease;
    },
    becomes(lease, state) {
      if (state)
        world.leases.set(formatLeaseId(lease), { ...leaseOf(orderKey(Number(lease.dseq)), state), closedOn: 9n });
      else world.leases.delete(formatLeaseId(lease));
    },
    forgotten(lease) {
      const key = formatLeaseId(lease);
      const last = world.leases.get(key);
      if (last) onChain.set(key, last);
      world.leases.delete(key);
    },
    objects(lease) {
      const found = new Map<string, KubeObject>();
      for (const kind of contents) {
        for (const object of cluster.server.list(kind, { namespace: leaseNamespace(lease) })) {
          found.set(`${kind.plural} ${object.metadata.name}`, object);
        }
      }
      return found;
    },
    pods: (lease) => [...cluster.server.list(kinds.pod, { namespace: leaseNamespace(lease) })].filter(isRunning),
    async until(what, isSo, limitMs = 120_000) {
      const endMs = clock.now() + limitMs;
      while (!(await isSo())) {
        if (clock.now() > endMs) throw new Error(`waited in vain: ${what}`);
        await clock.advance(100);
      }
    },
  };
  return stage;
}

function isRunning(pod: KubeObject): boolean {
  return (pod["status"] as { phase?: string } | undefined)?.phase === "Running";
}

const contents: readonly Kind[] = [
  kinds.deployment,
  kinds.statefulSet,
  kinds.service,
  kinds.networkPolicy,
  kinds.secret,
  kinds.serviceAccount,
  kinds.role,
  kinds.roleBinding,
  kinds.persistentVolumeClaim,
];

export function defineCustomResources(cluster: SimulatedCluster): void {
  for (const kind of [kinds.manifest, kinds.providerHost, kinds.providerLeasedIp]) {
    cluster.server.create(kinds.customResourceDefinition, definitionOf(kind), "operator");
  }
}

interface Shop {
  readonly page?: string;
  readonly store?: string;
  /** How many there are. */
  readonly stores?: number;
  readonly persistent?: boolean;
  readonly credentials?: boolean;
  readonly permissions?: boolean;
  /** What the service of the page is called. */
  readonly name?: string;
  readonly host?: string;
  /** With a store that no API server takes: it mounts twice at one place. */
  readonly broken?: boolean;
}

/** A page that the world sees, and a store that keeps its data. */
export function shop(options: Shop = {}): Sdl {
  const {
    page = "page:1",
    store = "store:1",
    stores = 1,
    persistent = true,
    credentials,
    permissions,
    name = "page",
    host = "shop.example.com",
  } = options;
  const data = { name: "data", size: "1Gi", attributes: { persistent: true, class: "beta3" } };
  const sdl = {
    version: "2.1",
    services: {
      [name]: {
        image: page,
        expose: [{ port: 8080, as: 80, accept: [host], to: [{ global: true }] }],
        ...(credentials && {
          credentials: { host: "https://registry.example.com", username: "me", password: "secret" },
        }),
        ...(permissions && { params: { permissions: { read: ["logs"] } } }),
      },
      store: {
        image: store,
        ...(persistent && { params: { storage: { data: { mount: "/data" } } } }),
        expose: [{ port: 5432, to: [{ service: name }] }],
      },
    },
    profiles: {
      compute: {
        page: { resources: { cpu: { units: "100m" }, memory: { size: "64Mi" }, storage: [{ size: "64Mi" }] } },
        store: {
          resources: {
            cpu: { units: "100m" },
            memory: { size: "64Mi" },
            storage: [{ size: "64Mi" }, ...(persistent ? [data] : [])],
          },
        },
      },
      placement: {
        box: { pricing: { page: { denom: "uact", amount: 10_000 }, store: { denom: "uact", amount: 10_000 } } },
      },
    },
    deployment: { [name]: { box: { profile: "page", count: 1 } }, store: { box: { profile: "store", count: stores } } },
  };
  const read = readSdl(JSON.stringify(sdl));
  return options.broken ? { ...read, manifest: read.manifest.map(mountingTwice) } : read;
}

function mountingTwice({ services, ...group }: ManifestGroup): ManifestGroup {
  const twice = (storage: readonly StorageMount[] | null) => (storage ? [...storage, ...storage] : null);
  return {
    ...group,
    services: services.map(({ params, ...service }) => ({
      ...service,
      ...(params && { params: { ...params, storage: twice(params.storage) } }),
    })),
  };
}

type StorageMount = NonNullable<ServiceParams["storage"]>[number];
