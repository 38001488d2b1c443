/**
 * The hostname operator: turns the host names that the provider declares into routes of whichever ingress controller runs in
 * the cluster, and tells how each of them is doing.
 */
import type { HostRules } from "../../market/host-rules.ts";
import { sleep } from "../../runtime/clock.ts";
import { type Scope, untilAborted } from "../../runtime/lifecycle.ts";
import { limits } from "../../runtime/limits.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { OperatorGround } from "../ground.ts";
import { createIgnoreList, type IgnoreListOptions } from "../ignore-list.ts";
import { createGatewayBackend, type GatewayOptions } from "./backends/gateway-api.ts";
import { createNginxBackend } from "./backends/ingress-nginx.ts";
import { createTraefikBackend } from "./backends/traefik.ts";
import { createHostStates } from "./host-states.ts";
import { createHostnameLoop } from "./hostname-loop.ts";
import { createProbes, type Probe } from "./probes.ts";
import { createProofs, type ResolveTxt } from "./proofs.ts";
import { createTransportLoop } from "./service-transports.ts";
import { watchCluster } from "./watched-cluster.ts";

export interface HostnameOperatorOptions extends HostRules, GatewayOptions {
  readonly manifestNamespace: string;
  readonly ingressMode: "ingress" | "gateway-api";
  readonly ingressProvider: "nginx" | "traefik";
  readonly ingressClass: string;
  /** Whether routes of the other mode, from before, are taken away. */
  readonly removesOldKind: boolean;
  readonly retryDelayMs: number;
  readonly pruneIntervalMs: number;
  readonly ignoreList: IgnoreListOptions;
  /** How the DNS is asked, where owners have to prove that a domain is theirs. */
  readonly resolveTxt?: ResolveTxt;
  /** Asks a host name through the controller, where names are probed. */
  readonly probe?: Probe;
}

export type HostnameOperator = ReturnType<typeof createHostnameOperator>;

export function createHostnameOperator(options: HostnameOperatorOptions, ground: OperatorGround) {
  const { kube, clock } = ground;
  const { manifestNamespace, retryDelayMs, resolveTxt, probe } = options;
  const states = createHostStates();
  const ignored = createIgnoreList(options.ignoreList, clock);
  const backend = backendOf(options);
  let lead: AbortSignal | undefined;
  const leading = () => (lead?.aborted ? undefined : lead);
  let leadAtMs = Number.NEGATIVE_INFINITY;
  const cluster = watchCluster({
    ...{ kube, manifestNamespace, gateway: options, inForce: backend.uses },
    ingressClass: options.ingressMode === "ingress" ? options.ingressClass : undefined,
    onHost: (host) => void hosts.add(host),
    onService: (service) => void transports.add(service),
  });
  const onAnswer = (host: string) => void hosts.add(host);
  const probes = probe && createProbes({ ...ground, probe, served: servedHosts, onChange: onAnswer });
  const proofs = resolveTxt && createProofs({ ...ground, rules: options, resolve: resolveTxt, onAnswer });
  const shared = { ...ground, cluster, retryDelayMs, leading, ledSinceMs: () => leadAtMs };
  const isTraefik = options.ingressMode === "ingress" && options.ingressProvider === "traefik";
  const transport = createTransportLoop({
    ...{ ...shared, isWanted: isTraefik, routeKind: backend.kind },
    onTrouble(service) {
      for (const { key } of cluster.hostsOf(service)) hosts.add(key);
    },
  });
  const loop = createHostnameLoop({
    ...shared,
    ...{ backend, states, ignored, rules: options, probes, manifestNamespace },
    proofs,
    removesOldKind: options.removesOldKind,
    transportTrouble: transport.troubleOf,
  });
  const queueOf = { ...ground, concurrency: limits.hostnameWrites };
  const hosts = createQueue({ name: "hostnames", work: loop.look, ...queueOf });
  const transports = createQueue({ name: "service-transports", work: transport.look, ...queueOf });

  function* servedHosts(): Iterable<{ readonly host: string; readonly owner: string }> {
    for (const { host, lease, state } of states.list())
      if (state === "served") yield { host, owner: lease?.owner ?? "" };
  }

  /** All that there is, and all that should not be. */
  function lookAtAll(): void {
    cluster.wakeAll();
    for (const host of cluster.routedHosts()) hosts.add(host);
    for (const { service } of cluster.transportsOfServices()) transports.add(service);
  }

  /** A connection that is made again is no news; what is in trouble at two looks running is not seen. */
  async function doubtUnseen(signal: AbortSignal): Promise<never> {
    for (let wasUnseen = false; ; ) {
      await sleep(clock, limits.hostnameSightMs, signal);
      const { trouble } = cluster;
      if (trouble !== undefined && wasUnseen) states.doubt(trouble, clock.now());
      if (trouble === undefined && wasUnseen) lookAtAll();
      cluster.recount();
      wasUnseen = trouble !== undefined;
    }
  }

  return {
    name: "hostname",
    start(scope: Scope): void {
      scope.onStop(() => cluster.close());
      scope.task("hostnames", async (signal) => {
        await cluster.synced(signal);
        lookAtAll();
        await Promise.all([hosts.run(signal), transports.run(signal)]);
      });
      scope.task("ignore list", async (signal) => {
        for (;;) {
          await sleep(clock, options.pruneIntervalMs, signal);
          ignored.prune();
        }
      });
      scope.task("sight", doubtUnseen);
      if (proofs) scope.task("proofs", proofs.queue.run);
      if (probes) scope.task("probes", (signal) => probes.run(signal));
    },
    /** Writes until the signal is aborted; before and after that it only looks. */
    async lead(signal: AbortSignal): Promise<void> {
      lead = signal;
      leadAtMs = clock.monotonicMs();
      lookAtAll();
      await untilAborted(signal);
    },
    states,
    ignored,
    /** What is in force: "Ingress-NGINX". */
    backend: backend.name,
    /** Why nothing can be told yet. */
    get waitingFor(): string | undefined {
      return cluster.trouble;
    },
    /** How long ago the cluster was last heard of. */
    get ageMs(): number {
      return cluster.ageMs;
    },
    queues: [hosts, transports, ...(proofs ? [proofs.queue] : []), ...(probes ? [probes.queue] : [])],
    counts: loop.counts,
  };
}

function backendOf(options: HostnameOperatorOptions) {
  if (options.ingressMode === "gateway-api") return createGatewayBackend(options);
  return options.ingressProvider === "traefik" ? createTraefikBackend(options) : createNginxBackend(options);
}
