/**
 * A chain on the virtual clock with a tenant, and a provider whose manifest service stands on it. The provider's bids are made
 * for it, and its cluster is what the test says: how manifests come in is what is tried here.
 */
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createBidMessage } from "../../../src/bidengine/bidding.ts";
import { createEmbeddedNode } from "../../../src/box/chain/embedded-node.ts";
import type { Node } from "../../../src/box/chain/node/node.ts";
import type { Bus } from "../../../src/bus/bus.ts";
import type { Chain, Queries } from "../../../src/chain/chain.ts";
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
  updateDeployment,
} from "../../../src/chain/tx/messages.ts";
import { sendMessages } from "../../../src/chain/tx/send.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import type { RecordedManifest } from "../../../src/kube/objects/read-manifest-resource.ts";
import type { ClusterSide, OperatorRules, Ruling } from "../../../src/manifest/checks.ts";
import type { Manifests } from "../../../src/manifest/intake.ts";
import { createManifestService, type ManifestOptions } from "../../../src/manifest/manifest-service.ts";
import type { ManifestStatus } from "../../../src/manifest/manifest-status.ts";
import { parseCoin, parseCoins, parseDecCoin, parseDecCoins } from "../../../src/market/coin.ts";
import { parseDecimal } from "../../../src/market/decimal.ts";
import type { GroupSpec } from "../../../src/market/group-spec.ts";
import { type DeploymentId, formatLeaseId, type LeaseId } from "../../../src/market/ids.ts";
import { type Manifest, manifestHash } from "../../../src/market/manifest.ts";
import { createProvider } from "../../../src/provider/provider.ts";
import { type Boundary, openBoundary } from "../../../src/runtime/boundary.ts";
import { sleep } from "../../../src/runtime/clock.ts";
import { ProviderError } from "../../../src/runtime/errors.ts";
import { type Log, silentLog } from "../../../src/runtime/log.ts";
import { advanceUntilSettled } from "../advance-until-settled.ts";
import { memoryFolder } from "../folder.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";

const purse = parseCoins("1000000000000uact,1000000000000uakt");
const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };
const lookMs = 500;
const patienceMs = 7_200_000;

/** What a tenant posts. */
export interface Wish {
  readonly groups: readonly GroupSpec[];
  readonly manifest: Manifest;
}

export interface ManifestStage {
  readonly clock: VirtualClock;
  readonly node: Node;
  readonly queries: Queries;
  /** Of all providers on this stage: what is in the cluster outlives them. */
  readonly cluster: PlayedCluster;
  readonly dir: string;
  post(dseq: bigint, wish: Wish, hash?: Uint8Array, reclamationWindowNs?: bigint): Promise<DeploymentId>;
  /** Our bid on a group of it, accepted by the tenant. */
  lease(deployment: DeploymentId, wish: Wish, gseq?: number): Promise<LeaseId>;
  /** Both, in one. */
  leased(dseq: bigint, wish: Wish): Promise<LeaseId>;
  update(deployment: DeploymentId, hash: Uint8Array): Promise<void>;
  close(deployment: DeploymentId): Promise<void>;
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** Lets so much time pass, blocks and all. */
  pass(ms: number): Promise<void>;
  start(parts?: ManifestParts): StartedManifests;
  running(parts?: ManifestParts): Promise<RunningManifests>;
}

export interface ManifestParts extends Partial<ManifestOptions> {
  readonly dir?: string;
  readonly rules?: OperatorRules;
  readonly boundary?: Boundary;
  readonly nodes?: () => readonly RpcTransport[];
  readonly log?: Log;
  /** How far its own machine's time of day is ahead of the chain's. */
  readonly aheadMs?: () => number;
}

export interface StartedManifests {
  readonly ready: Promise<RunningManifests>;
  stop(): Promise<void>;
}

export interface RunningManifests {
  readonly manifests: Manifests;
  readonly chain: Chain;
  readonly journal: Journal;
  readonly bus: Bus;
  status(): ManifestStatus;
  /** Everything that the program tells of itself. */
  metricsText(): Promise<string>;
  stop(): Promise<void>;
}

export interface PlayedCluster extends ClusterSide {
  readonly records: Map<string, Omit<RecordedManifest, "lease">>;
  /** Leases that have a namespace. */
  readonly namespaces: Set<string>;
  /** Why it cannot tell, while that is so. */
  error: string | undefined;
  /** Of host names alone. */
  hostsError: string | undefined;
  rejection: string | undefined;
  /** Host names that somebody is about to have. */
  readonly allowed: string[];
  /** How often it was asked. */
  asked: number;
  /** Leases of which the bus said that their manifest has changed. */
  readonly woken: string[];
}

export async function onManifestStage(
  t: TestContext,
  play: (stage: ManifestStage) => Promise<void>,
  pace: Pace = {},
): Promise<void> {
  const clock = createVirtualClock();
  await advanceUntilSettled(clock, setUp(t, clock, pace, play), 14_400_000);
}

interface Pace {
  readonly blockMs?: number;
  /** How many blocks the chain keeps; all if not said. */
  readonly keepBlocks?: number;
}

async function setUp(
  t: TestContext,
  clock: VirtualClock,
  { blockMs = 1_000, keepBlocks }: Pace,
  play: (stage: ManifestStage) => Promise<void>,
): Promise<void> {
  const random = createSeededRandom(1);
  const folder = memoryFolder(t);
  const [tenant, provider] = [createSigner(random.bytes(32)), createSigner(random.bytes(32))];
  const node = createEmbeddedNode({
    chainId: "manifests-1",
    accounts: [tenant, provider].map(({ address }) => ({ address, coins: purse })),
    ...(keepBlocks !== undefined && { keepBlocks }),
    ...{ blockMs, listens: false, clock, log: silentLog },
  });
  await node.start();
  const pool = createPool({ nodes: [node.transport("tenant's node")], clock, random, log: silentLog });
  await pool.open();
  const broadcaster = createCometBroadcaster(pool);
  const endings: (() => Promise<void>)[] = [];

  async function send(signer: Signer, ...messages: PackedMessage[]): Promise<void> {
    const deps = { chainId: node.chainId, chain: broadcaster, signer, settings: fees, clock, random };
    await sendMessages(deps, messages);
  }

  const cluster = playedCluster();
  const stage: ManifestStage = {
    ...{ clock, node, queries: createQueries(pool), cluster },
    dir: join(folder, "provider"),
    async post(dseq, { groups, manifest }, hash = manifestHash(manifest), reclamationWindowNs) {
      const id = { owner: tenant.address, dseq };
      await send(
        tenant,
        createDeployment({ ...{ id, groups, hash, reclamationWindowNs }, deposit: parseCoin("5000000uact") }),
      );
      return id;
    },
    async lease(deployment, { groups }, gseq = 1) {
      const spec = groups[gseq - 1] as GroupSpec;
      const id = { ...deployment, gseq, oseq: 1, provider: provider.address, bseq: 0 };
      const { value: order } = await stage.queries.order(id);
      const bid = { price: parseDecCoin("10uact"), deposit: parseCoin("500000uakt"), offer: spec.units };
      const reclamationWindowNs = order?.reclamationWindowNs;
      await send(provider, createBidMessage(id, { spec }, { ...bid, reclamationWindowNs }));
      await send(tenant, createLease(id));
      return id;
    },
    leased: async (dseq, wish) => stage.lease(await stage.post(dseq, wish), wish),
    update: (id, hash) => send(tenant, updateDeployment(id, hash)),
    close: (id) => send(tenant, closeDeployment(id)),
    async until(what, isSo) {
      const limitMs = clock.now() + patienceMs;
      while (!(await isSo())) {
        if (clock.now() > limitMs) throw new Error(`waited in vain: ${what}`);
        await sleep(clock, lookMs);
      }
    },
    pass: (ms) => sleep(clock, ms),
    start(parts = {}) {
      const started = startManifests({ dir: stage.dir, ...parts }, { clock, node, signer: provider, cluster });
      endings.push(() => started.stop().catch(() => undefined));
      return started;
    },
    running: (parts) => stage.start(parts).ready,
  };
  const entry = {
    owner: provider.address,
    hostUri: "https://provider.example.com:8443",
    attributes: [
      { key: "capabilities/storage/1/class", value: "beta2" },
      { key: "capabilities/storage/1/persistent", value: "true" },
    ],
    info: undefined,
  };
  await send(provider, packMessage("createProvider", entry));
  try {
    await play(stage);
  } finally {
    for (const end of endings) await end();
    pool.close();
    await node.stop();
  }
}

interface Around {
  readonly clock: VirtualClock;
  readonly node: Node;
  readonly signer: Signer;
  readonly cluster: PlayedCluster;
}

function startManifests(parts: ManifestParts & { readonly dir: string }, around: Around): StartedManifests {
  const { dir, timeoutMs = 300_000, requireHost = false, rules = noRules, boundary = openBoundary } = parts;
  const { node, signer, cluster } = around;
  const { aheadMs = () => 0 } = parts;
  const clock = { ...around.clock, now: () => around.clock.now() + aheadMs() };
  const stopping = new AbortController();
  const opened = Promise.withResolvers<RunningManifests>();
  const running = createProvider({
    dataDir: dir,
    chain: { nodes: parts.nodes ?? (() => [node.transport()]), signer, settings: fees },
    ...{ boundary, clock, random: createSeededRandom(2), log: parts.log ?? silentLog },
    after(services) {
      const service = createManifestService(
        { timeoutMs, requireHost },
        { ...services, cluster: Promise.resolve(cluster), rules: () => rules },
      );
      const tell = async () => {
        const manifests = await service.opened;
        const [chain, journal, bus] = await Promise.all([services.chain, services.journal, services.bus]);
        bus.subscribe("akash.provider.event.manifest", ({ data }) => void cluster.woken.push(data.lease));
        const metricsText = async () =>
          JSON.stringify([running.status().services, service.status?.(), await services.metrics.text()]);
        opened.resolve({
          manifests,
          chain,
          journal,
          bus,
          metricsText,
          stop,
          status: () => service.status?.() as ManifestStatus,
        });
      };
      tell().catch(opened.reject);
      return [service];
    },
  });
  const ended = running.run(stopping.signal);
  ended.catch(opened.reject);
  const stop = () => {
    stopping.abort();
    return ended;
  };
  return { ready: opened.promise, stop };
}

const yes: Ruling = { yes: true, reason: "nothing is refused", dryRun: false };
export const noRules: OperatorRules = { tenant: () => yes, image: () => yes, hostname: () => yes };

function playedCluster(): PlayedCluster {
  const records = new Map<string, Omit<RecordedManifest, "lease">>();
  const namespaces = new Set<string>();
  return {
    records,
    namespaces,
    error: undefined,
    hostsError: undefined,
    rejection: undefined,
    asked: 0,
    hostRejection() {
      return this.rejection;
    },
    checkHostsKnown() {
      if (this.hostsError !== undefined) throw new ProviderError("AKP_CLUSTER_UNKNOWN", { reason: this.hostsError });
    },
    allowed: [],
    allowHosts(hosts) {
      this.allowed.push(...hosts);
    },
    async recorded(lease) {
      this.asked += 1;
      if (this.error !== undefined) throw new ProviderError("AKP_CLUSTER_UNKNOWN", { reason: this.error });
      return records.get(formatLeaseId(lease));
    },
    hasNamespace: (lease) => namespaces.has(formatLeaseId(lease)),
    woken: [],
  };
}
