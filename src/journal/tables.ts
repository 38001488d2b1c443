/** All tables together: what a unit of work may write, and what anyone may read. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";
import { type Cursor, type CursorReads, createCursor } from "./cursor.ts";
import { createDeadlines, type DeadlineReads, type Deadlines } from "./deadlines.ts";
import { createDecisions, type DecisionReads, type Decisions } from "./decisions.ts";
import { createHistory, type History, type HistoryReads } from "./history.ts";
import {
  createIntents,
  createTransactions,
  type IntentReads,
  type Intents,
  type TransactionReads,
  type Transactions,
} from "./intents.ts";
import { createLedger, type Ledger, type LedgerReads } from "./ledger.ts";
import { createManifests, type ManifestReads, type Manifests } from "./manifests.ts";
import { createReservations, type ReservationReads, type Reservations } from "./reservations.ts";

export interface Tables {
  readonly cursor: Cursor;
  readonly intents: Intents;
  readonly transactions: Transactions;
  readonly decisions: Decisions;
  readonly manifests: Manifests;
  readonly deadlines: Deadlines;
  readonly reservations: Reservations;
  readonly ledger: Ledger;
  readonly history: History;
}

/** The same without the writes: those belong into a unit, where they are durable together or not there at all. */
export interface TableReads {
  readonly cursor: CursorReads;
  readonly intents: IntentReads;
  readonly transactions: TransactionReads;
  readonly decisions: DecisionReads;
  readonly manifests: ManifestReads;
  readonly deadlines: DeadlineReads;
  readonly reservations: ReservationReads;
  readonly ledger: LedgerReads;
  readonly history: HistoryReads;
}

export type TableName = keyof Tables;

export function createTables(sql: Sql, clock: Clock): Tables {
  return {
    cursor: createCursor(sql),
    intents: createIntents(sql, clock),
    transactions: createTransactions(sql),
    decisions: createDecisions(sql, clock),
    manifests: createManifests(sql, clock),
    deadlines: createDeadlines(sql),
    reservations: createReservations(sql, clock),
    ledger: createLedger(sql, clock),
    history: createHistory(sql, clock),
  };
}
