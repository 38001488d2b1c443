/** The gateway as a service: the REST and gRPC servers for tenants. */
import type { Chain } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import type { Kube } from "../kube/kube.ts";
import type { TenantLeases, TenantPods } from "../kube/tenant-access.ts";
import type { Address } from "../market/address.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import type { Scope, Service } from "../runtime/lifecycle.ts";
import type { ListenAddress } from "../runtime/listener.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Queue } from "../runtime/queue.ts";
import { createAuthenticator } from "./auth/authenticator.ts";
import { createKnownAccounts } from "./auth/known-accounts.ts";
import type { CertificateOptions, Certificates } from "./certificate/certificate-service.ts";
import { noCertificate } from "./certificate/file-certificate.ts";
import { createGatewayMetrics, type GatewayMetrics } from "./gateway-metrics.ts";
import { createIdentify, createLeaseCalls } from "./grpc/grpc-auth.ts";
import { startGrpcGateway } from "./grpc/grpc-gateway.ts";
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
  followToken,
  healthRoutes,
  metricsRoutes,
  statusRoutes,
  versionRoutes,
} from "./rest/provider-routes.ts";
import type { ProxyOptions } from "./rest/rate-limit-key.ts";
import { createRest } from "./rest/rest.ts";
import { startRestServer } from "./rest/server.ts";
import { type BidScreen, createScreener } from "./screening/screener.ts";
import { createProviderStatus, type StatusParts } from "./status/provider-status.ts";
import { createStatusSnapshot } from "./status/status-document.ts";
import { createStatusMessage } from "./status/status-message.ts";
import { createAdmission } from "./streams/admission.ts";
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
  /** Set by tests instead of those of the certificate service. */
  readonly certificates?: Certificates;
}

export interface GatewayStatus {
  readonly url: string;
  readonly port: number;
  readonly grpcPort: number | undefined;
}

interface GatewayDeps extends RuntimeDeps {
  readonly chain: Promise<Chain>;
  readonly certificates: Promise<Certificates> | undefined;
  readonly kube: Promise<Kube> | undefined;
  readonly journal: Promise<Journal>;
  /** Undefined where the provider does not bid. */
  readonly tenants: Promise<TenantServices> | undefined;
  readonly reclamationWindowMs: number;
  readonly metrics: Metrics;
}

interface TenantServices {
  readonly leases: TenantLeases;
  readonly pods: TenantPods;
  readonly manifests: TenantManifests;
  readonly bids: BidScreen;
  readonly status: Pick<StatusParts, "cluster" | "orders" | "deployments">;
}

const noOwnCertificate = "the provider has no valid certificate on the chain, so TLS connections are rejected";

const none: Certificates = { own: noCertificate, public: noCertificate };

export function createGatewayService(options: TenantGatewayOptions, deps: GatewayDeps): Service<GatewayStatus> {
  const metrics = createGatewayMetrics();
  const queues: Queue[] = [];
  let gateway: Awaited<ReturnType<typeof openGateway>> | undefined;

  return {
    name: "gateway",
    queues,
    async start(scope) {
      gateway = await openGateway(options, { ...deps, log: deps.log.with({ module: "gateway" }) }, metrics, scope);
      queues.push(gateway.accounts.queue);
    },
    detail() {
      if (!gateway) return "";
      const { server, grpc, certificates } = gateway;
      const error = certificates.own.current ? undefined : noOwnCertificate;
      return [server.url, grpc && `gRPC on ${grpc.port}`, error].filter((part) => part !== undefined).join(", ");
    },
    status: () => gateway && { url: gateway.server.url, port: gateway.server.port, grpcPort: gateway.grpc?.port },
    measure(registry) {
      metrics.measure(registry, () => gateway);
      gateway?.accounts.measure(registry);
    },
  };
}

async function openGateway(options: TenantGatewayOptions, deps: GatewayDeps, metrics: GatewayMetrics, scope: Scope) {
  const { clock, log, reclamationWindowMs } = deps;
  const { publicHost, version } = options;
  const [chain, journal, kube, tenants] = await Promise.all([deps.chain, deps.journal, deps.kube, deps.tenants]);
  const { provider } = chain;
  const accounts = createKnownAccounts({ ...deps, chain, journal });
  scope.task("lease owners", accounts.queue.run);
  const certificates = options.certificates ?? (await deps.certificates) ?? none;
  const authenticator = createAuthenticator({ ...accounts, provider, clock });
  const status = createProviderStatus({ chain, ...tenants?.status, reclamationWindowMs });
  const screening = tenants && {
    screen: createScreener(tenants.bids, clock),
    hostRejection: tenants.bids.hostRejection,
  };
  const dependencies = () => {
    const own = { name: "certificate", error: certificates.own.current ? undefined : noOwnCertificate };
    const parts = status().parts.map(({ what, why: error }) => ({
      ...{ name: what === "workloads" ? "kubernetes" : what, error },
    }));
    return parts.toSpliced(1, 0, own);
  };
  const routes = [
    ...addressRoutes(provider),
    ...versionRoutes({ kube, version, clock }),
    ...healthRoutes(dependencies),
    ...metricsRoutes(deps.metrics, followToken(options.metricsTokenFile, scope, { clock, log })),
    ...statusRoutes(createStatusSnapshot({ provider, publicHost, status, clock })),
    ...screeningRoutes(screening),
    ...(tenants ? tenantRoutes({ ...tenants, provider, clock, log }) : []),
  ];
  const budget = createRequestBudget();
  const serving = { budget, clock, log, onHandshakeFailure: metrics.handshakeFailed, onRejection: metrics.rejected };
  const admission = createAdmission({ chain, leases: tenants?.leases, authenticator, clock });
  const rest = createRest({
    routes: withOpenapi(routes, { version, provider }),
    streams: { provider, upgrades: createUpgrades({ admission, clock, log }) },
    ...{ authenticator, budget, clock, log, onAnswer: metrics.answered },
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
  const grpc = await startGrpcGateway({
    ...{ ...options, ...serving, listen: options.grpcListen, own: certificates.own },
    services: [
      ...(tenants ? [createLeaseRpc({ ...tenants, calls, clock })] : []),
      createProviderRpc({ identify, status: createStatusMessage({ publicHost, status, clock }), screening, clock }),
    ],
  });
  scope.onStop(grpc.close);
  log.info("gRPC gateway listening", { port: grpc.port });
  return { server, grpc, admission, certificates, accounts };
}

function tenantRoutes(deps: TenantServices & Pick<RuntimeDeps, "clock" | "log"> & { readonly provider: Address }) {
  return [
    ...leaseRoutes(deps),
    ...migrateRoutes(deps.leases),
    ...[eventsRoute(deps), logsRoute(deps), shellRoute(deps)],
    ...manifestRoutes(deps),
  ];
}
