/**
 * Everything in one process: the provider as it is, before it an embedded chain and a simulated cluster, after it the
 * inventory, scripted tenants and other providers.
 */
import { join } from "node:path";
import type { OrderLine } from "../bidengine/order-report.ts";
import { createPolicySource } from "../bidengine/policies/policy-source.ts";
import { createPricing } from "../bidengine/pricing/create-pricing.ts";
import { createHttpTransports } from "../chain/comet/http-transport.ts";
import { createSigner } from "../chain/keys/signer.ts";
import { createMemoryFeed, type SnapshotSource } from "../cluster/capacity/inventory/memory-feed.ts";
import { createKubeService } from "../kube/kube-service.ts";
import { parseCoin, parseCoins, parseDecCoins } from "../market/coin.ts";
import { parseDecimal } from "../market/decimal.ts";
import { noOvercommit } from "../market/fit.ts";
import type { Attribute, GroupSpec } from "../market/group-spec.ts";
import { createInventoryService, type InventoryView } from "../operators/inventory/inventory-service.ts";
import { createProvider, type Provider, type ProviderStatus, type ServiceDeps } from "../provider/provider.ts";
import type { Clock } from "../runtime/clock.ts";
import { invariant } from "../runtime/invariant.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import type { Random } from "../runtime/random.ts";
import { createEmbeddedNode } from "./chain/embedded-node.ts";
import { createClusterService, createDemoCluster, demoInventory } from "./demo-cluster.ts";
import { createNames } from "./demo-names.ts";
import { demoPrices } from "./demo-prices.ts";
import type { MarketView } from "./market-view.ts";
import { createNodeService } from "./node-service.ts";
import { createRegistrationService } from "./registration-service.ts";
import { createRivalsService, type Rival } from "./rivals-service.ts";
import { createTenantsService, demoStories, type TenantsStatus } from "./tenants-service.ts";
import { createVisitorService } from "./visitor-service.ts";
import { readWishes } from "./wishes.ts";
import { createWorkloadsService, type Workloads } from "./workloads-service.ts";

interface DemoOptions {
  readonly dataDir: string;
  readonly version: string;
  /** Number of deployments of all tenants; unlimited if not given. */
  readonly stories?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Demo extends Provider {
  status(): DemoStatus;
}

export interface DemoStatus extends ProviderStatus {
  readonly inventory: InventoryView | undefined;
  readonly market: MarketView | undefined;
  /** Objects and rows of leases; all 0 when there is none. */
  readonly left: { readonly namespaces: number; readonly reservations: number; readonly manifests: number };
}

/** On any free port. */
const loopback = { host: "127.0.0.1", port: 0 };
/** Quick enough to watch, slow enough to follow. */
const blockMs = 500;
/** Four minutes of blocks: older ones are not queried, and the demo may run all day. */
const keepBlocks = 500;
const tenantCount = 4;
/** Those who send theirs do so at once; a person sees what becomes of one who does not. */
const manifestTimeoutMs = 5_000;
/** What is reached over HTTP has a name of its own here. */
const hosts = { blockedHosts: [], ingressDomain: undefined, staticHostDomain: "box.example.com" };
const initialCoins = parseCoins("1000000000000uact,1000000000000uakt");
/** Ours: fees for a day, and small enough to see each deposit leave it and are refunded. */
const wallet = parseCoins("1000000000uact,1000000000uakt");
const settings = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };

/**
 * A person sees within seconds what others see in days. What a withdrawal must bring is twice its fee, as if both tokens
 * were worth the same; so GPUs are withdrawn for while they run, and all else when its lease closes.
 */
const balance = {
  minimumBalance: parseCoins("1000000uakt"),
  warnBalance: parseCoins("5000000uakt"),
  intervalMs: 2_000,
  periodMs: 5_000,
  threshold: parseCoins("10000uact"),
  fee: parseCoin("5000uakt"),
};

/** Attributes of the demo's provider record; the chain rejects bids that need others. */
const attributes = attributesOf({
  region: "box",
  "capabilities/storage/1/class": "beta3",
  "capabilities/storage/1/persistent": "true",
  ...gpuAttributes("h100", "rtx4090"),
});

export function createDemo({ dataDir, version, stories, clock, random, log }: DemoOptions): Demo {
  const signer = createSigner(random.bytes(32));
  const visitorKey = random.bytes(32);
  const rivals = createRivals(random);
  const tenantSigners = Array.from({ length: tenantCount }, () => createSigner(random.bytes(32)));
  const node = createEmbeddedNode({
    chainId: "akash-demo-1",
    accounts: [
      { address: signer.address, coins: wallet },
      ...[createSigner(visitorKey), ...rivals.map((rival) => rival.signer), ...tenantSigners].map(({ address }) => ({
        ...{ address, coins: initialCoins },
      })),
    ],
    clock,
    log: log.with({ module: "node" }),
    blockMs,
    keepBlocks,
  });
  const cluster = createDemoCluster({ clock, random, log: log.with({ module: "cluster" }) });
  const kube = createKubeService(() => cluster.connect("akash-provider"));
  const snapshots = Promise.withResolvers<SnapshotSource>();
  const said = new Map<string, OrderLine>();
  let names: ReturnType<typeof createNames> | undefined;
  let inventory: Service<InventoryView> | undefined;
  let tenants: Service<TenantsStatus> | undefined;
  let workloads: Service<Workloads> | undefined;
  const namesOf = (deps: ServiceDeps) => {
    names ??= createNames({ provider: signer.address, listen: loopback, version }, { ...deps, cluster });
    return names;
  };
  const provider = createProvider({
    dataDir,
    metricsListener: loopback,
    control: true,
    before: [createNodeService(node), createClusterService(cluster)],
    chain: { nodes: () => createHttpTransports([{ url: node.rpcUrl }], clock), signer, settings },
    kube,
    market: {
      cluster: { overcommit: noOvercommit, leases: { hosts } },
      manifest: { timeoutMs: manifestTimeoutMs, requireHost: false },
      ipOperator: (deps) => namesOf(deps).ipOperator(),
      hostnameFeed: (deps) => namesOf(deps).hostnameFeed(),
      inventory: (deps) => createMemoryFeed({ ...deps, source: snapshots.promise }),
      bidengine: {
        attributes,
        bidDeposit: parseCoin("500000uact"),
        minimumBalance: balance.minimumBalance,
        bidTimeoutMs: 300_000,
        reclamationWindowMs: 0,
        fee: undefined,
      },
      pricing: (deps) => createPricing({ current: demoPrices }, deps),
      policies: (deps) => createPolicySource(undefined, deps),
    },
    balance,
    gateway: {
      ...{ listen: loopback, grpcListen: loopback, publicHost: "127.0.0.1", version },
      certificate: { keptIn: { path: join(dataDir, "certificates.pem") } },
    },
    after(services) {
      const operator = createInventoryService(() => ({ ...demoInventory, version }), {
        ...services,
        // Under a name of its own, as the process that it would be.
        kube: Promise.resolve(cluster.connect("akash-operator-inventory")),
      });
      inventory = operator;
      snapshots.resolve(operator.opened);
      const observed = createWorkloadsService({ kube: kube.opened });
      workloads = observed;
      tenants = createTenantsService({ signers: tenantSigners, wishes: readWishes(), settings, stories }, services);
      const gateway = () => {
        const { gateway: started } = provider.status();
        invariant(started, "the gateway has started");
        return started;
      };
      const gatewayUrl = () => gateway().url;
      return [
        inventory,
        ...namesOf(services).services,
        observed,
        createRegistrationService({ owner: signer.address, attributes, hostUri: gatewayUrl }, services),
        createRivalsService({ rivals, settings }, services),
        createVisitorService({
          ...{ dataDir, privateKey: visitorKey, provider: signer.address },
          ...{ rpcUrl: () => node.rpcUrl, gatewayUrl, grpcAddress: () => `${loopback.host}:${gateway().grpcPort}` },
          doorUrl: namesOf(services).doorUrl,
        }),
        tenants,
      ];
    },
    clock,
    random,
    log,
  });
  return {
    ...provider,
    status() {
      const status = provider.status();
      const tenantsStatus = tenants?.status?.();
      keepNewest(said, status.bidengine?.recent ?? []);
      const market = tenantsStatus && {
        tenants: tenantsStatus,
        answerTo: (order: string) => said.get(order),
        provider: signer.address,
        workloads: workloads?.status?.(),
      };
      const left = {
        namespaces: workloads?.status?.()?.namespaces ?? 0,
        reservations: status.cluster?.reservations ?? 0,
        manifests: status.manifest?.received ?? 0,
      };
      return { ...status, inventory: inventory?.status?.(), market, left };
    },
  };
}

/** The bid engine's status has fewer orders than a large terminal shows. */
function keepNewest(said: Map<string, OrderLine>, recent: readonly OrderLine[]): void {
  for (const line of recent.toReversed()) said.set(line.orderId, line);
  for (const [orderId] of [...said].slice(0, -2 * demoStories)) said.delete(orderId);
}

/** One sells CPU only, the other GPUs only. */
function createRivals(random: Random): Rival[] {
  const hasGpus = ({ units }: GroupSpec) => units.some(({ gpu }) => gpu.count > 0n);
  const trades = [
    { attributes: attributesOf({ region: "box" }), sells: (group: GroupSpec) => !hasGpus(group) },
    { attributes: attributesOf({ region: "box", ...gpuAttributes("a100", "h100") }), sells: hasGpus },
  ];
  return trades.map((trade) => ({ signer: createSigner(random.bytes(32)), ...trade }));
}

function gpuAttributes(...models: readonly string[]): Record<string, string> {
  return Object.fromEntries(models.map((model) => [`capabilities/gpu/vendor/nvidia/model/${model}`, "true"]));
}

function attributesOf(values: Readonly<Record<string, string>>): Attribute[] {
  return Object.entries(values).map(([key, value]) => ({ key, value }));
}
