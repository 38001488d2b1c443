/** The keyed work queue of every control loop. A key carries no work: adding one twice merges. */
import { growingPauseMs } from "./back-off.ts";
import type { Timer } from "./clock.ts";
import type { RuntimeDeps } from "./deps.ts";
import { minute } from "./durations.ts";
import { InvariantError, invariant } from "./invariant.ts";
import { createLanes, moreUrgent, type Priority } from "./lanes.ts";
import { failed, type Outcome, type OutcomeKind } from "./outcome.ts";
import { jitter } from "./random.ts";

/** Keys one queue holds at once, waiting ones included: ten times the open orders ever seen on the network. */
const queueKeys = 200_000;
/** Keys started between two yields to the event loop, so that many quick keys cannot starve I/O. */
export const queueSliceKeys = 256;
/** First retry of a failed or waiting key: most causes pass within a block. */
export const queueBackoffFirstMs = 500;
/** Longest pause between retries. */
export const queueBackoffMostMs = 2 * minute;
/** Recheck period of a key that needs an operator's action. */
export const queueStalledRecheckMs = 15 * minute;

/** Synchronous work between two yields to the event loop. */
const sliceMs = 10;

export interface QueueOptions extends RuntimeDeps {
  readonly name: string;
  readonly work: (key: string, signal: AbortSignal) => Promise<Outcome>;
  /** Runs under way at once, each of another key. */
  readonly concurrency?: number;
  readonly maxKeys?: number;
  /** The longest pause between retries, where that of all queues is too long. */
  readonly pauseMostMs?: number;
}

export interface QueueCounts {
  readonly outcomes: Readonly<Record<OutcomeKind, number>>;
  /** Additions that found their key waiting already. */
  readonly merged: number;
  /** Additions rejected because the queue was full. */
  readonly refused: number;
  readonly ready: number;
  readonly running: number;
  readonly delayed: number;
  /** Duration of the longest run in progress: it shows a loop that hangs. */
  readonly oldestRunMs: number;
}

export interface Queue {
  readonly name: string;
  /** Enqueues the key; one that is delayed after a failure or for a recheck becomes ready at once. */
  add(key: string, priority?: Priority): "added" | "merged" | "refused";
  /** Resolves when the signal is aborted and the runs in progress have ended. Rejects when an invariant broke. */
  run(signal: AbortSignal): Promise<void>;
  readonly counts: QueueCounts;
  readonly size: number;
}

interface Entry {
  readonly key: string;
  state: "ready" | "running" | "delayed";
  priority: Priority;
  /** Added again during its run. */
  again: Priority | undefined;
  attempts: number;
  startedMs: number;
  /** Of a delayed key. */
  timer?: Timer;
}

export function createQueue(options: QueueOptions): Queue {
  return new KeyedQueue(options);
}

class KeyedQueue implements Queue {
  readonly name: string;
  readonly #options: QueueOptions;
  readonly #concurrency: number;
  readonly #maxKeys: number;
  readonly #entries = new Map<string, Entry>();
  readonly #running = new Set<Entry>();
  readonly #lanes = createLanes<Entry>();
  readonly #outcomes: Record<OutcomeKind, number> = { done: 0, waiting: 0, stalled: 0, failed: 0, recheck: 0 };
  #merged = 0;
  #refused = 0;
  #ready = 0;
  #startedInSlice = 0;
  #busyMs = 0;
  #yielding = false;
  #woken = false;
  #session: Session | undefined;

  constructor(options: QueueOptions) {
    this.name = options.name;
    this.#options = options;
    this.#concurrency = options.concurrency ?? 16;
    this.#maxKeys = options.maxKeys ?? queueKeys;
  }

  readonly add = (key: string, priority: Priority = "normal"): "added" | "merged" | "refused" => {
    const entry = this.#entries.get(key);
    if (!entry) {
      if (this.#entries.size >= this.#maxKeys) {
        this.#refused += 1;
        return "refused";
      }
      const fresh = newEntry(key, priority);
      this.#entries.set(key, fresh);
      this.#makeReady(fresh, priority);
      return "added";
    }
    this.#merged += 1;
    if (entry.state === "running") {
      if (!entry.again || moreUrgent(priority, entry.again)) entry.again = priority;
    } else if (entry.state === "delayed") {
      this.#makeReady(entry, moreUrgent(entry.priority, priority) ? entry.priority : priority);
    } else if (moreUrgent(priority, entry.priority)) {
      // Its entry in the slower lane is skipped later.
      entry.priority = priority;
      this.#lanes.push(priority, entry);
    }
    return "merged";
  };

  #makeReady(entry: Entry, priority: Priority): void {
    entry.timer?.cancel();
    entry.state = "ready";
    entry.priority = priority;
    this.#ready += 1;
    this.#lanes.push(priority, entry);
    this.#wake();
  }

  /** Work never starts inside the call of `add`. */
  #wake(): void {
    if (this.#woken) return;
    this.#woken = true;
    queueMicrotask(() => this.#pump());
  }

  #pump(): void {
    this.#woken = false;
    if (!this.#session || this.#session.signal.aborted) return;
    while (this.#ready > 0 && this.#running.size < this.#concurrency && !this.#yielding) {
      if (this.#startedInSlice >= queueSliceKeys || this.#busyMs >= sliceMs) {
        this.#yield();
        return;
      }
      const entry = this.#lanes.take((item, lane) => item.state === "ready" && item.priority === lane);
      invariant(entry, "a ready key is in no lane", { queue: this.name, ready: this.#ready });
      this.#start(entry, this.#session);
    }
  }

  #yield(): void {
    this.#yielding = true;
    void this.#options.clock.yield().then(() => {
      this.#yielding = false;
      this.#startedInSlice = 0;
      this.#busyMs = 0;
      this.#pump();
    });
  }

  #start(entry: Entry, under: Session): void {
    invariant(entry.state === "ready" && !this.#running.has(entry), "a key runs twice at once", { queue: this.name });
    entry.state = "running";
    entry.startedMs = this.#options.clock.monotonicMs();
    entry.again = undefined;
    this.#ready -= 1;
    this.#startedInSlice += 1;
    this.#running.add(entry);
    const attempting = this.#attempt(entry.key, under.signal);
    this.#busyMs += this.#options.clock.monotonicMs() - entry.startedMs;
    attempting.then(
      (outcome) => this.#finish(entry, outcome, under),
      (broken: InvariantError) => {
        this.#finish(entry, failed(broken), under);
        under.fail(broken);
      },
    );
  }

  async #attempt(key: string, signal: AbortSignal): Promise<Outcome> {
    try {
      return await this.#options.work(key, signal);
    } catch (thrown) {
      if (thrown instanceof InvariantError) throw thrown;
      return failed(thrown);
    }
  }

  #finish(entry: Entry, outcome: Outcome, under: Session): void {
    this.#running.delete(entry);
    this.#outcomes[outcome.kind] += 1;
    entry.attempts = outcome.kind === "failed" || outcome.kind === "waiting" ? entry.attempts + 1 : 0;
    // Logged at 1, 2, 4, 8 … failures in a row, and not when the shutdown caused it.
    if (outcome.kind === "failed" && !under.signal.aborted && Number.isInteger(Math.log2(entry.attempts))) {
      const { error } = outcome;
      this.#options.log[error.code === "AKP_INTERNAL" ? "error" : "warn"]("run failed", {
        queue: this.name,
        key: entry.key,
        attempts: entry.attempts,
        error,
      });
    }
    if (entry.again) this.#makeReady(entry, entry.again);
    else if (outcome.kind === "done") this.#entries.delete(entry.key);
    else this.#delay(entry, this.#pauseAfter(outcome, entry.attempts));
    this.#wake();
    if (under.signal.aborted && this.#running.size === 0) under.end();
  }

  #pauseAfter(outcome: Outcome, attempts: number): number {
    const { random, pauseMostMs = queueBackoffMostMs } = this.#options;
    if (outcome.kind === "recheck") return outcome.afterMs;
    if (outcome.kind === "stalled") return jitter(random, queueStalledRecheckMs);
    return jitter(random, growingPauseMs(queueBackoffFirstMs, pauseMostMs, attempts));
  }

  #delay(entry: Entry, pauseMs: number): void {
    entry.state = "delayed";
    if (this.#session?.signal.aborted === false)
      entry.timer = this.#options.clock.timer(pauseMs, () => this.#makeReady(entry, entry.priority));
  }

  readonly run = (signal: AbortSignal): Promise<void> => {
    invariant(!this.#session, "a queue runs once at a time", { queue: this.name });
    return new Promise<void>((resolve, reject) => {
      const leave = () => {
        for (const { timer } of this.#entries.values()) timer?.cancel();
        this.#session = undefined;
      };
      const end = () => {
        leave();
        resolve();
      };
      const fail = (broken: InvariantError) => {
        leave();
        reject(broken);
      };
      this.#session = { signal, end, fail };
      const onAbort = () => {
        if (this.#running.size === 0) end();
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      this.#wake();
    });
  };

  get counts(): QueueCounts {
    const nowMs = this.#options.clock.monotonicMs();
    let oldestRunMs = 0;
    for (const entry of this.#running) oldestRunMs = Math.max(oldestRunMs, nowMs - entry.startedMs);
    const [ready, running] = [this.#ready, this.#running.size];
    const delayed = this.#entries.size - ready - running;
    const [merged, refused] = [this.#merged, this.#refused];
    return { outcomes: { ...this.#outcomes }, merged, refused, ready, running, delayed, oldestRunMs };
  }

  get size(): number {
    return this.#entries.size;
  }
}

interface Session {
  readonly signal: AbortSignal;
  end(): void;
  fail(error: InvariantError): void;
}

function newEntry(key: string, priority: Priority): Entry {
  return { key, state: "ready", priority, again: undefined, attempts: 0, startedMs: 0 };
}
