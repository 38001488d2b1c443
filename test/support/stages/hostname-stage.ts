/** The hostname operator on a simulated cluster, with leases whose provider is played by the test, under the virtual clock. */
import { createSimulatedCluster, type SimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import { readDefinitions } from "../../../src/kube/definitions.ts";
import { type Kind, kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { leaseLabels, serviceLabels } from "../../../src/kube/objects/lease-labels.ts";
import { manifestResource } from "../../../src/kube/objects/manifest-resource.ts";
import { providerHost, providerHostName } from "../../../src/kube/objects/provider-host.ts";
import type { LeaseId } from "../../../src/market/ids.ts";
import { leaseNamespace } from "../../../src/market/lease-namespace.ts";
import type { ManifestGroup } from "../../../src/market/manifest.ts";
import {
  clientSettingsPolicy,
  middleware,
  proxySettingsPolicy,
  serversTransport,
} from "../../../src/operators/hostname/backends/backend.ts";
import type { HostState } from "../../../src/operators/hostname/host-states.ts";
import {
  createHostnameOperator,
  type HostnameOperator,
  type HostnameOperatorOptions,
} from "../../../src/operators/hostname/operator.ts";
import type { Boundary } from "../../../src/runtime/boundary.ts";
import { createLifecycle } from "../../../src/runtime/lifecycle.ts";
import { type Log, silentLog } from "../../../src/runtime/log.ts";
import { definitionOf } from "../kube/kube-definition.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";
import { hosts, manifestNamespace } from "./declaration-stage.ts";

export const plainOptions: HostnameOperatorOptions = {
  manifestNamespace,
  ingressMode: "ingress",
  ingressProvider: "nginx",
  ingressClass: "akash-ingress-class",
  gatewayName: "traefik",
  gatewayNamespace: "traefik",
  gatewayProvider: "nginx",
  proxyBufferSize: "16k",
  tls: { secret: undefined, issuer: undefined },
  removesOldKind: true,
  retryDelayMs: 3_000,
  pruneIntervalMs: 600_000,
  ignoreList: { failureLimit: 3, entryLimit: 131_072, ageLimitMs: 2_613_600_000 },
  blockedHosts: [],
  ingressDomain: undefined,
  publicHost: undefined,
};

/** Kinds that a controller brings. */
export const controllerKinds = {
  gateway: [kinds.httpRoute],
  traefik: [middleware, serversTransport],
  fabric: [clientSettingsPolicy, proxySettingsPolicy],
};

export const routeKinds: readonly Kind[] = [
  kinds.ingress,
  kinds.httpRoute,
  ...controllerKinds.traefik,
  ...controllerKinds.fabric,
];

/** One process of the operator. */
interface Life {
  readonly operator: HostnameOperator;
  readonly kube: Kube;
  stop(): Promise<void>;
}

interface LifeOptions extends Partial<HostnameOperatorOptions> {
  readonly boundary?: Boundary;
  /** Whether it may write; a copy that waits may not. */
  readonly leads?: boolean;
  readonly log?: Log;
  /** What it is given of the cluster instead of all of it. */
  readonly through?: (kube: Kube) => Kube;
}

export interface HostnameStage {
  readonly clock: VirtualClock;
  readonly cluster: SimulatedCluster;
  start(options?: LifeOptions): Life;
  define(...defined: Kind[]): void;
  /** What the provider makes of a lease: its namespace, its manifest and its Services; no host name yet. */
  lease(lease: LeaseId, group?: ManifestGroup, parts?: LeaseParts): void;
  /** As the provider declares a name, or moves it. */
  declare(host: string, lease: LeaseId, service?: string, externalPort?: number): void;
  withdraw(host: string): void;
  /** How many workloads of a service answer, and how many do not. */
  endpoints(lease: LeaseId, ready: number, notReady?: number, service?: string): void;
  settled(ms?: number): Promise<void>;
  routes(kind?: Kind): KubeObject[];
  /** "kind namespace/name" of all that was made, sorted. */
  all(): string[];
}

interface LeaseParts {
  readonly manifest?: boolean;
  readonly service?: boolean;
  readonly endpoints?: boolean;
}

interface StageOptions {
  readonly seed?: number;
  /** The Ingress classes that some controller has brought. */
  readonly classes?: readonly string[];
  /** Whether a controller says of each Ingress where it serves it. */
  readonly controller?: boolean;
}

export function openHostnameStage(owner: Owner, given: StageOptions = {}): HostnameStage {
  const clock = createVirtualClock();
  const seed = given.seed ?? 1;
  const cluster = createSimulatedCluster({}, { clock, random: createSeededRandom(seed), log: silentLog });
  const { server } = cluster;
  const lives = new Set<Life>();
  owner.after(async () => {
    for (const life of lives) await life.stop();
    await cluster.close();
  });
  if (given.controller !== false) playController(cluster, clock);
  for (const definition of readDefinitions()) server.create(kinds.customResourceDefinition, definition, "test");
  server.create(kinds.namespace, { metadata: { name: manifestNamespace } }, "test");
  for (const name of given.classes ?? ["akash-ingress-class", "traefik"])
    server.create(kinds.ingressClass, { metadata: { name }, spec: { controller: "example.com/test" } }, "test");

  function put(kind: Kind, object: KubeObject): void {
    const live = server.get(kind, object.metadata);
    if (live) server.update(kind, { ...object, metadata: { ...live.metadata, ...object.metadata } }, "akash-provider");
    else server.create(kind, object, "akash-provider");
  }

  const stage: HostnameStage = {
    clock,
    cluster,
    start({ boundary, leads = true, log = silentLog, through = (kube: Kube) => kube, ...options } = {}) {
      const kube = through(cluster.connect("akash-operator-hostname", boundary && { boundary }));
      const deps = { kube, clock, random: createSeededRandom(seed + 1), log };
      const operator = createHostnameOperator({ ...plainOptions, ...options }, deps);
      const stopping = new AbortController();
      const running = createLifecycle({ services: [operator], clock, log: silentLog }).run(stopping.signal);
      const leading = leads ? operator.lead(stopping.signal) : undefined;
      const life: Life = {
        operator,
        kube,
        async stop() {
          if (!lives.delete(life)) return;
          stopping.abort();
          const ended = Promise.allSettled([running, leading]);
          const closing = kube.close();
          await clock.advance(0);
          await Promise.all([ended, closing]);
        },
      };
      lives.add(life);
      return life;
    },
    define(...defined) {
      for (const kind of defined) server.create(kinds.customResourceDefinition, definitionOf(kind), "test");
    },
    lease(lease, group = hosts(), { manifest = true, service = true, endpoints = true } = {}) {
      const namespace = leaseNamespace(lease);
      if (!server.get(kinds.namespace, { name: namespace }))
        server.create(kinds.namespace, { metadata: { name: namespace, labels: leaseLabels(lease) } }, "akash-provider");
      if (manifest) {
        const note = { version: "00", receivedAtMs: 0 };
        put(kinds.manifest, manifestResource({ lease, group, offer: [] }, note, { manifestNamespace }).object);
      }
      for (const { name, expose } of service ? group.services : []) {
        const numbers = new Set(expose.map(({ externalPort, port }) => externalPort || port));
        const ports = Array.from(numbers, (port) => ({ name: `${port}`, port }));
        const labels = serviceLabels(lease, name);
        if (ports.length === 0) continue;
        put(kinds.service, { metadata: { name, namespace, labels }, spec: { ports, selector: labels } });
        if (endpoints) stage.endpoints(lease, 1, 0, name);
      }
    },
    declare(host, lease, service = "web", externalPort = 80) {
      put(kinds.providerHost, providerHost({ lease, host, service, externalPort }, { manifestNamespace }).object);
    },
    withdraw(host) {
      server.delete(kinds.providerHost, { namespace: manifestNamespace, name: providerHostName(host) });
    },
    endpoints(lease, ready, notReady = 0, service = "web") {
      const [namespace, labels] = [leaseNamespace(lease), serviceLabels(lease, service)];
      const endpoint = (isReady: boolean, at: number) => ({
        addresses: [`10.0.0.${at + 1}`],
        conditions: { ready: isReady },
      });
      const endpoints = Array.from({ length: ready + notReady }, (_, at) => endpoint(at < ready, at));
      const metadata = {
        name: `${service}-1`,
        namespace,
        labels: { ...labels, "kubernetes.io/service-name": service },
      };
      put(kinds.endpointSlice, { metadata, addressType: "IPv4", endpoints, ports: [{ port: 8080 }] });
    },
    settled: (ms = 1_000) => clock.advance(ms),
    routes: (kind = kinds.ingress) => (isKnown(kind) ? [...server.list(kind)] : []),
    all: () => routeKinds.flatMap((kind) => stage.routes(kind).map(textOf(kind))).sort(),
  };

  function isKnown({ group, plural }: Kind): boolean {
    return (
      group === kinds.ingress.group ||
      server.get(kinds.customResourceDefinition, { name: `${plural}.${group}` }) !== undefined
    );
  }
  return stage;
}

/** What an ingress controller writes: where it serves a route. */
function playController({ server }: SimulatedCluster, clock: VirtualClock): void {
  server.subscribe(({ type, kind, object: { metadata } }) => {
    if (type !== "added" || kind.plural !== kinds.ingress.plural) return;
    clock.timer(0, () => {
      const object = server.get(kinds.ingress, metadata);
      const status = { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } };
      if (object) server.updateStatus(kinds.ingress, { ...object, status }, "ingress-controller");
    });
  });
}

function textOf({ kind }: Kind) {
  return ({ metadata: { namespace, name } }: KubeObject) => `${kind} ${namespace?.slice(0, 6)}/${name}`;
}

/** "served healthy", "waiting unknown: ManifestMissing". */
export function stateText(state: HostState | undefined): string {
  if (!state) return "none";
  const types = state.conditions.map(({ type }) => type);
  return `${state.state} ${state.health}${types.length > 0 ? `: ${types.join(", ")}` : ""}`;
}
