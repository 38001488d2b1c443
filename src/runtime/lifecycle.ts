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

/** Limit of a service's start. */
const serviceStartMs = 2 * minute;

export type ServiceState = "init" | "running" | "shutdown" | "done";

/** A service and the views of its status; `process.ts` gathers them. */
export interface Service<Status = unknown> {
  readonly name: string;
  /** Its start waits for an external system without a limit, and says so in `detail`. */
  readonly waitsForOthers?: boolean;
  /** Resolves when the service is ready. Background work goes to the scope. */
  start(scope: Scope): Promise<void> | void;
  /** One line about what it is doing. Called at any time, also before the start and after the end. */
  detail?(): string;
  /** Its status from memory; undefined until there is one. Called at any time. */
  status?(): Status | undefined;
  /** Called at any time. */
  conditions?(): Iterable<Condition>;
  /** May be empty before it has started. */
  readonly queues?: readonly Queue[];
  /** Registers its metrics. Called once, when it has started. */
  measure?(metrics: Metrics): void;
  /** Handlers of control requests, by name. */
  readonly controlHandlers?: Readonly<Record<string, ControlHandler>>;
}

/** Called only while its service runs, with unvalidated JSON. Returns plain JSON, or an async iterable of it. */
export type ControlHandler = (question: ControlParams, signal: AbortSignal) => unknown;
export type ControlParams = Readonly<Record<string, unknown>>;

/** A service that opens something which later services use. */
export interface ResourceService<Thing, Status = unknown> extends Service<Status> {
  /** Resolves once it has started. */
  readonly opened: Promise<Thing>;
}

export interface Scope {
  /** Aborted when the service is to stop. */
  readonly signal: AbortSignal;
  /** Background work until the signal is aborted; the service has failed when it ends earlier or throws. */
  task(name: string, work: (signal: AbortSignal) => Promise<void>): void;
  /** Runs once the tasks have ended, in reverse order of registration. */
  onStop(cleanup: () => Promise<void> | void): void;
}

export interface ServiceStatus {
  readonly name: string;
  readonly state: ServiceState;
  readonly sinceMs: number;
  readonly error?: ProviderError;
}

interface LifecycleOptions {
  readonly services: readonly Service[];
  readonly clock: Clock;
  readonly log: Log;
  readonly startMs?: number;
  readonly shutdownMs?: number | undefined;
}

export function createLifecycle(options: LifecycleOptions) {
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

  /** Runs until the signal is aborted (resolves) or a service fails (rejects); either way all of them are done then. */
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
        // A start may wait for a service before it, which may fail meanwhile.
        await Promise.race([startOne(runner), ...started.map(({ failed }) => failed), stopRequested]);
      }
      if (!signal.aborted) await Promise.race([stopRequested, ...runners.map(({ failed }) => failed)]);
    } catch (thrown) {
      failure = thrown;
      // The caller gets the error itself and prints it in full.
      log.error("stopping because a service failed", { code: ProviderError.from(thrown).code });
    }
    const late = await stopAll(started.reverse());
    failure ??= started.find((runner) => runner.status.error)?.status.error;
    if (failure !== undefined) throw ProviderError.from(failure);
    if (late.length > 0)
      throw new ProviderError("AKP_SHUTDOWN_LATE", { limitMs: shutdownMs, services: late.join(", ") });
  }

  async function startOne(runner: ServiceRunner): Promise<void> {
    if (runner.waitsForOthers) return runner.start();
    await withDeadline(clock, startMs, runner.start(), () => {
      const reason = `not ready within ${startMs} ms`;
      throw new ProviderError("AKP_SERVICE_START_FAILED", { service: runner.status.name, reason });
    });
  }

  /** Stops one after the other within one deadline. Each gets half of the rest, so that the journal always has time to close. */
  async function stopAll(inOrder: ServiceRunner[]): Promise<string[]> {
    const deadlineMs = clock.monotonicMs() + shutdownMs;
    const late: string[] = [];
    for (const [index, runner] of inOrder.entries()) {
      const leftMs = deadlineMs - clock.monotonicMs();
      const limitMs = index === inOrder.length - 1 ? leftMs : leftMs / 2;
      await withDeadline(clock, limitMs, runner.stop(), () => late.push(runner.status.name));
    }
    return late;
  }

  return {
    run,
    get services(): readonly ServiceStatus[] {
      return runners.map((runner) => runner.status);
    },
    onChange: (listener: (status: ServiceStatus) => void) => void listeners.push(listener),
  };
}

type ServiceRunner = ReturnType<typeof createServiceRunner>;

function createServiceRunner(service: Service, clock: Clock, changed: (status: ServiceStatus) => void) {
  const { name } = service;
  const abort = new AbortController();
  const tasks: Promise<void>[] = [];
  const cleanups: (() => Promise<void> | void)[] = [];
  let status: ServiceStatus = { name, state: "init", sinceMs: clock.now() };
  let starting: Promise<void> = Promise.resolve();
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // A failure during the shutdown has no listener and is in the status.
  failed.catch(() => undefined);

  function become(state: ServiceState, error = status.error): void {
    status = { name, state, sinceMs: clock.now(), ...(error ? { error } : {}) };
    changed(status);
  }

  function fail(thrown: unknown): void {
    const error =
      thrown instanceof ProviderError
        ? thrown
        : new ProviderError("AKP_SERVICE_DIED", { service: name, reason: reasonOf(thrown) }, { cause: thrown });
    status = { ...status, error };
    reject(error);
  }

  const scope: Scope = {
    signal: abort.signal,
    task(taskName, work) {
      const running = work(abort.signal).then(
        () => {
          if (!abort.signal.aborted) fail(new Error(`its task ${taskName} ended`));
        },
        (thrown) => {
          if (!abort.signal.aborted || thrown !== abort.signal.reason) fail(thrown);
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
    // A start in progress may still register tasks and cleanups; its failure is reported by the caller.
    await starting.catch(() => undefined);
    for (let index = 0; index < tasks.length; index++) await tasks[index];
    for (const cleanup of cleanups.reverse()) {
      try {
        await cleanup();
      } catch (thrown) {
        fail(thrown);
      }
    }
    become("done");
  }

  return {
    waitsForOthers: service.waitsForOthers === true,
    get status() {
      return status;
    },
    /** Rejects when a task of the service fails or ends before the stop; never resolves. */
    failed,
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
