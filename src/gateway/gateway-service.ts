/** The gateway as a service: how tenants reach us. */
import type { Chain } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import type { Kube } from "../kube/kube.ts";
import type { TenantLeases, TenantPods } from "../kube/tenant-access.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Scope, Service } from "../runtime/lifecycle.ts";
import type { ListenAddress } from "../runtime/listener.ts";
import type { Log } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Queue } from "../runtime/queue.ts";
import type { Random } from "../runtime/random.ts";
import { createAuthenticator } from "./auth/authenticator.ts";
import { createKnownAccounts, type KnownAccounts } from "./auth/known-accounts.ts";
import type { CertificateOptions, Certificates } from "./certificate/certificate-service.ts";
import { noCertificate } from "./certificate/file-certificate.ts";
import { createGatewayMetrics, type GatewayMetrics } from "./gateway-metrics.ts";
import { createIdentify, createLeaseCalls } from "./grpc/grpc-auth.ts";
import { type GrpcGateway, startGrpcGateway } from "./grpc/grpc-gateway.ts";
import { createLeaseRpc } from "./grpc/lease-rpc.ts";
import { createProviderRpc } from "./grpc/provider-rpc.ts";
import { screeningRoutes } from "./rest/bid-screening.ts";
import { createRequestBudget } from "./rest/connections.ts";
import { leaseRoutes } from "./rest/lease-routes.ts";
import { manifestRoutes, type TenantManifests } from "./rest/manifest-routes.ts";
import { migrateRoutes } from "./rest/migrate-routes.ts";
import { withOpenapi } from "./rest/openapi.ts";
import {
  addressRoutes,
  type Dependency,
  followToken,
  healthRoutes,
  metricsRoutes,
  statusRoutes,
  versionRoutes,
} from "./rest/provider-routes.ts";
import type { ProxyOptions } from "./rest/rate-limit-key.ts";
import { createRest } from "./rest/rest.ts";
import { type RestServer, startRestServer } from "./rest/server.ts";
import { type BidScreen, createScreener } from "./screening/screener.ts";
import { createProviderStatus, type StatusParts } from "./status/provider-status.ts";
import { createStatusSnapshot } from "./status/status-document.ts";
import { createStatusMessage } from "./status/status-message.ts";
import { type Admission, createAdmission } from "./streams/admission.ts";
import { shellRoute } from "./streams/shell-route.ts";
import { eventsRoute, logsRoute } from "./streams/stream-routes.ts";
import { createUpgrades } from "./streams/upgrade.ts";

export interface TenantGatewayOptions extends ProxyOptions {
  readonly listen: ListenAddress;
  readonly grpcListen?: ListenAddress;
  readonly publicHost: string | undefined;
  readonly version: string;
  readonly metricsTokenFile?: string | undefined;
  readonly certificate?: CertificateOptions;
  /** What is shown in handshakes, where a test says so. */
  readonly certificates?: Certificates;
}

export interface GatewayStatus {
  readonly url: string;
  readonly port: number;
  readonly grpcPort: number | undefined;
}

interface GatewayDeps {
  readonly chain: Promise<Chain>;
  readonly certificates: Promise<Certificates> | undefined;
  readonly kube: Promise<Kube> | undefined;
  readonly journal: Promise<Journal>;
  /** Undefined where nothing is sold, as the next. */
  readonly leases: Promise<TenantLeases> | undefined;
  readonly pods: Promise<TenantPods> | undefined;
  readonly manifests: Promise<TenantManifests> | undefined;
  readonly bids: Promise<BidScreen> | undefined;
  readonly status: StatusParts;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

const noOwnCertificate = "no certificate of ours is valid on the chain, so that nobody is answered";

const none: Certificates = { own: noCertificate, public: noCertificate };

export function createGatewayService(options: TenantGatewayOptions, deps: GatewayDeps): Service<GatewayStatus> {
  const log = deps.log.with({ module: "gateway" });
  const tally = createGatewayMetrics();
  const queues: Queue[] = [];
  let gateway: Gateway | undefined;

  return {
    name: "gateway",
    queues,
    async start(scope) {
      const [chain, journal] = await Promise.all([deps.chain, deps.journal]);
      const accounts = createKnownAccounts({ ...deps, chain, journal, log });
      queues.push(accounts.queue);
      scope.task("lease owners", accounts.queue.run);
      gateway = await openGateway({ options, deps: { ...deps, log }, tally, chain, accounts }, scope);
    },
    detail() {
      if (!gateway) return "";
      const { server, grpc, certificates } = gateway;
      const told = [
        server.url,
        grpc && `gRPC on ${grpc.port}`,
        certificates.own.current ? undefined : noOwnCertificate,
      ];
      return told.filter((part) => part !== undefined).join(", ");
    },
    status: () => gateway && { url: gateway.server.url, port: gateway.server.port, grpcPort: gateway.grpc?.port },
    measure(metrics) {
      tally.measure(metrics, () => gateway);
      gateway?.accounts.measure(metrics);
    },
  };
}

interface Opening {
  readonly options: TenantGatewayOptions;
  readonly deps: GatewayDeps;
  readonly tally: GatewayMetrics;
  readonly chain: Chain;
  readonly accounts: KnownAccounts;
}

interface Gateway {
  readonly server: RestServer;
  readonly grpc: GrpcGateway | undefined;
  readonly admission: Admission;
  readonly certificates: Certificates;
  readonly accounts: KnownAccounts;
}

async function openGateway({ options, deps, tally, chain, accounts }: Opening, scope: Scope): Promise<Gateway> {
  const { clock, log, status: parts } = deps;
  const { provider } = chain;
  const { publicHost, version } = options;
  const certificates = options.certificates ?? (await deps.certificates) ?? none;
  const authenticator = createAuthenticator({ ...accounts, provider, clock });
  const sold = [deps.leases, deps.pods, deps.manifests, deps.bids, deps.kube] as const;
  const [leases, pods, manifests, bids, kube] = await Promise.all(sold);
  await Promise.all([parts.chain, parts.cluster]);
  const statusOf = createProviderStatus(parts);
  const dependencies = (): Dependency[] => {
    const own = { name: "certificate", trouble: certificates.own.current ? undefined : noOwnCertificate };
    const parts = statusOf().parts.map(({ what, why }) => ({
      name: what === "workloads" ? "kubernetes" : what,
      trouble: why,
    }));
    return parts.toSpliced(1, 0, own);
  };
  const screening = bids && { screen: createScreener(bids, clock), hostRefusal: bids.hostRefusal };
  const token = followToken(options.metricsTokenFile, scope, { clock, log });
  const routes = [
    ...addressRoutes(provider),
    ...versionRoutes({ kube, version, clock }),
    ...healthRoutes(dependencies),
    ...metricsRoutes(deps.metrics, token),
    ...statusRoutes(createStatusSnapshot({ provider, publicHost, parts, clock })),
    ...(leases ? [...leaseRoutes({ provider, leases }), ...migrateRoutes(leases)] : []),
    ...screeningRoutes(screening),
    ...(pods ? [eventsRoute({ provider, pods, clock })] : []),
    ...(leases && pods ? [logsRoute({ provider, leases, pods }), shellRoute({ provider, leases, pods, log })] : []),
    ...(leases && manifests ? manifestRoutes({ provider, leases, manifests }) : []),
  ];
  const budget = createRequestBudget();
  const serving = { budget, clock, log, onHandshakeFailure: tally.handshakeFailed, onRefusal: tally.refused };
  const admission = createAdmission({ chain, leases, authenticator, clock });
  const rest = createRest({
    routes: withOpenapi(routes, { version, provider }),
    streams: { provider, upgrades: createUpgrades({ admission, clock, log }) },
    ...{ authenticator, budget, clock, log, onAnswer: tally.answered },
  });
  const server = await startRestServer({ ...options, ...serving, certificates, rest });
  scope.onStop(() => {
    admission.stop();
    return server.close();
  });
  log.info("gateway listening", { url: server.url });
  if (!options.grpcListen) return { server, grpc: undefined, admission, certificates, accounts };
  const identify = createIdentify(authenticator);
  const calls = createLeaseCalls({ provider, identify, admission });
  const status = createStatusMessage({ publicHost, parts, clock });
  const grpc = await startGrpcGateway({
    ...{ ...options, ...serving, listen: options.grpcListen, own: certificates.own },
    services: [
      ...(leases && manifests && pods ? [createLeaseRpc({ calls, leases, manifests, pods, clock })] : []),
      createProviderRpc({ identify, status, screening, clock }),
    ],
  });
  scope.onStop(grpc.close);
  log.info("gRPC gateway listening", { port: grpc.port });
  return { server, grpc, admission, certificates, accounts };
}
