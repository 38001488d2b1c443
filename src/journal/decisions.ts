/** Why we did or did not bid: every check with what it saw, so that the answer can be read back. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

export interface NewDecision {
  readonly orderId: string;
  readonly outcome: string;
  /** Each named check and its verdict; plain JSON. */
  readonly checks: unknown;
  /** What the checks looked at; plain JSON. */
  readonly inputs: unknown;
}

export interface Decision extends NewDecision {
  readonly id: number;
  readonly atMs: number;
}

export interface DecisionReads {
  /** The decisions on one order, the newest first. */
  about(orderId: string, limit: number): Decision[];
  recent(limit: number): Decision[];
}

export interface Decisions extends DecisionReads {
  record(decision: NewDecision): number;
}

interface Row {
  id: number;
  order_id: string;
  outcome: string;
  checks: string;
  inputs: string;
  at: number;
}

export function createDecisions(sql: Sql, clock: Clock): Decisions {
  const about = sql.all<Row>("SELECT * FROM decisions WHERE order_id = ? ORDER BY id DESC LIMIT ?");
  const recent = sql.all<Row>("SELECT * FROM decisions ORDER BY id DESC LIMIT ?");
  const record = sql.run("INSERT INTO decisions (order_id, outcome, checks, inputs, at) VALUES (?, ?, ?, ?, ?)");
  return {
    about: (orderId, limit) => about(orderId, limit).map(fromRow),
    recent: (limit) => recent(limit).map(fromRow),
    record({ orderId, outcome, checks, inputs }) {
      const { lastInsertRowid } = record(orderId, outcome, JSON.stringify(checks), JSON.stringify(inputs), clock.now());
      return Number(lastInsertRowid);
    },
  };
}

function fromRow({ id, order_id, outcome, checks, inputs, at }: Row): Decision {
  return { id, orderId: order_id, outcome, checks: JSON.parse(checks), inputs: JSON.parse(inputs), atMs: at };
}
