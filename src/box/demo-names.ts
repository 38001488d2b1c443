/** Host names and leased addresses in the demo: both operators as they are, MetalLB played, and a way in from outside. */
import { createGet, createIpOperator, type IpOperatorClient } from "../cluster/capacity/addresses/ip-operator.ts";
import { createHostnameFeed, type HostnameFeed } from "../cluster/leases/declarations/hostname-feed.ts";
import { kinds } from "../kube/kinds.ts";
import type { Kube } from "../kube/kube.ts";
import { metalLbNamespace } from "../kube/objects/metallb.ts";
import type { Address } from "../market/address.ts";
import { createHostnameService } from "../operators/hostname/hostname-service.ts";
import { createIpService } from "../operators/ip/ip-service.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { ListenAddress } from "../runtime/listener.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { SimulatedCluster } from "./cluster/simulated-kube.ts";
import { demoNamespaces } from "./demo-cluster.ts";
import { createFrontDoorService } from "./front-door-service.ts";
import { metalLbDefinitions } from "./metallb/definitions.ts";
import { createMetalLb } from "./metallb/metallb.ts";

interface NamesOptions {
  readonly provider: Address;
  /** Where everything listens. */
  readonly listen: ListenAddress;
  readonly version: string;
}

interface NamesDeps extends Pick<Parameters<typeof createMetalLb>[0], "clock" | "random" | "log"> {
  readonly cluster: SimulatedCluster;
  readonly metrics: Metrics;
}

/** Addresses reserved for documentation. Few, so that a person may see them run out. */
const addresses = "203.0.113.10-203.0.113.13";
const ingressClass = "akash-ingress-class";

export function createNames(options: NamesOptions, { cluster, ...deps }: NamesDeps) {
  const { provider, listen, version } = options;
  /** Under names of their own, as the processes that they would be. */
  const connect = (name: string): Promise<Kube> => Promise.resolve(cluster.connect(name));
  const shared = {
    ...{ manifestNamespace: demoNamespaces.manifests, host: listen.host, restPort: 0, grpcPort: 0, version },
    ...{ retryDelayMs: 3_000, pruneIntervalMs: 600_000, refreshMs: 1_000 },
    ignoreList: { failureLimit: 3, entryLimit: 1_000, ageLimitMs: 3_600_000 },
  };
  const hostnames = createHostnameService(
    () => ({
      ...shared,
      ...{ ingressMode: "ingress", ingressProvider: "nginx", ingressClass, gatewayProvider: "nginx" },
      ...{ gatewayName: "none", gatewayNamespace: "none", proxyBufferSize: "16k", removesOldKind: true },
      ...{ tls: { secret: undefined, issuer: undefined }, blockedHosts: [] },
      ...{ ingressDomain: undefined, publicHost: undefined },
    }),
    { ...deps, kube: connect("akash-operator-hostname") },
  );
  const leadership = { namespace: demoNamespaces.services, name: "operator-ip", identity: "demo" };
  const ip = createIpService(
    () => ({
      ...shared,
      ...{ provider, pool: "default", ranges: [], metalLb: undefined, instance: "demo", leadership },
    }),
    { ...deps, kube: connect("akash-operator-ip") },
  );
  // As a controller brings it: without one no Ingress is taken for served.
  const brought = { metadata: { name: ingressClass }, spec: { controller: "akash.network/front-door" } };
  cluster.server.create(kinds.ingressClass, brought, "demo");
  const door = createFrontDoorService({ listen, ingressClass }, { ...deps, kube: connect("ingress-controller") });
  return {
    services: [createMetalLbService(cluster, deps), hostnames, ip, door] as readonly Service[],
    /** Where host names are answered. */
    doorUrl: () => door.url(),
    ipOperator(): IpOperatorClient {
      return createIpOperator(async (path, signal) => {
        const endpoint = { host: listen.host, port: (await ip.opened).rest.port };
        return createGet({ endpoint, inCluster: false, kube: connect("akash-provider") }, deps.clock)(path, signal);
      });
    },
    hostnameFeed(): HostnameFeed {
      const locate = async () => ({ host: listen.host, port: (await hostnames.opened).grpc.port });
      return createHostnameFeed({ ...deps, locate });
    },
  };
}

function createMetalLbService(cluster: SimulatedCluster, deps: Omit<NamesDeps, "cluster" | "metrics">): Service {
  return {
    name: "metallb",
    start(scope) {
      const { server } = cluster;
      for (const definition of metalLbDefinitions()) server.create(kinds.customResourceDefinition, definition, "demo");
      server.create(kinds.namespace, { metadata: { name: metalLbNamespace } }, "demo");
      const pool = { metadata: { name: "default", namespace: metalLbNamespace }, spec: { addresses: [addresses] } };
      server.create(kinds.ipAddressPool, pool, "demo");
      const metalLb = createMetalLb({ ...deps, kube: cluster.connect("metallb-controller") });
      scope.task("addresses", (signal) => metalLb.run(signal));
    },
    detail: () => `simulated, ${addresses}`,
  };
}
