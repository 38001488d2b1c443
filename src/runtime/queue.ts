/** The keyed work queue of every loop. A key carries no work, so adding one twice or in vain costs a look and nothing else. */
import { growingPauseMs } from "./back-off.ts";
import type { Clock, Timer } from "./clock.ts";
import { minute } from "./durations.ts";
import { createHeap } from "./heap.ts";
import { InvariantError, invariant } from "./invariant.ts";
import { createLanes, moreUrgent, type Priority } from "./lanes.ts";
import type { Log } from "./log.ts";
import { failed, type Outcome, type OutcomeKind } from "./outcome.ts";
import { jitter, type Random } from "./random.ts";

/** Keys one queue holds at once, waiting ones included: ten times the open orders ever seen on the network. */
const queueKeys = 200_000;
/** Keys worked on between two breaths of the event loop, so that a flood of quick keys cannot starve I/O. */
export const queueSliceKeys = 256;
/** First retry of a key that failed or waits: quick, since most causes pass within a block. */
export const queueBackoffFirstMs = 500;
/** Longest pause between retries: an operator who repaired something should not wait longer than this. */
export const queueBackoffMostMs = 2 * minute;
/** A key that needs a human is still looked at now and then, in case the human forgot to tell us. */
export const queueStalledRecheckMs = 15 * minute;

/** Of synchronous work between two yields to the event loop: the delay of the loop stays near what one key takes. */
const sliceMs = 10;

export interface QueueOptions {
  readonly name: string;
  readonly work: (key: string, signal: AbortSignal) => Promise<Outcome>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
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
  /** Additions turned away because the queue was full. */
  readonly refused: number;
  readonly ready: number;
  readonly running: number;
  readonly delayed: number;
  /** How long the oldest run under way has taken: the sign of a loop that hangs. */
  readonly oldestRunMs: number;
}

/** Where a key stands, for a person who asks why nothing happens. */
interface KeyStatus {
  readonly key: string;
  readonly state: "ready" | "running" | "delayed";
  readonly attempts: number;
  readonly last?: Outcome;
  readonly nextInMs?: number;
}

export interface Queue {
  readonly name: string;
  /** Has the key looked at soon. A key that pauses after a failure or for a recheck is woken early. */
  add(key: string, priority?: Priority): "added" | "merged" | "refused";
  /** Works until the signal is aborted and the runs under way have ended. Rejects when an invariant broke. */
  run(signal: AbortSignal): Promise<void>;
  status(key: string): KeyStatus | undefined;
  /** Keys that did not get done at their last run, the first `most` of them. */
  troubled(most: number): KeyStatus[];
  readonly counts: QueueCounts;
  readonly size: number;
}

interface Entry {
  readonly key: string;
  state: "ready" | "running" | "delayed" | "gone";
  priority: Priority;
  /** Added again during its run, so it has to be looked at once more. */
  again: Priority | undefined;
  attempts: number;
  last: Outcome | undefined;
  startedMs: number;
  /** Due time while delayed. */
  dueMs: number;
}

interface Due {
  readonly entry: Entry;
  readonly atMs: number;
}

export function createQueue(options: QueueOptions): Queue {
  return new KeyedQueue(options);
}

class KeyedQueue implements Queue {
  readonly name: string;
  readonly #work: QueueOptions["work"];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #concurrency: number;
  readonly #maxKeys: number;
  readonly #pauseMostMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #running = new Set<Entry>();
  readonly #lanes = createLanes<Entry>();
  readonly #dues = createHeap<Due>((a, b) => a.atMs - b.atMs);
  readonly #outcomes: Record<OutcomeKind, number> = { done: 0, waiting: 0, stalled: 0, failed: 0, recheck: 0 };
  #merged = 0;
  #refused = 0;
  #ready = 0;
  #startedInSlice = 0;
  #busyMs = 0;
  #breathing = false;
  #woken = false;
  #alarm: { timer: Timer; atMs: number } | undefined;
  #session: Session | undefined;

  constructor({ name, work, clock, random, log, ...bounds }: QueueOptions) {
    this.name = name;
    this.#work = work;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    this.#concurrency = bounds.concurrency ?? 16;
    this.#maxKeys = bounds.maxKeys ?? queueKeys;
    this.#pauseMostMs = bounds.pauseMostMs ?? queueBackoffMostMs;
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
      // Its place in the slower lane stays behind and is thrown away when its turn comes.
      entry.priority = priority;
      this.#lanes.push(priority, entry);
    }
    return "merged";
  };

  #makeReady(entry: Entry, priority: Priority): void {
    entry.state = "ready";
    entry.priority = priority;
    this.#ready += 1;
    this.#lanes.push(priority, entry);
    this.#wake();
  }

  /** Work never starts inside the call that added its key: the caller finishes its own step first. */
  #wake(): void {
    if (this.#woken) return;
    this.#woken = true;
    queueMicrotask(() => this.#pump());
  }

  #pump(): void {
    this.#woken = false;
    if (!this.#session || this.#session.signal.aborted) return;
    while (this.#ready > 0 && this.#running.size < this.#concurrency && !this.#breathing) {
      if (this.#startedInSlice >= queueSliceKeys || this.#busyMs >= sliceMs) {
        this.#breathe();
        return;
      }
      const entry = this.#lanes.take((item, lane) => item.state === "ready" && item.priority === lane);
      invariant(entry, "a ready key is in no lane", { queue: this.name, ready: this.#ready });
      this.#start(entry, this.#session);
    }
  }

  #breathe(): void {
    this.#breathing = true;
    void this.#clock.yield().then(() => {
      this.#breathing = false;
      this.#startedInSlice = 0;
      this.#busyMs = 0;
      this.#pump();
    });
  }

  #start(entry: Entry, under: Session): void {
    invariant(entry.state === "ready" && !this.#running.has(entry), "a key runs twice at once", { queue: this.name });
    entry.state = "running";
    entry.startedMs = this.#clock.monotonicMs();
    entry.again = undefined;
    this.#ready -= 1;
    this.#startedInSlice += 1;
    this.#running.add(entry);
    const attempting = this.#attempt(entry.key, under.signal);
    this.#busyMs += this.#clock.monotonicMs() - entry.startedMs;
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
      return await this.#work(key, signal);
    } catch (thrown) {
      if (thrown instanceof InvariantError) throw thrown;
      return failed(thrown);
    }
  }

  #finish(entry: Entry, outcome: Outcome, under: Session): void {
    this.#running.delete(entry);
    this.#outcomes[outcome.kind] += 1;
    entry.last = outcome;
    entry.attempts = outcome.kind === "failed" || outcome.kind === "waiting" ? entry.attempts + 1 : 0;
    // The first, second, fourth, eighth … time in a row: enough to notice, and not a flood while something is broken.
    // What the end itself broke off is no news.
    if (outcome.kind === "failed" && !under.signal.aborted && Number.isInteger(Math.log2(entry.attempts))) {
      const { error } = outcome;
      this.#log[error.code === "AKP_INTERNAL" ? "error" : "warn"]("run failed", {
        queue: this.name,
        key: entry.key,
        attempts: entry.attempts,
        error,
      });
    }
    if (entry.again) this.#makeReady(entry, entry.again);
    else if (outcome.kind === "done") this.#forget(entry);
    else this.#delay(entry, this.#pauseAfter(outcome, entry.attempts));
    this.#wake();
    if (under.signal.aborted && this.#running.size === 0) under.end();
  }

  #forget(entry: Entry): void {
    entry.state = "gone";
    this.#entries.delete(entry.key);
  }

  #pauseAfter(outcome: Outcome, attempts: number): number {
    if (outcome.kind === "recheck") return outcome.afterMs;
    if (outcome.kind === "stalled") return jitter(this.#random, queueStalledRecheckMs);
    return jitter(this.#random, growingPauseMs(queueBackoffFirstMs, this.#pauseMostMs, attempts));
  }

  #delay(entry: Entry, pauseMs: number): void {
    entry.state = "delayed";
    entry.dueMs = this.#clock.monotonicMs() + pauseMs;
    if (this.#dues.size > 2 * this.#entries.size + queueSliceKeys) this.#dropStaleDues();
    else this.#dues.push({ entry, atMs: entry.dueMs });
    this.#setAlarm();
  }

  /** Keys that are woken early again and again would otherwise leave a due time behind each time. */
  #dropStaleDues(): void {
    this.#dues.clear();
    for (const entry of this.#entries.values())
      if (entry.state === "delayed") this.#dues.push({ entry, atMs: entry.dueMs });
  }

  /** One timer for all pauses, at the earliest of them: a hundred thousand rechecks are one timer, not as many. */
  #setAlarm(): void {
    const first = this.#dues.peek();
    if (!this.#session || this.#session.signal.aborted || !first) return;
    if (this.#alarm && this.#alarm.atMs <= first.atMs) return;
    this.#alarm?.timer.cancel();
    const pauseMs = Math.max(0, first.atMs - this.#clock.monotonicMs());
    this.#alarm = { atMs: first.atMs, timer: this.#clock.timer(pauseMs, () => this.#ring()) };
  }

  #ring(): void {
    this.#alarm = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (let due = this.#dues.peek(); due && due.atMs <= nowMs; due = this.#dues.peek()) {
      this.#dues.pop();
      // A key that was woken early left its old due time behind.
      if (due.entry.state === "delayed" && due.entry.dueMs === due.atMs) this.#makeReady(due.entry, due.entry.priority);
    }
    this.#setAlarm();
  }

  readonly run = (signal: AbortSignal): Promise<void> => {
    invariant(!this.#session, "a queue runs once at a time", { queue: this.name });
    return new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#alarm?.timer.cancel();
        this.#alarm = undefined;
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
      this.#setAlarm();
      this.#wake();
    });
  };

  #describe(entry: Entry): KeyStatus {
    return {
      key: entry.key,
      state: entry.state as KeyStatus["state"],
      attempts: entry.attempts,
      ...(entry.last ? { last: entry.last } : {}),
      ...(entry.state === "delayed" ? { nextInMs: Math.max(0, entry.dueMs - this.#clock.monotonicMs()) } : {}),
    };
  }

  status(key: string): KeyStatus | undefined {
    const entry = this.#entries.get(key);
    return entry && this.#describe(entry);
  }

  troubled(most: number): KeyStatus[] {
    const found: KeyStatus[] = [];
    for (const entry of this.#entries.values()) {
      if (found.length >= most) break;
      if (entry.last && entry.last.kind !== "recheck" && entry.last.kind !== "done") found.push(this.#describe(entry));
    }
    return found;
  }

  get counts(): QueueCounts {
    const nowMs = this.#clock.monotonicMs();
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
  return { key, state: "ready", priority, again: undefined, attempts: 0, last: undefined, startedMs: 0, dueMs: 0 };
}
