/** Times by which something must have happened, kept over restarts. Each lives until it is met or removed. */

import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";
import { createRecords } from "./records.ts";

/** Of leases whose tenant has not sent anything yet. */
export const manifestDeadline = "manifest";

export interface Deadline {
  /** What is waited for: "manifest". */
  readonly kind: string;
  readonly subject: string;
  readonly dueAtMs: number;
}

export function createDeadlines(sql: Sql) {
  const columns = { kind: "kind", subject: "subject", dueAtMs: "due_at" };
  const order = "due_at, kind, subject";
  const records = createRecords<Deadline>(sql, { table: "deadlines", columns, key: ["kind", "subject"], order });
  const select = "SELECT kind, subject, due_at AS dueAtMs FROM deadlines";
  const due = sql.all<Deadline>(`${select} WHERE due_at <= ? ORDER BY ${order} LIMIT ?`);
  const next = sql.one<Deadline>(`${select} ORDER BY ${order} LIMIT 1`);
  const subjects = sql.all<{ subject: string }>("SELECT subject FROM deadlines WHERE kind = ? ORDER BY subject");
  const postpone = sql.run("UPDATE deadlines SET due_at = max(due_at + ?, ?) WHERE kind = ?");
  return {
    ...records,
    subjects: (kind: string) => subjects(kind).map(({ subject }) => subject),
    /** Those that have passed, the most overdue first. */
    due: (nowMs: number, limit: number) => due(nowMs, limit),
    /** The one that comes first, passed or not. */
    next: () => next(),
    /** Moves all of a kind by so much, and at least to this time. */
    postpone: (kind: string, byMs: number, leastMs: number) => void postpone(byMs, leastMs, kind),
  };
}

/** What an operator switched while the provider ran, kept over restarts: bidding is paused, and why. */
export interface OperatorSwitch {
  /** What is switched on: "pause". */
  readonly name: string;
  readonly reason: string;
  readonly sinceMs: number;
  /** When it begins to count; at once where there is none. */
  readonly fromMs?: number;
}

/** Nothing is bid while it is on. */
export const pauseSwitch = "pause";

/** One that is planned does not count before its time. */
export function isPausing(pause: { readonly fromMs?: number | undefined } | undefined, nowMs: number): boolean {
  return pause !== undefined && (pause.fromMs ?? 0) <= nowMs;
}

export function createSwitches(sql: Sql, clock: Clock) {
  const columns = { name: "name", reason: "reason", sinceMs: "since", fromMs: "from_at" };
  const { get, put } = createRecords<OperatorSwitch>(sql, { table: "switches", columns, key: ["name"] });
  const remove = sql.run("DELETE FROM switches WHERE name = ?");
  return {
    get,
    put(operatorSwitch: Omit<OperatorSwitch, "sinceMs">): OperatorSwitch {
      const row = { ...operatorSwitch, sinceMs: clock.now() };
      put(row);
      return row;
    },
    /** False when it was not on. */
    remove: (name: string) => remove(name).changes === 1,
  };
}
