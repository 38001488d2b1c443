/** Deadlines of one length for many things, with one timer. A linked list: a table under this churn keeps dead entries alive. */
import type { Clock, Timer } from "./clock.ts";

export interface Awaited<T> {
  readonly what: T;
  readonly sinceMs: number;
  before: Awaited<T> | undefined;
  after: Awaited<T> | undefined;
  isOver: boolean;
}

export interface Patience<T> {
  begin(what: T): Awaited<T>;
  /** In time. */
  end(awaited: Awaited<T>): void;
  all(): T[];
  close(): void;
}

export function createPatience<T>(clock: Clock, mostMs: number, onLate: (what: T) => void): Patience<T> {
  let oldest: Awaited<T> | undefined;
  let newest: Awaited<T> | undefined;
  let timer: Timer | undefined;

  function end(awaited: Awaited<T>): void {
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
      const awaited: Awaited<T> = {
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
