/** Starts services in order and stops them in reverse. A service that ends by itself stops all: half a provider would bid in vain. */
import { type Clock, withDeadline } from "./clock.ts";
import type { Condition } from "./condition.ts";
import { minute } from "./durations.ts";
import { ProviderError, reasonOf } from "./errors.ts";
import { invariant } from "./invariant.ts";
import { shutdownLimitMs } from "./limits.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { Queue } from "./queue.ts";

/** A service that is not ready by then will not be; say so instead of hanging at start. */
const serviceStartMs = 2 * minute;

export type ServiceState = "init" | "running" | "shutdown" | "done";

/** All that a service tells of itself stands beside its start; `process.ts` gathers it. */
export interface Service<Status = unknown> {
  readonly name: string;
  /** Its start waits for something outside of us, for as long as it takes, and shows that it does. */
  readonly waitsForOthers?: boolean;
  /** Resolves when the service is ready. What it leaves running it hands to the scope. */
  start(scope: Scope): Promise<void> | void;
  /** The line that tells a person what it is doing. Asked at any time, also before the start and after the end. */
  detail?(): string;
  /** Its status, from what it holds already; undefined until there is one. Asked as `detail` is. */
  status?(): Status | undefined;
  /** What an operator should know of it now. Asked as `detail` is. */
  conditions?(): Iterable<Condition>;
  /** Its queues; those that are there only once it has started come then. */
  readonly queues?: readonly Queue[];
  /** Says how its metrics are read. Called once, when it has started. */
  measure?(metrics: Metrics): void;
  /** Handlers of control requests, by name. */
  readonly controlHandlers?: Readonly<Record<string, ControlHandler>>;
}

/** Called only while its service runs, with unvalidated JSON. It returns plain JSON, or an async iterable of values. */
export type ControlHandler = (question: ControlParams, signal: AbortSignal) => unknown;
export type ControlParams = Readonly<Record<string, unknown>>;

/** A service that others stand on. */
export interface ResourceService<Thing, Status = unknown> extends Service<Status> {
  /** What it opens, once it has started. */
  readonly opened: Promise<Thing>;
}

export interface Scope {
  /** Aborted when the service is asked to stop. */
  readonly signal: AbortSignal;
  /** Background work. It goes on until the signal is aborted; ending earlier or throwing is the service's death. */
  task(name: string, work: (signal: AbortSignal) => Promise<void>): void;
  /** Cleaning up, once the tasks have ended; what was registered last runs first. */
  onStop(cleanup: () => Promise<void> | void): void;
}

export interface ServiceStatus {
  readonly name: string;
  readonly state: ServiceState;
  readonly sinceMs: number;
  readonly error?: ProviderError;
}

export interface LifecycleOptions {
  readonly services: readonly Service[];
  readonly clock: Clock;
  readonly log: Log;
  readonly startMs?: number;
  readonly shutdownMs?: number;
}

export interface Lifecycle {
  /** Runs until the signal is aborted (resolves) or a service fails (rejects); either way all of them are done then. */
  run(signal: AbortSignal): Promise<void>;
  readonly services: readonly ServiceStatus[];
  onChange(listener: (status: ServiceStatus) => void): void;
}

export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { clock, log, startMs = serviceStartMs, shutdownMs = shutdownLimitMs } = options;
  const listeners: ((status: ServiceStatus) => void)[] = [];
  const runners = options.services.map((service) =>
    createServiceRunner(service, clock, (status) => {
      const { name: service, state, error } = status;
      log.info("service state changed", { service, state, ...(error && { error }) });
      for (const listener of listeners) listener(status);
    }),
  );
  let ran = false;

  async function run(signal: AbortSignal): Promise<void> {
    invariant(!ran, "a lifecycle runs once");
    ran = true;
    const stopRequested = untilAborted(signal);
    const started: ServiceRunner[] = [];
    let failure: unknown;
    try {
      for (const runner of runners) {
        if (signal.aborted) break;
        started.push(runner);
        // Also the deaths of those before it: a start that waits for one of them would wait in vain.
        await Promise.race([startOne(runner), ...started.map(({ died }) => died), stopRequested]);
      }
      if (!signal.aborted) await Promise.race([stopRequested, ...runners.map((runner) => runner.died)]);
    } catch (thrown) {
      failure = thrown;
      // Whoever runs the lifecycle is given the error itself and tells it in full.
      log.error("stopping because a service failed", { code: ProviderError.from(thrown).code });
    }
    const late = await stopAll(started.reverse());
    failure ??= started.find((runner) => runner.status.error)?.status.error;
    if (failure !== undefined) throw ProviderError.from(failure);
    if (late.length > 0)
      throw new ProviderError("AKP_SHUTDOWN_LATE", { limitMs: shutdownMs, services: late.join(", ") });
  }

  async function startOne(runner: ServiceRunner): Promise<void> {
    const { name } = runner.status;
    if (runner.waitsForOthers) return runner.start();
    await withDeadline(clock, startMs, runner.start(), () => {
      const reason = `not ready within ${startMs} ms`;
      throw new ProviderError("AKP_SERVICE_START_FAILED", { service: name, reason });
    });
  }

  /** Stops one after the other within one deadline. One that hangs gets half of the rest, so that the journal still ends properly. */
  async function stopAll(inOrder: ServiceRunner[]): Promise<string[]> {
    const deadlineMs = clock.monotonicMs() + shutdownMs;
    const late: string[] = [];
    for (const [index, runner] of inOrder.entries()) {
      const leftMs = deadlineMs - clock.monotonicMs();
      const patienceMs = index === inOrder.length - 1 ? leftMs : leftMs / 2;
      const ended = await withDeadline(
        clock,
        patienceMs,
        runner.stop().then(() => true),
        () => false,
      );
      if (!ended) late.push(runner.status.name);
    }
    return late;
  }

  return {
    run,
    get services() {
      return runners.map((runner) => runner.status);
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

/** What the lifecycle keeps around one service. */
interface ServiceRunner {
  readonly status: ServiceStatus;
  readonly waitsForOthers: boolean;
  /** Rejects when a task of the service ends before it was asked to; never resolves. */
  readonly died: Promise<never>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

function createServiceRunner(service: Service, clock: Clock, changed: (status: ServiceStatus) => void): ServiceRunner {
  const { name } = service;
  const abort = new AbortController();
  const tasks: Promise<void>[] = [];
  const cleanups: (() => Promise<void> | void)[] = [];
  let status: ServiceStatus = { name, state: "init", sinceMs: clock.now() };
  let starting: Promise<void> = Promise.resolve();
  let reportDeath: (error: ProviderError) => void;
  const died = new Promise<never>((_, reject) => {
    reportDeath = reject;
  });
  // Whoever watches gets the rejection; a death during shutdown has no watcher and is in the status already.
  died.catch(() => undefined);

  function become(state: ServiceState, error = status.error): void {
    status = { name, state, sinceMs: clock.now(), ...(error ? { error } : {}) };
    changed(status);
  }

  function die(thrown: unknown): void {
    const error =
      thrown instanceof ProviderError
        ? thrown
        : new ProviderError("AKP_SERVICE_DIED", { service: name, reason: reasonOf(thrown) }, { cause: thrown });
    status = { ...status, error };
    reportDeath(error);
  }

  const scope: Scope = {
    signal: abort.signal,
    task(taskName, work) {
      const running = work(abort.signal).then(
        () => {
          if (!abort.signal.aborted) die(new Error(`its task ${taskName} ended`));
        },
        (thrown) => {
          if (!abort.signal.aborted || thrown !== abort.signal.reason) die(thrown);
        },
      );
      tasks.push(running);
    },
    onStop: (cleanup) => void cleanups.push(cleanup),
  };

  async function begin(): Promise<void> {
    try {
      await service.start(scope);
    } catch (thrown) {
      if (thrown instanceof ProviderError) throw thrown;
      const details = { service: name, reason: reasonOf(thrown) };
      throw new ProviderError("AKP_SERVICE_START_FAILED", details, { cause: thrown });
    }
    if (!abort.signal.aborted) become("running");
  }

  async function stop(): Promise<void> {
    become("shutdown");
    abort.abort();
    // A start that is still under way may yet register tasks and cleanups; its failure is the caller's to report.
    await starting.catch(() => undefined);
    for (let index = 0; index < tasks.length; index++) await tasks[index];
    for (const cleanup of cleanups.reverse()) {
      try {
        await cleanup();
      } catch (thrown) {
        die(thrown);
      }
    }
    become("done");
  }

  return {
    waitsForOthers: service.waitsForOthers ?? false,
    get status() {
      return status;
    },
    died,
    start() {
      starting = begin();
      return starting;
    },
    stop,
  };
}

/** Resolves as soon as the signal is aborted, at once when it already is. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
