/** A process of ours: its services in order, and the one place that gathers what each of them tells of itself. */
import type { Clock } from "./clock.ts";
import type { Condition } from "./condition.ts";
import { ProviderError } from "./errors.ts";
import { invariant } from "./invariant.ts";
import {
  type ControlHandler,
  type ControlParams,
  createLifecycle,
  type Service,
  type ServiceStatus,
} from "./lifecycle.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { Queue, QueueCounts } from "./queue.ts";

interface ProcessOptions {
  /** In start order: each may use what those before it have started. */
  readonly services: readonly Service[];
  readonly metrics: Metrics;
  readonly shutdownMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Process {
  /** Runs until the signal is aborted or a service fails. */
  run(signal: AbortSignal): Promise<void>;
  /** Synchronous, from what is held in memory. */
  status(): ProcessStatus;
  /** The conditions of all services. */
  conditions(): ConditionSnapshot;
  /** The response of the service that handles the control request `name`. */
  control(name: string, params: ControlParams, signal: AbortSignal): unknown;
  onChange(listener: (status: ServiceStatus) => void): void;
}

export interface ConditionSnapshot {
  readonly conditions: readonly ServiceCondition[];
  /** The services whose silence counts: what they do not say is not so. */
  readonly running: ReadonlySet<string>;
  /** Whether these are all: what is missing otherwise may still be so. */
  readonly isComplete: boolean;
}

export interface ServiceCondition extends Condition {
  /** Who says it. */
  readonly service: string;
}

export interface ProcessStatus {
  readonly nowMs: number;
  readonly upMs: number;
  readonly services: readonly (ServiceStatus & { readonly detail: string })[];
  readonly queues: readonly { readonly name: string; readonly counts: QueueCounts }[];
  /** The status of each service, by the name of the service. */
  readonly statuses: Readonly<Record<string, unknown>>;
}

export function createProcess({ services, metrics, clock, log, shutdownMs }: ProcessOptions): Process {
  const startedMs = clock.now();
  const lifecycle = createLifecycle({
    services: services.map((service) => measured(service, metrics)),
    clock,
    log,
    ...(shutdownMs !== undefined && { shutdownMs }),
  });
  const queues = () => services.flatMap((service) => service.queues ?? []);
  const help = "1 for the state that each service is in: init, running, shutdown or done";
  metrics.read({ name: "akash_provider_service_state", help, kind: "gauge", labels: ["service", "state"] }, () =>
    lifecycle.services.map(({ name, state }) => [{ service: name, state }, 1]),
  );
  measureQueues(metrics, queues);

  const handlers = gatherHandlers(services);

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
      services: lifecycle.services.map((status, index) => ({ ...status, detail: services[index]?.detail?.() ?? "" })),
      queues: queues().map(({ name, counts }) => ({ name, counts })),
      statuses: Object.fromEntries(services.map((service) => [service.name, service.status?.()])),
    }),
    conditions() {
      const states = lifecycle.services;
      // What stops has no word left that counts, nor does its silence.
      if (states.some(({ state }) => state === "shutdown" || state === "done"))
        return { conditions: [], running: new Set(), isComplete: false };
      const running = new Set(states.filter(({ state }) => state === "running").map(({ name }) => name));
      return { conditions: services.flatMap(conditionsOf), running, isComplete: running.size === services.length };
    },
    control(name, params, signal) {
      const known = handlers.get(name);
      if (!known)
        throw new ProviderError("AKP_QUESTION_UNKNOWN", { about: name, known: [...handlers.keys()].join(", ") });
      const states = lifecycle.services;
      if (states[known.at]?.state === "running") return known.handler(params, signal);
      // They start in order, so the first that has not is what all others wait for.
      const at = states.findIndex(({ state }) => state !== "running");
      const waitingFor = states[at];
      const reason = [`${waitingFor?.name} is ${waitingFor?.state}`, services[at]?.detail?.()]
        .filter(Boolean)
        .join(": ");
      throw new ProviderError("AKP_NOT_RUNNING_YET", { about: name, reason });
    },
    onChange: lifecycle.onChange,
  };
}

function conditionsOf(service: Service): ServiceCondition[] {
  return Array.from(service.conditions?.() ?? [], (condition) => ({ ...condition, service: service.name }));
}

/** Every answer with the place of its service. */
function gatherHandlers(services: readonly Service[]): ReadonlyMap<string, { handler: ControlHandler; at: number }> {
  const gathered = new Map<string, { handler: ControlHandler; at: number }>();
  for (const [at, { name: service, controlHandlers = {} }] of services.entries()) {
    for (const [about, handler] of Object.entries(controlHandlers)) {
      invariant(!gathered.has(about), "two services handle the same control request", { about, service });
      gathered.set(about, { handler, at });
    }
  }
  return gathered;
}

/** What a service counts can be read once it has started, and not before. */
function measured(service: Service, metrics: Metrics): Service {
  const { name, waitsForOthers = false } = service;
  return {
    name,
    waitsForOthers,
    async start(scope) {
      await service.start(scope);
      service.measure?.(metrics);
    },
  };
}

/** How the queues of a process do, each under its name. */
const name = "akash_provider_queue";

function measureQueues(metrics: Metrics, queues: () => readonly Queue[]): void {
  const outcomesHelp = "Runs of the queue's work, by outcome";
  metrics.read(
    { name: `${name}_outcomes_total`, help: outcomesHelp, kind: "counter", labels: ["queue", "outcome"] },
    () =>
      queues().flatMap(({ name: queue, counts }) =>
        Object.entries(counts.outcomes).map(([outcome, count]) => [{ queue, outcome }, count] as const),
      ),
  );
  const keysHelp = "Keys in the queue, by state";
  metrics.read({ name: `${name}_keys`, help: keysHelp, kind: "gauge", labels: ["queue", "state"] }, () =>
    queues().flatMap(({ name: queue, counts }) =>
      (["ready", "running", "delayed"] as const).map((state) => [{ queue, state }, counts[state]] as const),
    ),
  );
  const refusedHelp = "Keys refused because the queue was full";
  metrics.read({ name: `${name}_refused_total`, help: refusedHelp, kind: "counter", labels: ["queue"] }, () =>
    queues().map(({ name: queue, counts }) => [{ queue }, counts.refused]),
  );
  const oldestHelp = "Duration of the longest run in progress";
  metrics.read({ name: `${name}_oldest_run_seconds`, help: oldestHelp, kind: "gauge", labels: ["queue"] }, () =>
    queues().map(({ name: queue, counts }) => [{ queue }, counts.oldestRunMs / 1_000]),
  );
}
