/** Why we did or did not bid: every check with what it saw, so that the answer can be read back. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

interface NewDecision {
  readonly orderId: string;
  readonly outcome: string;
  /** Each named check and its verdict; plain JSON. */
  readonly checks: unknown;
  /** What the checks looked at; plain JSON. */
  readonly inputs: unknown;
}

export interface DecisionRow extends NewDecision {
  readonly id: number;
  readonly atMs: number;
}

export function createDecisions(sql: Sql, clock: Clock) {
  const columns = "id, order_id AS orderId, outcome, checks, inputs, at AS atMs";
  const read = { json: ["checks", "inputs"] } as const;
  const about = sql.all<DecisionRow>(
    `SELECT ${columns} FROM decisions WHERE order_id = ? ORDER BY id DESC LIMIT ?`,
    read,
  );
  const recent = sql.all<DecisionRow>(`SELECT ${columns} FROM decisions ORDER BY id DESC LIMIT ?`, read);
  const record = sql.run("INSERT INTO decisions (order_id, outcome, checks, inputs, at) VALUES (?, ?, ?, ?, ?)");
  return {
    /** The decisions on one order, the newest first. */
    about: (orderId: string, limit: number) => about(orderId, limit),
    recent: (limit: number) => recent(limit),
    record({ orderId, outcome, checks, inputs }: NewDecision): number {
      const { lastInsertRowid } = record(orderId, outcome, JSON.stringify(checks), JSON.stringify(inputs), clock.now());
      return Number(lastInsertRowid);
    },
  };
}

/** Of one lease: five updates a day for that time. The oldest go, so no tenant crowds out others. */
export const historyOfSubject = 1_000;

export interface HistoryLine {
  readonly id: number;
  /** The part of the program that wrote it: "journal", "lease" … */
  readonly kind: string;
  readonly subject: string;
  readonly line: string;
  readonly atMs: number;
}

/** What an operator wants to read back: one line per thing that happened. */
export function createHistory(sql: Sql, clock: Clock) {
  const columns = "id, kind, subject, line, at AS atMs";
  const recent = sql.all<HistoryLine>(`SELECT ${columns} FROM history ORDER BY id DESC LIMIT ?`);
  const about = sql.all<HistoryLine>(`SELECT ${columns} FROM history WHERE subject = ? ORDER BY id DESC LIMIT ?`);
  const since = sql.all<HistoryLine>(`SELECT ${columns} FROM history WHERE id > ? ORDER BY id LIMIT ?`);
  // "0" follows "/" in ASCII: all that begins with the prefix and a slash.
  const under = sql.one<{ subject: string }>(
    "SELECT subject FROM history WHERE subject >= ? || '/' AND subject < ? || '0' ORDER BY subject, id DESC LIMIT 1",
  );
  const add = sql.run("INSERT INTO history (kind, subject, line, at) VALUES (?, ?, ?, ?)");
  const trim = sql.run(
    "DELETE FROM history WHERE id IN (SELECT id FROM history WHERE subject = ? ORDER BY id DESC LIMIT -1 OFFSET ?)",
  );
  return {
    /** The newest first. */
    recent: (limit: number) => recent(limit),
    about: (subject: string, limit: number) => about(subject, limit),
    /** What came after a line, the oldest first. */
    since: (id: number, limit: number) => since(id, limit),
    /** A subject that begins so: the lease of an order. */
    subjectUnder: (prefix: string) => under(prefix, prefix)?.subject,
    /** Leaves the newest of its subject. */
    add({ kind, subject, line }: Omit<HistoryLine, "id" | "atMs">): number {
      const id = Number(add(kind, subject, line, clock.now()).lastInsertRowid);
      trim(subject, historyOfSubject);
      return id;
    },
  };
}
