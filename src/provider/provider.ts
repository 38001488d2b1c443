/** The composition root: builds the services in the order in which they lean on each other, and sums up their status. */
import type { Bus } from "../bus/bus.ts";
import { createMemoryBus } from "../bus/memory.ts";
import { createRedisBus, type RedisOptions } from "../bus/redis.ts";
import type { Journal } from "../journal/journal.ts";
import { openJournal } from "../journal/open.ts";
import type { Clock } from "../runtime/clock.ts";
import { createLifecycle, type Scope, type Service, type ServiceStatus, untilAborted } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import { createMetrics } from "../runtime/metrics.ts";
import type { Random } from "../runtime/random.ts";
import { measureBus, measureJournal, measureLifecycle, measureQueues } from "./measures.ts";
import { type ListenAddress, startMetricsListener } from "./metrics-listener.ts";
import { type Rehearsal, startRehearsal } from "./rehearsal.ts";
import type { ProviderStatus, TopicStatus } from "./status.ts";

export interface ProviderOptions {
  readonly dataDir: string;
  /** Without it the bus stays inside the process. */
  readonly redis?: RedisOptions;
  readonly metricsListener?: ListenAddress;
  /** Send made-up orders through everything. */
  readonly rehearse?: boolean;
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
interface Part extends Service {
  detail(): string;
}

export function createProvider(options: ProviderOptions): Provider {
  const { clock, random, log } = options;
  const startedMs = clock.now();
  const metrics = createMetrics();
  // Set by the service that starts each; a service only starts after those above it, so none reads one too early.
  let journal: Journal;
  let bus: Bus;
  let metricsUrl: string | undefined;
  let rehearsal: Rehearsal | undefined;

  const journalPart: Part = {
    name: "journal",
    async start(scope) {
      const opened = await openJournal({ dir: options.dataDir, clock, log: log.with({ module: "journal" }) });
      journal = opened.journal;
      scope.onStop(() => journal.close());
      scope.task("storage", (signal) => Promise.race([untilAborted(signal), rejectWith(journal.died)]));
      measureJournal(metrics, journal);
    },
    detail: () => (journal ? `${options.dataDir}, ${journal.counts.commits} commits` : options.dataDir),
  };

  const busPart: Part = {
    name: "bus",
    start(scope) {
      const busLog = log.with({ module: "bus" });
      bus = options.redis
        ? createRedisBus({ ...options.redis, clock, random, log: busLog })
        : createMemoryBus({ clock, log: busLog });
      scope.onStop(() => bus.close());
      measureBus(metrics, bus);
    },
    detail: () => (bus ? describeBus(bus) : ""),
  };

  const metricsPart = (address: ListenAddress): Part => ({
    name: "metrics",
    async start(scope) {
      metricsUrl = await startMetricsListener(metrics, address, scope);
      log.info("metrics are served", { url: metricsUrl });
    },
    detail: () => metricsUrl ?? "",
  });

  const rehearsalPart: Part = {
    name: "rehearsal",
    start(scope: Scope) {
      rehearsal = startRehearsal({ journal, bus, clock, random, log: log.with({ module: "rehearsal" }) }, scope);
    },
    detail: () => `${rehearsal?.complete ?? 0} made-up orders went all the way`,
  };

  const parts: Part[] = [
    journalPart,
    busPart,
    ...(options.metricsListener ? [metricsPart(options.metricsListener)] : []),
    ...(options.rehearse ? [rehearsalPart] : []),
  ];
  const queues = () => (rehearsal ? [rehearsal.queue] : []);
  const { shutdownMs } = options;
  const lifecycle = createLifecycle({ services: parts, clock, log, ...(shutdownMs !== undefined && { shutdownMs }) });

  measureLifecycle(metrics, lifecycle);
  measureQueues(metrics, queues);

  return {
    async run(signal) {
      try {
        await lifecycle.run(signal);
      } finally {
        metrics.stop();
      }
    },
    status: () => ({
      nowMs: clock.now(),
      upMs: clock.now() - startedMs,
      services: lifecycle.services.map((status, index) => ({ ...status, detail: parts[index]?.detail() ?? "" })),
      queues: queues().map(({ name, counts }) => ({ name, counts })),
      topics: bus ? topicsOf(bus) : [],
      stories: rehearsal?.stories ?? [],
      storiesComplete: rehearsal?.complete ?? 0,
    }),
    onChange: lifecycle.onChange,
  };
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
