/** The composition root: the services of the provider in the order in which they lean on each other. */

import { createBalanceService } from "../balance/balance-service.ts";
import type { BalanceOptions, BalanceStatus } from "../balance/balance-status.ts";
import type { BidEngineStatus } from "../bidengine/bid-status.ts";
import type { BidEngine } from "../bidengine/bidengine.ts";
import { createBidEngineService } from "../bidengine/bidengine-service.ts";
import type { BidEngineOptions } from "../bidengine/decider.ts";
import type { PolicySource } from "../bidengine/policies/policy-source.ts";
import type { RunningPricing } from "../bidengine/pricing/create-pricing.ts";
import type { Bus } from "../bus/bus.ts";
import { createBusService, type TopicStatus } from "../bus/bus-service.ts";
import type { RedisOptions } from "../bus/redis.ts";
import type { Chain } from "../chain/chain.ts";
import { type ChainServiceOptions, type ChainServiceStatus, createChainService } from "../chain/chain-service.ts";
import { runs } from "../chain/records.ts";
import type { IpOperatorClient } from "../cluster/capacity/addresses/ip-operator.ts";
import type { InventoryFeed } from "../cluster/capacity/inventory/feed.ts";
import { type Cluster, type ClusterOptions, createClusterService } from "../cluster/cluster-service.ts";
import type { ClusterStatus } from "../cluster/cluster-status.ts";
import type { HostnameFeed } from "../cluster/leases/declarations/hostname-feed.ts";
import { createConditionsService } from "../conditions/conditions-service.ts";
import type { HeldCondition, Receiver } from "../conditions/held-conditions.ts";
import type { FollowedSettings } from "../config/load.ts";
import { createCertificateService } from "../gateway/certificate/certificate-service.ts";
import { createGatewayService, type GatewayStatus, type TenantGatewayOptions } from "../gateway/gateway-service.ts";
import type { Journal } from "../journal/journal.ts";
import { createJournalService } from "../journal/journal-service.ts";
import type { Keep } from "../journal/retention.ts";
import type { Kube } from "../kube/kube.ts";
import type { Manifests } from "../manifest/intake.ts";
import { createManifestService, type ManifestOptions } from "../manifest/manifest-service.ts";
import type { ManifestStatus } from "../manifest/manifest-status.ts";
import { parseLeaseId, parseOrderId } from "../market/ids.ts";
import { type Boundary, openBoundary } from "../runtime/boundary.ts";
import { nsToMs } from "../runtime/clock.ts";
import { createControlService } from "../runtime/control/control-service.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import type { ResourceService, Service } from "../runtime/lifecycle.ts";
import type { ListenAddress } from "../runtime/listener.ts";
import { once } from "../runtime/memoize.ts";
import { createMetrics, type Metrics } from "../runtime/metrics.ts";
import { createMetricsListener } from "../runtime/metrics-listener.ts";
import { createProcess, type Process, type ProcessStatus } from "../runtime/process.ts";
import { createExclusiveService, type ExclusiveOptions } from "./exclusive.ts";
import { createSettingsService } from "./settings-service.ts";

export interface ProviderOptions extends RuntimeDeps {
  readonly dataDir: string;
  /** Where they follow a file, its content is kept for the next start. */
  readonly settings?: FollowedSettings;
  /** How long the ends of orders are remembered, and the books. */
  readonly keep?: Keep;
  /** Without it the bus stays inside the process. */
  readonly redis?: RedisOptions;
  readonly metricsListener?: ListenAddress;
  /** Receiver of notifications about conditions. */
  readonly notify?: Receiver;
  /** Whether it serves the control socket in its data directory. */
  readonly control?: boolean;
  readonly chain: ChainServiceOptions;
  readonly kube?: ResourceService<Kube>;
  /** In a cluster: the Lease that keeps a second provider with this key out. */
  readonly exclusive?: ExclusiveOptions;
  /** Without it, or without a cluster, nothing is bid. */
  readonly market?: MarketOptions;
  /** Without it nothing is withdrawn. */
  readonly balance?: BalanceOptions;
  /** The tenants' gateway. */
  readonly gateway?: TenantGatewayOptions;
  /** What runs before everything else, for instance the node of the demo. */
  readonly before?: readonly Service[];
  /** What runs on top of everything else, for instance the tenants of the demo. */
  readonly after?: (services: ProviderServices) => readonly Service[];
  readonly shutdownMs?: number;
  /** For crash tests. */
  readonly boundary?: Boundary;
}

/** The cluster, the manifests and the bid engine, with where each looks. */
export interface MarketOptions {
  readonly cluster: ClusterOptions;
  readonly inventory: (deps: ServiceDeps) => InventoryFeed;
  /** Undefined where IP addresses are not leased. */
  readonly ipOperator?: (deps: ServiceDeps) => IpOperatorClient;
  /** Reports the health of host names. */
  readonly hostnameFeed?: (deps: ServiceDeps) => HostnameFeed;
  readonly manifest: ManifestOptions;
  readonly bidengine: BidEngineOptions;
  readonly pricing: (deps: ServiceDeps) => RunningPricing;
  readonly policies: (deps: ServiceDeps) => PolicySource;
}

export interface Provider extends Process {
  status(): ProviderStatus;
}

export interface ProviderStatus extends ProcessStatus {
  readonly bus: readonly TopicStatus[] | undefined;
  readonly conditions: readonly HeldCondition[] | undefined;
  readonly chain: ChainServiceStatus | undefined;
  readonly cluster: ClusterStatus | undefined;
  readonly manifest: ManifestStatus | undefined;
  readonly bidengine: BidEngineStatus | undefined;
  readonly balance: BalanceStatus | undefined;
  readonly gateway: GatewayStatus | undefined;
}

/** Resources of the lower services; a promise resolves when the service of its name has started. */
export interface ServiceDeps extends RuntimeDeps {
  readonly chain: Promise<Chain>;
  readonly kube: Promise<Kube> | undefined;
  readonly bus: Promise<Bus>;
  readonly journal: Promise<Journal>;
  /** For the services that serve them; a service registers its own in `measure`. */
  readonly metrics: Metrics;
}

/** The same with what the upper services open. */
export interface ProviderServices extends ServiceDeps {
  /** Undefined where nothing is sold, as all of these. */
  readonly bidengine: Promise<BidEngine> | undefined;
  /** Where tenants' manifests are brought. */
  readonly manifests: Promise<Manifests> | undefined;
  readonly cluster: Promise<Cluster> | undefined;
}

export function createProvider(options: ProviderOptions): Provider {
  const { dataDir, redis, metricsListener, kube, before = [], after, shutdownMs } = options;
  const { boundary = openBoundary, clock, random, log } = options;
  const metrics = createMetrics();
  const runtimeDeps = { clock, random, log, metrics };
  let mirror: Chain["mirror"] | undefined;
  const chainNowMs = () => mirror && nsToMs(mirror.timeNs);
  const journal = createJournalService(dataDir, { ...runtimeDeps, boundary, chainNowMs }, options.keep);
  const bus = createBusService(redis, runtimeDeps);
  const beforeBlocks = async (opened: Chain) => {
    mirror = opened.mirror;
    announce(opened, await bus.opened);
  };
  const { address } = options.chain.signer;
  const exclusive =
    options.exclusive &&
    kube &&
    createExclusiveService(options.exclusive, { ...runtimeDeps, address, kube: kube.opened });
  const sending = { boundary, journal: journal.opened, forbids: exclusive?.forbids };
  const chain = createChainService(options.chain, { ...runtimeDeps, ...sending }, beforeBlocks);
  const deps = {
    ...runtimeDeps,
    chain: chain.opened,
    kube: kube?.opened,
    bus: bus.opened,
    journal: journal.opened,
  };
  const market = kube && options.market && createMarket(options.market, { ...deps, kube: kube.opened });
  const bidengine = market?.bidengine.opened;
  const tokenPrice = () => market?.pricing()?.tokenPrice?.();
  const balance = options.balance && createBalanceService(options.balance, { ...deps, bidengine, tokenPrice });
  const { signer } = options.chain;
  const { certificates, gateway } = createEntrance(options, { ...deps, boundary }, market);
  const conditions = createConditionsService({
    ...runtimeDeps,
    gather: () => running.conditions(),
    provider: signer.address,
    receiver: options.notify,
    journal: journal.opened,
  });
  const control: Process["control"] = (...request) => running.control(...request);
  const services: Service[] = [
    ...before,
    // First, so that a long start can be observed.
    ...(metricsListener ? [createMetricsListener(metrics, metricsListener, log)] : []),
    // Before the control socket: its lock makes this the only provider in the directory.
    journal,
    ...(options.settings ? [createSettingsService(options.settings, deps)] : []),
    bus,
    ...(options.control ? [createControlService({ dataDir, control, clock, log })] : []),
    // Before the chain, to report what keeps that from starting.
    conditions,
    ...(kube ? [kube] : []),
    ...(exclusive ? [exclusive.service] : []),
    chain,
    ...(market ? [market.cluster, market.manifest, market.bidengine] : []),
    ...(balance ? [balance] : []),
    ...(certificates ? [certificates] : []),
    ...(gateway ? [gateway] : []),
    ...(after?.({
      ...deps,
      bidengine,
      manifests: market?.manifest.opened,
      cluster: market?.cluster.opened,
    }) ?? []),
  ];
  const running = createProcess({ services, metrics, clock, log, shutdownMs });
  return {
    ...running,
    status() {
      const status = running.status();
      return { ...status, ...status.statuses } as ProviderStatus;
    },
  };
}

type Market = ReturnType<typeof createMarket>;

/** How tenants reach us: the gateway, and the certificates that it shows. */
function createEntrance(
  options: ProviderOptions,
  deps: ServiceDeps & { readonly boundary: Boundary },
  market: Market | undefined,
) {
  if (!options.gateway) return {};
  const { publicHost, certificate } = options.gateway;
  const { signer } = options.chain;
  const certificates = certificate && createCertificateService(certificate, { ...deps, publicHost, signer });
  const gateway = createGatewayService(options.gateway, {
    ...deps,
    certificates: certificates?.opened,
    tenants: market && tenantServicesOf(market),
    reclamationWindowMs: options.market?.bidengine.reclamationWindowMs ?? 0,
  });
  return { certificates, gateway };
}

async function tenantServicesOf(market: Market) {
  const { cluster, bidengine, manifest } = market;
  const [opened, engine, manifests] = await Promise.all([cluster.opened, bidengine.opened, manifest.opened]);
  const { tenants: leases, pods, view, side } = opened;
  const bids = { screenBetweenOrders: engine.screenBetweenOrders, hostRejection: side.hostRejection };
  const status = { cluster: view, orders: () => engine.inFlight, deployments: () => manifests.deployments };
  return { leases, pods, manifests, bids, status };
}

function createMarket(options: MarketOptions, deps: ServiceDeps & { readonly kube: Promise<Kube> }) {
  const { inventory, ipOperator, pricing } = options;
  const policies = once(() => options.policies(deps));
  const cluster = createClusterService(options.cluster, {
    ...deps,
    inventory: inventory(deps),
    ipOperator: ipOperator?.(deps),
    hostnameFeed: options.hostnameFeed?.(deps),
  });
  const manifest = createManifestService(options.manifest, {
    ...deps,
    cluster: cluster.opened.then(({ side }) => side),
    rules: () => policies().judge,
  });
  let prices: RunningPricing | undefined;
  const bidengine = createBidEngineService(options.bidengine, {
    ...deps,
    capacity: cluster.opened.then(({ capacity }) => capacity),
    pricing() {
      prices = pricing(deps);
      return prices;
    },
    policies,
  });
  return { cluster, manifest, bidengine, pricing: () => prices };
}

/** Also what a gap or a comparison with the chain brought to light, which no event told of. */
export function announce(chain: Pick<Chain, "onStep" | "mirror">, bus: Bus): void {
  chain.onStep(({ changed }) => {
    for (const { kind, key } of changed) {
      if (kind === "order") {
        const isOpen = chain.mirror.order(parseOrderId(key)) !== undefined;
        bus.publish("akash.provider.event.order", { kind: isOpen ? "OrderCreated" : "OrderClosed", order: key });
      }
      if (kind === "lease") {
        const isRunning = runs(chain.mirror.lease(parseLeaseId(key)));
        bus.publish("akash.provider.event.lease", { kind: isRunning ? "LeaseCreated" : "LeaseClosed", lease: key });
      }
    }
  });
}
