/** Times by which something must have happened, kept over restarts. Each lives until it is met or removed. */
import type { Sql } from "./connection.ts";

export interface Deadline {
  /** "manifest": what is waited for. */
  readonly kind: string;
  readonly subject: string;
  readonly dueAtMs: number;
}

export interface DeadlineReads {
  get(kind: string, subject: string): Deadline | undefined;
  /** Those that have passed, the most overdue first. */
  due(nowMs: number, limit: number): Deadline[];
  /** The one that comes first, passed or not. */
  next(): Deadline | undefined;
}

export interface Deadlines extends DeadlineReads {
  put(deadline: Deadline): void;
  remove(kind: string, subject: string): void;
}

interface Row {
  kind: string;
  subject: string;
  due_at: number;
}

export function createDeadlines(sql: Sql): Deadlines {
  const get = sql.one<Row>("SELECT * FROM deadlines WHERE kind = ? AND subject = ?");
  const due = sql.all<Row>("SELECT * FROM deadlines WHERE due_at <= ? ORDER BY due_at, kind, subject LIMIT ?");
  const next = sql.one<Row>("SELECT * FROM deadlines ORDER BY due_at, kind, subject LIMIT 1");
  const put = sql.run(
    `INSERT INTO deadlines (kind, subject, due_at) VALUES (?, ?, ?)
     ON CONFLICT (kind, subject) DO UPDATE SET due_at = excluded.due_at`,
  );
  const remove = sql.run("DELETE FROM deadlines WHERE kind = ? AND subject = ?");
  return {
    get: (kind, subject) => fromRow(get(kind, subject)),
    due: (nowMs, limit) => due(nowMs, limit).flatMap((row) => fromRow(row) ?? []),
    next: () => fromRow(next()),
    put({ kind, subject, dueAtMs }) {
      put(kind, subject, dueAtMs);
    },
    remove(kind, subject) {
      remove(kind, subject);
    },
  };
}

function fromRow(row: Row | undefined): Deadline | undefined {
  return row && { kind: row.kind, subject: row.subject, dueAtMs: row.due_at };
}
