/** All tables together: what a unit of work may write, and what anyone may read. */
import type { Clock } from "../runtime/clock.ts";
import { type Certificates, createCertificates } from "./certificates.ts";
import { type Conditions, createConditions } from "./conditions.ts";
import type { Sql } from "./connection.ts";
import { createDeadlines, type Deadlines } from "./deadlines.ts";
import { createDecisions, type Decisions } from "./decisions.ts";
import { createDeposits, type Deposits } from "./deposits.ts";
import { createHistory, type History } from "./history.ts";
import { createIntents, createTransactions, type Intents, type Transactions } from "./intents.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { createManifests, type Manifests } from "./manifests.ts";
import { createOccurrences, type Occurrences } from "./occurrences.ts";
import { createOrders, type Orders } from "./orders.ts";
import { createPayments, type Payments } from "./payments.ts";
import { createReservations, type Reservations } from "./reservations.ts";
import { createSwitches, type Switches } from "./switches.ts";
import { createTenants, type Tenants } from "./tenants.ts";
import { createUnhealth, type Unhealth } from "./unhealth.ts";

export interface Tables {
  readonly cursor: Cursor;
  readonly intents: Intents;
  readonly transactions: Transactions;
  readonly decisions: Decisions;
  readonly manifests: Manifests;
  readonly deadlines: Deadlines;
  readonly reservations: Reservations;
  readonly ledger: Ledger;
  readonly payments: Payments;
  readonly deposits: Deposits;
  readonly history: History;
  readonly orders: Orders;
  readonly switches: Switches;
  readonly unhealth: Unhealth;
  readonly occurrences: Occurrences;
  readonly tenants: Tenants;
  readonly certificates: Certificates;
  readonly conditions: Conditions;
  readonly files: Files;
}

export type TableName = keyof Tables;

/** The same without the writes: those belong into a unit, where they are durable together or not there at all. */
export type TableReads = { readonly [Name in TableName]: Omit<Tables[Name], Write> };

type Write =
  | ("set" | "file" | "send" | "refile" | "cancel" | "settle" | "markGapped")
  | ("add" | "record" | "put" | "remove")
  | ("restore" | "withdraw" | "noteRefusal" | "noteDeployed")
  | ("see" | "noteBid" | "noteOutcome" | "end")
  | "trim";

export function createTables(sql: Sql, clock: Clock): Tables {
  return {
    cursor: createCursor(sql),
    intents: createIntents(sql, clock),
    transactions: createTransactions(sql),
    decisions: createDecisions(sql, clock),
    manifests: createManifests(sql, clock),
    deadlines: createDeadlines(sql),
    reservations: createReservations(sql, clock),
    ledger: createLedger(sql),
    payments: createPayments(sql),
    deposits: createDeposits(sql),
    history: createHistory(sql, clock),
    orders: createOrders(sql, clock),
    switches: createSwitches(sql, clock),
    unhealth: createUnhealth(sql),
    occurrences: createOccurrences(sql),
    tenants: createTenants(sql),
    certificates: createCertificates(sql),
    conditions: createConditions(sql),
    files: createFiles(sql),
  };
}

/** How far we have followed each chain. */
type Cursor = ReturnType<typeof createCursor>;

function createCursor(sql: Sql) {
  const get = sql.one<{ height: bigint }>("SELECT height FROM cursor WHERE chain_id = ?", { bigints: true });
  const set = sql.run(
    "INSERT INTO cursor (chain_id, height) VALUES (?, ?) ON CONFLICT (chain_id) DO UPDATE SET height = excluded.height",
  );
  return {
    /** The last height that was worked through, or undefined on a chain never followed. */
    get: (chainId: string) => get(chainId)?.height,
    set: (chainId: string, height: bigint) => void set(chainId, height),
  };
}

/** The last good content of files that an operator edits. */
type Files = ReturnType<typeof createFiles>;

function createFiles(sql: Sql) {
  const get = sql.one<{ text: string }>("SELECT text FROM files WHERE path = ?");
  const put = sql.run("INSERT OR REPLACE INTO files (path, text) VALUES (?, ?)");
  return {
    get: (path: string) => get(path)?.text,
    put: (path: string, text: string) => void put(path, text),
  };
}
