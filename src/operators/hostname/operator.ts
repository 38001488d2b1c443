/**
 * The hostname operator: turns the host names that the provider declares into routes of the cluster's ingress controller, and
 * reports how each of them is doing.
 */
import type { HostRules } from "../../market/host-rules.ts";
import { sleep } from "../../runtime/clock.ts";
import { type Scope, untilAborted } from "../../runtime/lifecycle.ts";
import { hostnameSightMs } from "../../runtime/limits.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { OperatorGround } from "../ground.ts";
import { createIgnoreList, type IgnoreListOptions } from "../ignore-list.ts";
import { createWritePace } from "../write-pace.ts";
import { createGatewayBackend, type GatewayOptions } from "./backends/gateway-api.ts";
import { createNginxBackend } from "./backends/ingress-nginx.ts";
import { createTraefikBackend } from "./backends/traefik.ts";
import { createHostStates } from "./host-states.ts";
import { HostnameLoop } from "./hostname-loop.ts";
import { createProbes, type Probe } from "./probes.ts";
import { createProofs, type ResolveTxt } from "./proofs.ts";
import { RouteWrites } from "./route-writes.ts";
import { TransportLoop } from "./service-transports.ts";
import { HostnameView } from "./view.ts";

/** Routes written at once: a cluster that starts with thousands has them in a minute, and the API server has other clients. */
const writesAtOnce = 32;

export interface HostnameOperatorOptions extends HostRules, GatewayOptions {
  readonly manifestNamespace: string;
  readonly ingressMode: "ingress" | "gateway-api";
  readonly ingressProvider: "nginx" | "traefik";
  readonly ingressClass: string;
  /** Whether routes of the other mode, from before, are removed. */
  readonly removesOldKind: boolean;
  readonly retryDelayMs: number;
  readonly pruneIntervalMs: number;
  readonly ignoreList: IgnoreListOptions;
  /** Reads the DNS, where owners have to prove their domains. */
  readonly resolveTxt?: ResolveTxt;
  /** Requests a host name through the controller, where names are probed. */
  readonly probe?: Probe;
}

export type HostnameOperator = ReturnType<typeof createHostnameOperator>;

export function createHostnameOperator(options: HostnameOperatorOptions, ground: OperatorGround) {
  const { clock } = ground;
  const lead = createLead(clock);
  const parts = assemble(options, ground, lead);
  const { view, states, ignored, backend, hosts, transports, proofs, probes, writes } = parts;

  /** All that is declared, and all that should not be there. */
  function lookAtAll(): void {
    view.wakeAll();
    view.wakeRouted();
  }

  /** Connections are made again all the time; a cluster that cannot be read at two looks in a row is out of sight. */
  async function doubtUnseen(signal: AbortSignal): Promise<never> {
    for (let wasUnseen = false; ; ) {
      await sleep(clock, hostnameSightMs, signal);
      const { trouble } = view;
      if (trouble !== undefined && wasUnseen) states.doubt(trouble, clock.now());
      if (trouble === undefined && wasUnseen) lookAtAll();
      view.recount();
      wasUnseen = trouble !== undefined;
    }
  }

  return {
    name: "hostname",
    start(scope: Scope): void {
      scope.onStop(() => view.close());
      scope.task("hostnames", async (signal) => {
        await view.synced(signal);
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
      lead.begin(signal);
      lookAtAll();
      await untilAborted(signal);
    },
    states,
    ignored,
    /** What is in force: "Ingress-NGINX". */
    backend: backend.name,
    /** Why nothing can be reported yet. */
    get waitingFor(): string | undefined {
      return view.trouble;
    },
    /** Time since the last answer of the API server. */
    get ageMs(): number {
      return view.ageMs;
    },
    queues: [hosts, transports, ...(proofs ? [proofs.queue] : []), ...(probes ? [probes.queue] : [])],
    counts: writes.counts,
  };
}

type Lead = ReturnType<typeof createLead>;

function createLead(clock: OperatorGround["clock"]) {
  let current: AbortSignal | undefined;
  let sinceMs = Number.NEGATIVE_INFINITY;
  return {
    begin(signal: AbortSignal): void {
      current = signal;
      sinceMs = clock.monotonicMs();
    },
    leading: () => (current?.aborted ? undefined : current),
    ledSinceMs: () => sinceMs,
  };
}

function assemble(options: HostnameOperatorOptions, ground: OperatorGround, { leading, ledSinceMs }: Lead) {
  const { kube, clock } = ground;
  const { manifestNamespace, ingressMode, ingressClass, retryDelayMs, removesOldKind, resolveTxt, probe } = options;
  const states = createHostStates();
  const ignored = createIgnoreList(options.ignoreList, clock);
  const backend = backendOf(options);
  const view = new HostnameView({
    ...{ kube, manifestNamespace, gateway: options, inForce: backend.uses },
    ingressClass: ingressMode === "ingress" ? ingressClass : undefined,
    onHost: (host) => void hosts.add(host),
    onService: (service) => void transports.add(service),
  });
  const onAnswer = (host: string) => void hosts.add(host);
  const probes = probe && createProbes({ ...ground, probe, served: servedHosts, onChange: onAnswer });
  const proofs = resolveTxt && createProofs({ ...ground, rules: options, resolve: resolveTxt, onAnswer });
  const shared = { ...ground, view, pace: createWritePace(clock), retryDelayMs, leading, ledSinceMs };
  const transportLoop = new TransportLoop({
    ...{ ...shared, routeKind: backend.kind },
    isWanted: ingressMode === "ingress" && options.ingressProvider === "traefik",
    onFailure(service) {
      for (const { key } of view.hosts.by("service", service)) hosts.add(key);
    },
  });
  const writes = new RouteWrites(shared);
  const transportFailure = (service: string) => transportLoop.failureOf(service);
  const loop = new HostnameLoop(
    { backend, hostRules: options, removesOldKind },
    { ...shared, writes, states, ignored, proofs, probes, transportFailure, manifestNamespace, ingressClass },
  );
  const queueOf = { ...ground, concurrency: writesAtOnce };
  const hosts = createQueue({ name: "hostnames", work: loop.look, ...queueOf });
  const transports = createQueue({ name: "service-transports", work: transportLoop.look, ...queueOf });

  function* servedHosts(): Iterable<{ readonly host: string; readonly owner: string }> {
    for (const { host, lease, state } of states.list())
      if (state === "served") yield { host, owner: lease?.owner ?? "" };
  }

  return { view, states, ignored, backend, hosts, transports, proofs, probes, writes };
}

function backendOf(options: HostnameOperatorOptions) {
  if (options.ingressMode === "gateway-api") return createGatewayBackend(options);
  return options.ingressProvider === "traefik" ? createTraefikBackend(options) : createNginxBackend(options);
}
