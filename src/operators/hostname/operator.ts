/** The hostname operator: makes routes of the ingress controller from declared host names, and reports their state. */
import type { HostRules } from "../../market/host-names.ts";
import { sleep } from "../../runtime/clock.ts";
import { type Scope, untilAborted } from "../../runtime/lifecycle.ts";
import { hostnameSightMs } from "../../runtime/limits.ts";
import { createQueue } from "../../runtime/queue.ts";
import { createIgnoreList, type IgnoreListOptions } from "../ignore-list.ts";
import type { OperatorDeps } from "../operator-service.ts";
import { createWritePace, Lead } from "../write-pace.ts";
import { createNginxBackend } from "./backends/backend.ts";
import { createGatewayBackend, type GatewayBackendOptions } from "./backends/gateway-api.ts";
import { createTraefikBackend } from "./backends/traefik.ts";
import { createProbes, createProofs, type Probe, type ResolveTxt } from "./checks.ts";
import { createHostStates } from "./host-states.ts";
import { reconcileHost } from "./hostname-loop.ts";
import { RouteWrites } from "./route-writes.ts";
import { TransportLoop } from "./service-transports.ts";
import { HostnameView } from "./view.ts";

/** Routes written at once: thousands take a minute, and the API server has other clients. */
const writesAtOnce = 32;

export interface HostnameOperatorOptions extends HostRules, GatewayBackendOptions {
  readonly manifestNamespace: string;
  readonly ingressMode: "ingress" | "gateway-api";
  readonly ingressProvider: "nginx" | "traefik";
  readonly ingressClass: string;
  /** Whether routes of the other mode, from before, are removed. */
  readonly removesOldKind: boolean;
  readonly retryDelayMs: number;
  readonly pruneIntervalMs: number;
  readonly ignoreList: IgnoreListOptions;
  readonly resolveTxt?: ResolveTxt;
  readonly probe?: Probe;
}

export type HostnameOperator = ReturnType<typeof createHostnameOperator>;

export function createHostnameOperator(options: HostnameOperatorOptions, deps: OperatorDeps) {
  const { clock } = deps;
  const lead = new Lead();
  const parts = assemble(options, deps, lead);
  const { view, states, ignored, backend, hosts, transports, proofs, probes, writes } = parts;

  function enqueueAll(): void {
    view.wakeAll();
    view.wakeRouted();
  }

  /** Connections are often re-established: states become unknown after two checks in a row without one. */
  async function checkCaches(signal: AbortSignal): Promise<never> {
    for (let wasUnavailable = false; ; ) {
      await sleep(clock, hostnameSightMs, signal);
      const { unavailableReason: reason } = view;
      if (reason !== undefined && wasUnavailable) states.markUnknown(reason, clock.now());
      if (reason === undefined && wasUnavailable) enqueueAll();
      view.recheckHealth();
      wasUnavailable = reason !== undefined;
    }
  }

  return {
    name: "hostname",
    start(scope: Scope): void {
      scope.onStop(() => view.close());
      scope.task("hostnames", async (signal) => {
        await view.synced(signal);
        enqueueAll();
        await Promise.all([hosts.run(signal), transports.run(signal)]);
      });
      scope.task("ignore list", async (signal) => {
        for (;;) {
          await sleep(clock, options.pruneIntervalMs, signal);
          ignored.prune();
        }
      });
      scope.task("sight", checkCaches);
      if (proofs) scope.task("proofs", proofs.queue.run);
      if (probes) scope.task("probes", probes.run);
    },
    /** Writes until the signal is aborted; before and after that it only reads. */
    async lead(signal: AbortSignal): Promise<void> {
      lead.signal = signal;
      lead.sinceMs = clock.monotonicMs();
      enqueueAll();
      await untilAborted(signal);
    },
    states,
    ignored,
    backend: backend.name,
    get waitingFor(): string | undefined {
      return view.unavailableReason;
    },
    get ageMs(): number {
      return view.ageMs;
    },
    queues: [hosts, transports, ...[proofs, probes].flatMap((part) => part?.queue ?? [])],
    counts: writes.counts,
  };
}

function assemble(options: HostnameOperatorOptions, deps: OperatorDeps, lead: Lead) {
  const { kube, clock } = deps;
  const { manifestNamespace, ingressMode, ingressProvider, ingressClass, retryDelayMs, resolveTxt, probe } = options;
  const states = createHostStates();
  const ignored = createIgnoreList(options.ignoreList, clock);
  const backend =
    ingressMode === "gateway-api"
      ? createGatewayBackend(options)
      : { traefik: createTraefikBackend, nginx: createNginxBackend }[ingressProvider](options);
  const onHost = (host: string) => void hosts.add(host);
  const view = new HostnameView({
    ...{ kube, manifestNamespace, gateway: options, inForce: backend.uses, onHost },
    ingressClass: ingressMode === "ingress" ? ingressClass : undefined,
    onService: (service) => void transports.add(service),
  });
  const probes = probe && createProbes({ ...deps, probe, served, onChange: onHost });
  const proofs = resolveTxt && createProofs({ ...deps, rules: options, resolve: resolveTxt, onAnswer: onHost });
  const shared = { ...deps, view, pace: createWritePace(clock), retryDelayMs, lead };
  const transportLoop = new TransportLoop({
    ...{ ...shared, routeKind: backend.kind },
    isWanted: ingressMode === "ingress" && ingressProvider === "traefik",
    onFailure(service) {
      for (const { key } of view.hosts.by("service", service)) onHost(key);
    },
  });
  const writes = new RouteWrites(shared);
  const transportFailure = (service: string) => transportLoop.failureOf(service);
  const loopDeps = {
    ...{ ...shared, writes, states, ignored, proofs, probes, transportFailure, manifestNamespace, ingressClass },
    rules: { backend, hostRules: options, removesOldKind: options.removesOldKind },
  };
  const queueOf = { ...deps, concurrency: writesAtOnce };
  const hosts = createQueue({
    name: "hostnames",
    work: (host, signal) => reconcileHost(loopDeps, host, signal),
    ...queueOf,
  });
  const transports = createQueue({ name: "service-transports", work: transportLoop.reconcile, ...queueOf });

  function* served(): Iterable<{ readonly host: string; readonly owner: string }> {
    for (const { host, lease, state } of states.list())
      if (state === "served") yield { host, owner: lease?.owner ?? "" };
  }

  return { view, states, ignored, backend, hosts, transports, proofs, probes, writes };
}
