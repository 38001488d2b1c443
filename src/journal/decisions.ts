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

type Row = Omit<DecisionRow, "checks" | "inputs"> & { readonly checks: string; readonly inputs: string };

export type Decisions = ReturnType<typeof createDecisions>;

export function createDecisions(sql: Sql, clock: Clock) {
  const columns = "id, order_id AS orderId, outcome, checks, inputs, at AS atMs";
  const about = sql.all<Row>(`SELECT ${columns} FROM decisions WHERE order_id = ? ORDER BY id DESC LIMIT ?`);
  const recent = sql.all<Row>(`SELECT ${columns} FROM decisions ORDER BY id DESC LIMIT ?`);
  const record = sql.run("INSERT INTO decisions (order_id, outcome, checks, inputs, at) VALUES (?, ?, ?, ?, ?)");
  return {
    /** The decisions on one order, the newest first. */
    about: (orderId: string, limit: number) => about(orderId, limit).map(fromRow),
    recent: (limit: number) => recent(limit).map(fromRow),
    record({ orderId, outcome, checks, inputs }: NewDecision): number {
      const { lastInsertRowid } = record(orderId, outcome, JSON.stringify(checks), JSON.stringify(inputs), clock.now());
      return Number(lastInsertRowid);
    },
  };
}

function fromRow(row: Row): DecisionRow {
  return { ...row, checks: JSON.parse(row.checks), inputs: JSON.parse(row.inputs) };
}

/** Of one lease: five updates a day for that time. The oldest go, so a tenant who sends thousands crowds out nobody. */
export const historyOfSubject = 1_000;

export interface HistoryLine {
  readonly id: number;
  /** "journal", "lease" …: what part of the program speaks. */
  readonly kind: string;
  readonly subject: string;
  readonly line: string;
  readonly atMs: number;
}

export type History = ReturnType<typeof createHistory>;

/** What an operator wants to read back: one line per thing that happened. */
export function createHistory(sql: Sql, clock: Clock) {
  const columns = "id, kind, subject, line, at AS atMs";
  const recent = sql.all<HistoryLine>(`SELECT ${columns} FROM history ORDER BY id DESC LIMIT ?`);
  const about = sql.all<HistoryLine>(`SELECT ${columns} FROM history WHERE subject = ? ORDER BY id DESC LIMIT ?`);
  const since = sql.all<HistoryLine>(`SELECT ${columns} FROM history WHERE id > ? ORDER BY id LIMIT ?`);
  // The sign after the slash is the nought: all that begins with these words and a slash.
  const under = sql.one<{ subject: string }>(
    "SELECT subject FROM history WHERE subject >= ? || '/' AND subject < ? || '0' ORDER BY subject, id DESC LIMIT 1",
  );
  const add = sql.run("INSERT INTO history (kind, subject, line, at) VALUES (?, ?, ?, ?)");
  const trim = sql.run(
    "DELETE FROM history WHERE id IN (SELECT id FROM history WHERE subject = ? ORDER BY id DESC LIMIT -1 OFFSET ?)",
  );
  return {
    /** The newest first. */
    recent: (limit: number) => recent(limit).map((row) => ({ ...row })),
    about: (subject: string, limit: number) => about(subject, limit).map((row) => ({ ...row })),
    /** What came after a line, the oldest first. */
    since: (id: number, limit: number) => since(id, limit).map((row) => ({ ...row })),
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
