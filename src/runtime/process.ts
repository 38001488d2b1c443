/** A process: its services in order, and their status, conditions, metrics and control handlers in one place. */
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
  /** In start order. */
  readonly services: readonly Service[];
  readonly metrics: Metrics;
  readonly shutdownMs?: number | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export type Process = ReturnType<typeof createProcess>;

export interface ConditionSnapshot {
  readonly conditions: readonly ServiceCondition[];
  /** A condition that one of these does not report does not hold. */
  readonly running: ReadonlySet<string>;
  /** Whether all services are running. */
  readonly isComplete: boolean;
}

export interface ServiceCondition extends Condition {
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

export function createProcess({ services, metrics, clock, log, shutdownMs }: ProcessOptions) {
  const startedMs = clock.now();
  const lifecycle = createLifecycle({
    services: services.map((service) => measured(service, metrics)),
    ...{ clock, log, shutdownMs },
  });
  const queues = () => services.flatMap((service) => service.queues ?? []);
  const help = "1 for the state that each service is in: init, running, shutdown or done";
  const states = () => lifecycle.services.map(({ name, state }) => [{ service: name, state }, 1] as const);
  metrics.readEach("gauge", "akash_provider", [["service_state", help, states, ["service", "state"]]]);
  measureQueues(metrics, queues);
  const handlers = gatherHandlers(services);

  return {
    /** Runs until the signal is aborted or a service fails. */
    async run(signal: AbortSignal): Promise<void> {
      try {
        await lifecycle.run(signal);
      } finally {
        metrics.stop();
      }
    },
    /** From memory, without waiting. */
    status: (): ProcessStatus => ({
      nowMs: clock.now(),
      upMs: clock.now() - startedMs,
      services: lifecycle.services.map((status, index) => ({ ...status, detail: services[index]?.detail?.() ?? "" })),
      queues: queues().map(({ name, counts }) => ({ name, counts })),
      statuses: Object.fromEntries(services.map((service) => [service.name, service.status?.()])),
    }),
    /** The conditions of all services. */
    conditions(): ConditionSnapshot {
      const states = lifecycle.services;
      // While services stop, their conditions say nothing.
      if (states.some(({ state }) => state === "shutdown" || state === "done"))
        return { conditions: [], running: new Set(), isComplete: false };
      const running = new Set(states.filter(({ state }) => state === "running").map(({ name }) => name));
      return { conditions: services.flatMap(conditionsOf), running, isComplete: running.size === services.length };
    },
    /** The response of the service that handles the control request `name`. */
    control(name: string, params: ControlParams, signal: AbortSignal): unknown {
      const known = handlers.get(name);
      if (!known)
        throw new ProviderError("AKP_QUESTION_UNKNOWN", { about: name, known: [...handlers.keys()].join(", ") });
      const states = lifecycle.services;
      if (states[known.at]?.state === "running") return known.handler(params, signal);
      // Services start in order: all others wait for the first that has not started.
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

/** Every handler with the index of its service. */
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

/** Metrics are registered once the service has started. */
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

const perQueue = ["queue"];

function measureQueues(metrics: Metrics, queues: () => readonly Queue[]): void {
  const each = (of: (counts: QueueCounts) => number) => () =>
    queues().map(({ name: queue, counts }) => [{ queue }, of(counts)] as const);
  const outcomes = () =>
    queues().flatMap(({ name: queue, counts }) =>
      Object.entries(counts.outcomes).map(([outcome, count]) => [{ queue, outcome }, count] as const),
    );
  const keys = () =>
    queues().flatMap(({ name: queue, counts }) =>
      (["ready", "running", "delayed"] as const).map((state) => [{ queue, state }, counts[state]] as const),
    );
  metrics.readEach("counter", "akash_provider_queue", [
    ["outcomes", "Runs of the queue's work, by outcome", outcomes, ["queue", "outcome"]],
    ["refused", "Keys rejected because the queue was full", each(({ refused }) => refused), perQueue],
  ]);
  const oldestSeconds = each(({ oldestRunMs }) => oldestRunMs / 1_000);
  metrics.readEach("gauge", "akash_provider_queue", [
    ["keys", "Keys in the queue, by state", keys, ["queue", "state"]],
    ["oldest_run_seconds", "Duration of the longest run in progress", oldestSeconds, perQueue],
  ]);
}
