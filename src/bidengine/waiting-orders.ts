/**
 * Orders that got a no, and what each waits for. Rechecks are paced and back off per order: thousands of abandoned orders stay
 * open on the network.
 */
import { growingPauseMs } from "../runtime/back-off.ts";
import type { Clock, Timer } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";
import type { Until } from "./decision/decision.ts";
import { orderRecheckMs } from "./decision/record.ts";

/** Orders that got a no are looked at again at this pace, when what they wait for has changed. */
export const orderRecheckEveryMs = 2 * second;
/** Of them in one go: some ten milliseconds of work where the cluster is large. */
export const orderRecheckKeys = 100;

/** What waits for these asks for what we do not publish, for less than we want, or for what we decided against. */
const ofOrder: ReadonlySet<Until> = new Set<Until>(["attributes", "prices", "policies"]);

/** Between two decisions on one order: soon enough to bid on one that fits again, while its tenant still chooses. */
const mostPauseMs = 30_000;
/** The same where the search for a placement used up its steps, which is 50 ms of CPU each time. */
const mostPauseOfLimitedMs = orderRecheckMs;

export type WaitingOrders = ReturnType<typeof createWaitingOrders>;

export function createWaitingOrders(clock: Clock, look: (key: string) => void) {
  /** By key: what still has to change. In the order in which they began to wait. */
  const waits = new Map<string, Set<Until>>();
  /** Of orders that got a no: how often in a row, and when the next decision may be made. */
  const failures = new Map<string, { readonly count: number; readonly untilMs: number }>();
  /** To be looked at, the next one first. */
  const due = new Set<string>();
  /** Counts the changes, and says which was the last of each. */
  let changes = 0;
  const lastChange = new Map<Until, number>();
  let pace: Timer | undefined;
  let sweep: Timer | undefined;
  let stopped = false;

  function makeDue(keys: readonly string[]): void {
    for (const key of keys) waits.delete(key);
    // Behind those that are due already: else the newest would be looked at again and again, and the others never.
    for (const key of keys.toReversed()) due.add(key);
    if (due.size > 0 && !stopped) pace ??= clock.timer(orderRecheckEveryMs, lookAtSome);
  }

  function lookAtSome(): void {
    pace = undefined;
    let left: number = orderRecheckKeys;
    for (const key of due) {
      if (left === 0) break;
      if ((failures.get(key)?.untilMs ?? 0) > clock.monotonicMs()) continue;
      due.delete(key);
      left -= 1;
      look(key);
    }
    makeDue([]);
  }

  /** Also what nobody told of: a script that would answer otherwise now, a change that was missed. */
  function sweepSoon(): void {
    sweep = clock.timer(orderRecheckMs, () => {
      makeDue([...waits.keys()]);
      if (!stopped) sweepSoon();
    });
  }

  return {
    /** To be asked for before a decision is made, and given to `wait` after it: what changed meanwhile is not missed. */
    get mark() {
      return changes;
    },
    hasChanged: (until: Until, mark: number) => (lastChange.get(until) ?? 0) > mark,
    /** Nothing to wait for means that it never can become a bid while we run as we do. */
    wait(key: string, untils: ReadonlySet<Until>, mark: number, isLimited = false): void {
      if (untils.size === 0) return;
      const count = (failures.get(key)?.count ?? 0) + 1;
      const pauseMs = growingPauseMs(orderRecheckEveryMs, isLimited ? mostPauseOfLimitedMs : mostPauseMs, count);
      failures.set(key, { count, untilMs: clock.monotonicMs() + pauseMs });
      const left = new Set([...untils].filter((until) => (lastChange.get(until) ?? 0) <= mark));
      if (left.size > 0) waits.set(key, left);
      else makeDue([key]);
    },
    forget(key: string): void {
      waits.delete(key);
      failures.delete(key);
      due.delete(key);
    },
    /** An order becomes a bid only when all that it waits for has changed. */
    changed(until: Until): void {
      changes += 1;
      lastChange.set(until, changes);
      const ready: string[] = [];
      for (const [key, untils] of waits) if (untils.delete(until) && untils.size === 0) ready.push(key);
      makeDue(ready);
    },
    start: sweepSoon,
    stop(): void {
      stopped = true;
      pace?.cancel();
      sweep?.cancel();
    },
    get size() {
      return waits.size + due.size;
    },
    /** Those that we could serve as they are, but for how we stand: nothing about the order or our own rules has to change. */
    get matching() {
      return [...waits.values()].filter((untils) => ![...untils].some((until) => ofOrder.has(until))).length;
    },
  };
}
