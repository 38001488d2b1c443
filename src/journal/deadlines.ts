/** Times by which something must have happened, kept over restarts. Each lives until it is met or removed. */

import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

/** Of leases whose tenant has not sent anything yet. */
export const manifestDeadline = "manifest";

export interface Deadline {
  /** "manifest": what is waited for. */
  readonly kind: string;
  readonly subject: string;
  readonly dueAtMs: number;
}

export type Deadlines = ReturnType<typeof createDeadlines>;

export function createDeadlines(sql: Sql) {
  const columns = "kind, subject, due_at AS dueAtMs";
  const order = "ORDER BY due_at, kind, subject";
  const get = sql.one<Deadline>(`SELECT ${columns} FROM deadlines WHERE kind = ? AND subject = ?`);
  const due = sql.all<Deadline>(`SELECT ${columns} FROM deadlines WHERE due_at <= ? ${order} LIMIT ?`);
  const next = sql.one<Deadline>(`SELECT ${columns} FROM deadlines ${order} LIMIT 1`);
  const subjects = sql.all<{ subject: string }>("SELECT subject FROM deadlines WHERE kind = ? ORDER BY subject");
  const put = sql.run(
    `INSERT INTO deadlines (kind, subject, due_at) VALUES (?, ?, ?)
     ON CONFLICT (kind, subject) DO UPDATE SET due_at = excluded.due_at`,
  );
  const postpone = sql.run("UPDATE deadlines SET due_at = max(due_at + ?, ?) WHERE kind = ?");
  const remove = sql.run("DELETE FROM deadlines WHERE kind = ? AND subject = ?");
  return {
    get: (kind: string, subject: string) => plain(get(kind, subject)),
    subjects: (kind: string) => subjects(kind).map(({ subject }) => subject),
    /** Those that have passed, the most overdue first. */
    due: (nowMs: number, limit: number) => due(nowMs, limit).map((row) => ({ ...row })),
    /** The one that comes first, passed or not. */
    next: () => plain(next()),
    put: ({ kind, subject, dueAtMs }: Deadline) => void put(kind, subject, dueAtMs),
    /** Moves all of a kind by so much, and at least to this time. */
    postpone: (kind: string, byMs: number, leastMs: number) => void postpone(byMs, leastMs, kind),
    remove: (kind: string, subject: string) => void remove(kind, subject),
  };
}

/** SQLite's rows have no prototype. */
function plain(row: Deadline | undefined): Deadline | undefined {
  return row && { ...row };
}

/** What a person switched while the provider ran, kept over restarts: that it bids no more, and why. */
export interface OperatorSwitch {
  /** "pause": what is switched on. */
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

interface Row {
  name: string;
  reason: string;
  since: number;
  from_at: number | null;
}

export type Switches = ReturnType<typeof createSwitches>;

export function createSwitches(sql: Sql, clock: Clock) {
  const get = sql.one<Row>("SELECT * FROM switches WHERE name = ?");
  const put = sql.run(
    `INSERT INTO switches (name, reason, since, from_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET reason = excluded.reason, since = excluded.since, from_at = excluded.from_at`,
  );
  const remove = sql.run("DELETE FROM switches WHERE name = ?");
  return {
    get(name: string): OperatorSwitch | undefined {
      const row = get(name);
      if (!row) return undefined;
      const { reason, since: sinceMs, from_at: fromMs } = row;
      return { name: row.name, reason, sinceMs, ...(fromMs !== null && { fromMs }) };
    },
    put({ name, reason, fromMs }: Omit<OperatorSwitch, "sinceMs">): OperatorSwitch {
      const sinceMs = clock.now();
      put(name, reason, sinceMs, fromMs ?? null);
      return { name, reason, sinceMs, ...(fromMs !== undefined && { fromMs }) };
    },
    /** False when it was not on. */
    remove: (name: string) => remove(name).changes === 1,
  };
}
