/**
 * The keyed work queue that every loop runs on. A key says only that there is something to look at; the work reads the
 * state of the world itself, so adding a key twice, late or without need costs a look and nothing else.
 */
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
  const { name, work, clock, random, log } = options;
  const { concurrency = 16, maxKeys = queueKeys, pauseMostMs = queueBackoffMostMs } = options;
  const entries = new Map<string, Entry>();
  const running = new Set<Entry>();
  const lanes = createLanes<Entry>();
  const dues = createHeap<Due>((a, b) => a.atMs - b.atMs);
  const outcomes: Record<OutcomeKind, number> = { done: 0, waiting: 0, stalled: 0, failed: 0, recheck: 0 };
  let merged = 0;
  let refused = 0;
  let ready = 0;
  let startedInSlice = 0;
  let busyMs = 0;
  let breathing = false;
  let woken = false;
  let alarm: { timer: Timer; atMs: number } | undefined;
  let session: Session | undefined;

  function add(key: string, priority: Priority = "normal"): "added" | "merged" | "refused" {
    const entry = entries.get(key);
    if (!entry) {
      if (entries.size >= maxKeys) {
        refused += 1;
        return "refused";
      }
      const fresh = newEntry(key, priority);
      entries.set(key, fresh);
      makeReady(fresh, priority);
      return "added";
    }
    merged += 1;
    if (entry.state === "running") {
      if (!entry.again || moreUrgent(priority, entry.again)) entry.again = priority;
    } else if (entry.state === "delayed") {
      makeReady(entry, moreUrgent(entry.priority, priority) ? entry.priority : priority);
    } else if (moreUrgent(priority, entry.priority)) {
      // Its place in the slower lane stays behind and is thrown away when its turn comes.
      entry.priority = priority;
      lanes.push(priority, entry);
    }
    return "merged";
  }

  function makeReady(entry: Entry, priority: Priority): void {
    entry.state = "ready";
    entry.priority = priority;
    ready += 1;
    lanes.push(priority, entry);
    wake();
  }

  /** Work never starts inside the call that added its key: the caller finishes its own step first. */
  function wake(): void {
    if (woken) return;
    woken = true;
    queueMicrotask(pump);
  }

  function pump(): void {
    woken = false;
    if (!session || session.signal.aborted) return;
    while (ready > 0 && running.size < concurrency && !breathing) {
      if (startedInSlice >= queueSliceKeys || busyMs >= sliceMs) {
        breathe();
        return;
      }
      const entry = lanes.take((item, lane) => item.state === "ready" && item.priority === lane);
      invariant(entry, "a ready key is in no lane", { queue: name, ready });
      start(entry, session);
    }
  }

  function breathe(): void {
    breathing = true;
    void clock.yield().then(() => {
      breathing = false;
      startedInSlice = 0;
      busyMs = 0;
      pump();
    });
  }

  function start(entry: Entry, under: Session): void {
    invariant(entry.state === "ready" && !running.has(entry), "a key runs twice at once", { queue: name });
    entry.state = "running";
    entry.startedMs = clock.monotonicMs();
    entry.again = undefined;
    ready -= 1;
    startedInSlice += 1;
    running.add(entry);
    const attempting = attempt(entry.key, under.signal);
    busyMs += clock.monotonicMs() - entry.startedMs;
    attempting.then(
      (outcome) => finish(entry, outcome, under),
      (broken: InvariantError) => {
        finish(entry, failed(broken), under);
        under.fail(broken);
      },
    );
  }

  async function attempt(key: string, signal: AbortSignal): Promise<Outcome> {
    try {
      return await work(key, signal);
    } catch (thrown) {
      if (thrown instanceof InvariantError) throw thrown;
      return failed(thrown);
    }
  }

  function finish(entry: Entry, outcome: Outcome, under: Session): void {
    running.delete(entry);
    outcomes[outcome.kind] += 1;
    entry.last = outcome;
    entry.attempts = outcome.kind === "failed" || outcome.kind === "waiting" ? entry.attempts + 1 : 0;
    // The first, second, fourth, eighth … time in a row: enough to notice, and not a flood while something is broken.
    // What the end itself broke off is no news.
    if (outcome.kind === "failed" && !under.signal.aborted && Number.isInteger(Math.log2(entry.attempts))) {
      const { error } = outcome;
      log[error.code === "AKP_INTERNAL" ? "error" : "warn"]("run failed", {
        queue: name,
        key: entry.key,
        attempts: entry.attempts,
        error,
      });
    }
    if (entry.again) makeReady(entry, entry.again);
    else if (outcome.kind === "done") forget(entry);
    else delay(entry, pauseAfter(outcome, entry.attempts));
    wake();
    if (under.signal.aborted && running.size === 0) under.end();
  }

  function forget(entry: Entry): void {
    entry.state = "gone";
    entries.delete(entry.key);
  }

  function pauseAfter(outcome: Outcome, attempts: number): number {
    if (outcome.kind === "recheck") return outcome.afterMs;
    if (outcome.kind === "stalled") return jitter(random, queueStalledRecheckMs);
    return jitter(random, growingPauseMs(queueBackoffFirstMs, pauseMostMs, attempts));
  }

  function delay(entry: Entry, pauseMs: number): void {
    entry.state = "delayed";
    entry.dueMs = clock.monotonicMs() + pauseMs;
    if (dues.size > 2 * entries.size + queueSliceKeys) dropStaleDues();
    else dues.push({ entry, atMs: entry.dueMs });
    setAlarm();
  }

  /** Keys that are woken early again and again would otherwise leave a due time behind each time. */
  function dropStaleDues(): void {
    dues.clear();
    for (const entry of entries.values()) if (entry.state === "delayed") dues.push({ entry, atMs: entry.dueMs });
  }

  /** One timer for all pauses, at the earliest of them: a hundred thousand rechecks are one timer, not as many. */
  function setAlarm(): void {
    const first = dues.peek();
    if (!session || session.signal.aborted || !first) return;
    if (alarm && alarm.atMs <= first.atMs) return;
    alarm?.timer.cancel();
    const pauseMs = Math.max(0, first.atMs - clock.monotonicMs());
    alarm = { atMs: first.atMs, timer: clock.timer(pauseMs, ring) };
  }

  function ring(): void {
    alarm = undefined;
    const nowMs = clock.monotonicMs();
    for (let due = dues.peek(); due && due.atMs <= nowMs; due = dues.peek()) {
      dues.pop();
      // A key that was woken early left its old due time behind.
      if (due.entry.state === "delayed" && due.entry.dueMs === due.atMs) makeReady(due.entry, due.entry.priority);
    }
    setAlarm();
  }

  function run(signal: AbortSignal): Promise<void> {
    invariant(!session, "a queue runs once at a time", { queue: name });
    return new Promise<void>((resolve, reject) => {
      const leave = () => {
        alarm?.timer.cancel();
        alarm = undefined;
        session = undefined;
      };
      const end = () => {
        leave();
        resolve();
      };
      const fail = (broken: InvariantError) => {
        leave();
        reject(broken);
      };
      session = { signal, end, fail };
      const onAbort = () => {
        if (running.size === 0) end();
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      setAlarm();
      wake();
    });
  }

  function describe(entry: Entry): KeyStatus {
    return {
      key: entry.key,
      state: entry.state as KeyStatus["state"],
      attempts: entry.attempts,
      ...(entry.last ? { last: entry.last } : {}),
      ...(entry.state === "delayed" ? { nextInMs: Math.max(0, entry.dueMs - clock.monotonicMs()) } : {}),
    };
  }

  return {
    name,
    add,
    run,
    status(key) {
      const entry = entries.get(key);
      return entry && describe(entry);
    },
    troubled(most) {
      const found: KeyStatus[] = [];
      for (const entry of entries.values()) {
        if (found.length >= most) break;
        if (entry.last && entry.last.kind !== "recheck" && entry.last.kind !== "done") found.push(describe(entry));
      }
      return found;
    },
    get counts() {
      const nowMs = clock.monotonicMs();
      let oldestRunMs = 0;
      for (const entry of running) oldestRunMs = Math.max(oldestRunMs, nowMs - entry.startedMs);
      const delayed = entries.size - ready - running.size;
      return { outcomes: { ...outcomes }, merged, refused, ready, running: running.size, delayed, oldestRunMs };
    },
    get size() {
      return entries.size;
    },
  };
}

interface Session {
  readonly signal: AbortSignal;
  end(): void;
  fail(error: InvariantError): void;
}

function newEntry(key: string, priority: Priority): Entry {
  return { key, state: "ready", priority, again: undefined, attempts: 0, last: undefined, startedMs: 0, dueMs: 0 };
}
