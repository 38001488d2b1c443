/** The gateway as a service: how tenants reach us. */
import type { Chain } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import type { Kube } from "../kube/kube.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { ListenAddress } from "../runtime/listener.ts";
import type { Log } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Queue } from "../runtime/queue.ts";
import type { Random } from "../runtime/random.ts";
import { createAuthenticator } from "./auth/authenticator.ts";
import { createKnownAccounts, type KnownAccounts } from "./auth/known-accounts.ts";
import type { CertificateOptions, Certificates } from "./certificate/certificate-service.ts";
import { noCertificate } from "./certificate/file-certificate.ts";
import { createGatewayTally } from "./gateway-metrics.ts";
import { createIdentify, createLeaseCalls } from "./grpc/grpc-auth.ts";
import { type GrpcGateway, startGrpcGateway } from "./grpc/grpc-gateway.ts";
import { createLeaseRpc } from "./grpc/lease-rpc.ts";
import { createProviderRpc } from "./grpc/provider-rpc.ts";
import { screeningRoutes } from "./rest/bid-screening.ts";
import type { ProxyOptions } from "./rest/client-places.ts";
import { createRequestBudget } from "./rest/connections.ts";
import { leaseRoutes } from "./rest/lease-routes.ts";
import { manifestRoutes } from "./rest/manifest-routes.ts";
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
import { createRest } from "./rest/rest.ts";
import { type RestServer, startRestServer } from "./rest/server.ts";
import { type BidScreen, createScreener } from "./screening/screener.ts";
import { chainFreshness, type Freshness, type Part, type StatusParts, toldReason } from "./status/provider-status.ts";
import { createStatusSnapshot } from "./status/status-document.ts";
import { createStatusMessage } from "./status/status-message.ts";
import { type Admission, createAdmission } from "./streams/admission.ts";
import { shellRoute } from "./streams/shell-route.ts";
import { eventsRoute, logsRoute } from "./streams/stream-routes.ts";
import { createUpgrades } from "./streams/upgrade.ts";
import type { TenantLeases, TenantManifests, TenantPods } from "./tenant-side.ts";

export interface GatewayOptions extends ProxyOptions {
  readonly listen: ListenAddress;
  /** For gRPC; nobody is answered there where it is not given. */
  readonly grpcListen?: ListenAddress;
  /** The name that a public certificate is for. */
  readonly publicHost: string | undefined;
  readonly version: string;
  /** Holds what opens all of the metrics. */
  readonly metricsTokenFile?: string | undefined;
  /** Where what is shown in handshakes comes from. */
  readonly certificate?: CertificateOptions;
  /** What is shown in handshakes, where a test says so. */
  readonly certificates?: Certificates;
}

/** What the gateway tells of itself. */
export interface GatewayDocument {
  readonly url: string;
  readonly port: number;
  readonly grpcPort: number | undefined;
}

interface GatewayGround {
  readonly chain: Promise<Chain>;
  /** Undefined where none are to be had. */
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

export function createGatewayService(options: GatewayOptions, ground: GatewayGround): Service<GatewayDocument> {
  const { clock } = ground;
  const log = ground.log.with({ module: "gateway" });
  const tally = createGatewayTally();
  const budget = createRequestBudget();
  const serving = { budget, clock, log, onHandshakeFailure: tally.handshakeFailed, onRefusal: tally.refused };
  let server: RestServer | undefined;
  let grpc: GrpcGateway | undefined;
  let admission: Admission | undefined;
  const queues: Queue[] = [];
  let accounts: KnownAccounts | undefined;
  let isServed = () => false;

  return {
    name: "gateway",
    queues,
    async start(scope) {
      const chain = await ground.chain;
      const certificates = options.certificates ?? (await ground.certificates) ?? none;
      isServed = () => certificates.own.current !== undefined;
      const { provider } = chain;
      accounts = createKnownAccounts({ ...ground, chain, journal: await ground.journal, log });
      queues.push(accounts.queue);
      scope.task("lease owners", accounts.queue.run);
      const { keys } = accounts;
      const authenticator = createAuthenticator({ provider, clock, keys, certificates: accounts.certificates });
      const snapshot = createStatusSnapshot({ ...options, provider, parts: ground.status, clock });
      const sold = [ground.leases, ground.pods, ground.manifests, ground.bids] as const;
      const [leases, pods, manifests, bids] = await Promise.all(sold);
      const [chainPart, clusterPart] = await Promise.all([ground.status.chain, ground.status.cluster]);
      const dependencies = (): Dependency[] => [
        { name: "chain", trouble: toldTrouble("chain", chainFreshness(chainPart)) },
        { name: "certificate", trouble: certificates.own.current ? undefined : noOwnCertificate },
        ...(clusterPart
          ? [
              { name: "inventory", trouble: toldTrouble("inventory", clusterPart.inventory) },
              { name: "kubernetes", trouble: toldTrouble("workloads", clusterPart.workloads) },
            ]
          : []),
      ];
      const screening = bids && { screen: createScreener(bids, clock), hostRefusal: bids.hostRefusal };
      const routes = [
        ...addressRoutes(provider),
        ...versionRoutes({ kube: await ground.kube, version: options.version, clock }),
        ...healthRoutes(dependencies),
        ...metricsRoutes(ground.metrics, followToken(options.metricsTokenFile, scope, { clock, log })),
        ...statusRoutes(snapshot),
        ...(leases ? [...leaseRoutes({ provider, leases }), ...migrateRoutes(leases)] : []),
        ...screeningRoutes(screening),
        ...(pods ? [eventsRoute({ provider, pods, clock })] : []),
        ...(leases && pods ? [logsRoute({ provider, leases, pods }), shellRoute({ provider, leases, pods, log })] : []),
        ...(leases && manifests ? manifestRoutes({ provider, leases, manifests }) : []),
      ];
      const admitting = createAdmission({ chain, leases, authenticator, clock });
      admission = admitting;
      const rest = createRest({
        routes: withOpenapi(routes, { version: options.version, provider }),
        authenticator,
        streams: { provider, upgrades: createUpgrades({ admission: admitting, clock, log }) },
        ...{ budget, clock, log, onAnswer: tally.answered },
      });
      const started = await startRestServer({ ...options, ...serving, certificates, rest });
      scope.onStop(() => {
        admitting.stop();
        return started.close();
      });
      server = started;
      log.info("gateway listening", { url: started.url });
      if (!options.grpcListen) return;
      const status = await createStatusMessage({ publicHost: options.publicHost, parts: ground.status, clock });
      const identify = createIdentify(authenticator);
      const calls = createLeaseCalls({ provider, identify, admission: admitting });
      const opened = await startGrpcGateway({
        ...{ ...options, ...serving, listen: options.grpcListen, own: certificates.own },
        services: [
          ...(leases && manifests && pods ? [createLeaseRpc({ calls, leases, manifests, pods, clock })] : []),
          createProviderRpc({ identify, status, screening, clock }),
        ],
      });
      scope.onStop(() => opened.close());
      grpc = opened;
      log.info("gRPC gateway listening", { port: opened.port });
    },
    detail() {
      if (!server) return "";
      const told = [server.url, grpc && `gRPC on ${grpc.port}`, isServed() ? undefined : noOwnCertificate];
      return told.filter((part) => part !== undefined).join(", ");
    },
    status: () => server && { url: server.url, port: server.port, grpcPort: grpc?.port },
    measure(metrics) {
      const connections = () => (server?.connections ?? 0) + (grpc?.connections ?? 0);
      tally.measure(metrics, { connections, streams: () => admission, grpc: () => grpc });
      accounts?.measure(metrics);
    },
  };
}

/** Anybody may ask for it. */
function toldTrouble(what: Part, { ageMs, trouble }: Freshness): string | undefined {
  return trouble === undefined ? undefined : toldReason(what, ageMs);
}
