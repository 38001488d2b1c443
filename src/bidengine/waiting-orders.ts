/**
 * Orders that got a no, and what each waits for. Rechecks are paced and back off per order: thousands of abandoned orders stay
 * open on the network.
 */
import { growingPauseMs } from "../runtime/back-off.ts";
import type { Clock, Timer } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";
import type { Until } from "./decision/decision.ts";
import { orderRecheckMs } from "./decision/record.ts";

/** Pace of rechecks once what orders wait for has changed. */
export const orderRecheckEveryMs = 2 * second;
/** Orders rechecked at once: some ten milliseconds of work where the cluster is large. */
export const orderRecheckKeys = 100;

/** Orders that wait for these request what we do not publish, pay too little, or are against our policies. */
const ofOrder: ReadonlySet<Until> = new Set<Until>(["attributes", "prices", "policies"]);

/** Longest pause between two decisions on one order, so that we can still bid while its tenant chooses. */
const mostPauseMs = 30_000;
/** The same where the search for a placement reached its limit, which costs 50 ms of CPU each time. */
const mostPauseOfLimitedMs = orderRecheckMs;

export type WaitingOrders = ReturnType<typeof createWaitingOrders>;

export function createWaitingOrders(clock: Clock, recheck: (key: string) => void) {
  /** By key: what still has to change. In the order in which they began to wait. */
  const waits = new Map<string, Set<Until>>();
  /** Of orders that got a no: how often in a row, and when the next decision may be made. */
  const failures = new Map<string, { readonly count: number; readonly untilMs: number }>();
  /** To be rechecked, the next one first. */
  const due = new Set<string>();
  let changes = 0;
  /** The number of the last change of each kind. */
  const lastChange = new Map<Until, number>();
  let pace: Timer | undefined;
  let sweep: Timer | undefined;
  let stopped = false;
  const hasChanged = (until: Until, mark: number) => (lastChange.get(until) ?? 0) > mark;

  function makeDue(keys: readonly string[]): void {
    for (const key of keys) waits.delete(key);
    // Newest first among these, but behind those already due, so that none starves.
    for (const key of keys.toReversed()) due.add(key);
    if (due.size > 0 && !stopped) pace ??= clock.timer(orderRecheckEveryMs, recheckSome);
  }

  function recheckSome(): void {
    pace = undefined;
    const nowMs = clock.monotonicMs();
    const ready = due.values().filter((key) => (failures.get(key)?.untilMs ?? 0) <= nowMs);
    for (const key of [...ready.take(orderRecheckKeys)]) {
      due.delete(key);
      recheck(key);
    }
    makeDue([]);
  }

  /** For changes that are not reported, such as another result of the price script. */
  function startSweep(): void {
    sweep = clock.timer(orderRecheckMs, () => {
      makeDue([...waits.keys()]);
      if (!stopped) startSweep();
    });
  }

  return {
    /** Read before a decision and given to `wait` after it, so that a change meanwhile is not missed. */
    get mark() {
      return changes;
    },
    hasChanged,
    /** An empty set means that it can never become a bid with the same settings. */
    wait(key: string, untils: ReadonlySet<Until>, mark: number, isLimited = false): void {
      if (untils.size === 0) return;
      const count = (failures.get(key)?.count ?? 0) + 1;
      const pauseMs = growingPauseMs(orderRecheckEveryMs, isLimited ? mostPauseOfLimitedMs : mostPauseMs, count);
      failures.set(key, { count, untilMs: clock.monotonicMs() + pauseMs });
      const left = new Set([...untils].filter((until) => !hasChanged(until, mark)));
      if (left.size > 0) waits.set(key, left);
      else makeDue([key]);
    },
    forget(key: string): void {
      waits.delete(key);
      failures.delete(key);
      due.delete(key);
    },
    /** An order is due when all that it waits for has changed. */
    changed(until: Until): void {
      changes += 1;
      lastChange.set(until, changes);
      const ready = waits.entries().filter(([, untils]) => untils.delete(until) && untils.size === 0);
      makeDue([...ready.map(([key]) => key)]);
    },
    start: startSweep,
    stop(): void {
      stopped = true;
      pace?.cancel();
      sweep?.cancel();
    },
    get size() {
      return waits.size + due.size;
    },
    /** Those that we could serve as they are: neither the order nor our own rules would have to change. */
    get matching() {
      return waits.values().reduce((count, untils) => count + Number(untils.isDisjointFrom(ofOrder)), 0);
    },
  };
}
