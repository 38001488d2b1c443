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
