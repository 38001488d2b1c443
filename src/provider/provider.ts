/** The composition root: builds the services in the order in which they lean on each other, and sums up their status. */
import type { Bus } from "../bus/bus.ts";
import type { RedisOptions } from "../bus/redis.ts";
import type { Journal } from "../journal/journal.ts";
import { openJournal } from "../journal/open.ts";
import type { Clock } from "../runtime/clock.ts";
import { createLifecycle, type Service, type ServiceStatus, untilAborted } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import { createMetrics, type Metrics } from "../runtime/metrics.ts";
import type { Queue } from "../runtime/queue.ts";
import type { Random } from "../runtime/random.ts";
import { type ChainLink, type ChainLinkOptions, createChainLink } from "./chain-link.ts";
import { measureBus, measureJournal, measureLifecycle, measureQueues, runMeasured } from "./measures.ts";
import { type ListenAddress, startMetricsListener } from "./metrics-listener.ts";
import { openBus } from "./open-bus.ts";
import type { ProviderStatus, TopicStatus } from "./status.ts";

export interface ProviderOptions {
  readonly dataDir: string;
  /** Without it the bus stays inside the process. */
  readonly redis?: RedisOptions;
  readonly metricsListener?: ListenAddress;
  /** Without it the provider does not take part in any market. */
  readonly chain?: ChainLinkOptions;
  /** What runs before everything else, for instance the node of the demo. */
  readonly before?: readonly Part[];
  /** What runs on top of everything else, for instance the tenants of the demo. */
  readonly after?: (foundation: Foundation) => readonly Part[];
  readonly shutdownMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Provider {
  /** Runs until the signal is aborted or a service fails. */
  run(signal: AbortSignal): Promise<void>;
  status(): ProviderStatus;
  onChange(listener: (status: ServiceStatus) => void): void;
}

/** A service and the line that tells a person what it is doing. */
export interface Part extends Service {
  detail(): string;
}

/** What the services stand on. Each is there once the service of its name runs. */
export interface Foundation {
  readonly journal: Journal;
  readonly bus: Bus;
  readonly chain: ChainLink;
  /** Those of the services, for status and metrics. */
  readonly queues: Queue[];
  readonly metrics: Metrics;
}

export function createProvider(options: ProviderOptions): Provider {
  const { clock, random, log } = options;
  const startedMs = clock.now();
  const metrics = createMetrics();
  // Set by the service that starts each; a service only starts after those above it, so none reads one too early.
  let journal: Journal | undefined;
  let bus: Bus | undefined;
  let chain: ChainLink | undefined;
  let metricsUrl: string | undefined;
  const queues: Queue[] = [];
  const foundation: Foundation = {
    queues,
    metrics,
    get journal() {
      return started("journal", journal);
    },
    get bus() {
      return started("bus", bus);
    },
    get chain() {
      return started("chain", chain);
    },
  };

  const journalPart: Part = {
    name: "journal",
    async start(scope) {
      const opened = await openJournal({ dir: options.dataDir, clock, log: log.with({ module: "journal" }) });
      const { journal: own } = opened;
      journal = own;
      scope.onStop(() => own.close());
      scope.task("storage", (signal) => Promise.race([untilAborted(signal), rejectWith(own.died)]));
      measureJournal(metrics, own);
    },
    detail: () => (journal ? `${options.dataDir}, ${journal.counts.commits} commits` : options.dataDir),
  };

  const busPart: Part = {
    name: "bus",
    async start(scope) {
      const own = await openBus(options);
      bus = own;
      scope.onStop(() => own.close());
      measureBus(metrics, own);
    },
    detail: () => (bus ? describeBus(bus) : ""),
  };

  const chainPart = (settings: ChainLinkOptions): Part => ({
    name: "chain",
    waitsForOthers: true,
    async start(scope) {
      const deps = { journal: foundation.journal, bus: foundation.bus, clock, random };
      chain = createChainLink(settings, { ...deps, log: log.with({ module: "chain" }) });
      await chain.start(scope);
      chain.measure(metrics);
    },
    detail: () => chain?.detail() ?? "",
  });

  const metricsPart = (address: ListenAddress): Part => ({
    name: "metrics",
    async start(scope) {
      metricsUrl = await startMetricsListener(metrics, address, scope);
      log.info("metrics are served", { url: metricsUrl });
    },
    detail: () => metricsUrl ?? "",
  });

  const parts: Part[] = [
    ...(options.before ?? []),
    journalPart,
    busPart,
    // Before the chain, so that a start that waits for its nodes can be watched.
    ...(options.metricsListener ? [metricsPart(options.metricsListener)] : []),
    ...(options.chain ? [chainPart(options.chain)] : []),
    ...(options.after?.(foundation) ?? []),
  ];
  const { shutdownMs } = options;
  const lifecycle = createLifecycle({ services: parts, clock, log, ...(shutdownMs !== undefined && { shutdownMs }) });
  measureLifecycle(metrics, lifecycle);
  measureQueues(metrics, queues);

  return {
    run: (signal) => runMeasured(lifecycle, metrics, signal),
    status: () => ({
      nowMs: clock.now(),
      upMs: clock.now() - startedMs,
      services: lifecycle.services.map((status, index) => ({ ...status, detail: parts[index]?.detail() ?? "" })),
      queues: queues.map(({ name, counts }) => ({ name, counts })),
      topics: bus ? topicsOf(bus) : [],
      ...(chain && { chain: chain.view() }),
    }),
    onChange: lifecycle.onChange,
  };
}

function started<T>(name: string, part: T | undefined): T {
  if (part === undefined) throw new Error(`the service ${name} is not started yet`);
  return part;
}

async function rejectWith(died: Promise<Error>): Promise<never> {
  throw await died;
}

function describeBus({ state }: Bus): string {
  return state.state === "connected" ? state.address : `${state.address}: not connected, ${state.reason}`;
}

function topicsOf(bus: Bus): TopicStatus[] {
  return [...bus.counts].map(([topic, { published, delivered, dropped, retained }]) => ({
    topic,
    published,
    delivered,
    dropped,
    retained: retained ? "yes" : "",
  }));
}
