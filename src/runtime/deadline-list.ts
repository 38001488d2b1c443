/** Deadlines of one length for many things, with one timer. A linked list: a table under this churn keeps dead entries alive. */
import type { Clock, Timer } from "./clock.ts";

export interface Pending<T> {
  readonly what: T;
  readonly sinceMs: number;
  before: Pending<T> | undefined;
  after: Pending<T> | undefined;
  isOver: boolean;
}

export interface DeadlineList<T> {
  begin(what: T): Pending<T>;
  /** In time. */
  end(awaited: Pending<T>): void;
  all(): T[];
  close(): void;
}

export function createDeadlineList<T>(clock: Clock, mostMs: number, onLate: (what: T) => void): DeadlineList<T> {
  let oldest: Pending<T> | undefined;
  let newest: Pending<T> | undefined;
  let timer: Timer | undefined;

  function end(awaited: Pending<T>): void {
    if (awaited.isOver) return;
    awaited.isOver = true;
    const { before, after } = awaited;
    if (before) before.after = after;
    else oldest = after;
    if (after) after.before = before;
    else newest = before;
    awaited.before = undefined;
    awaited.after = undefined;
  }

  function look(): void {
    timer = undefined;
    const nowMs = clock.monotonicMs();
    while (oldest && nowMs - oldest.sinceMs >= mostMs) {
      const { what } = oldest;
      end(oldest);
      onLate(what);
    }
    if (oldest) timer = clock.timer(oldest.sinceMs + mostMs - nowMs, look);
  }

  return {
    begin(what) {
      const awaited: Pending<T> = {
        ...{ what, sinceMs: clock.monotonicMs(), before: newest, after: undefined, isOver: false },
      };
      if (newest) newest.after = awaited;
      else oldest = awaited;
      newest = awaited;
      timer ??= clock.timer(mostMs, look);
      return awaited;
    },
    end,
    all() {
      const found: T[] = [];
      for (let each = oldest; each; each = each.after) found.push(each.what);
      return found;
    },
    close() {
      timer?.cancel();
    },
  };
}
