/** All tables together: what a unit of work may write, and what anyone may read. */
import type { Coin } from "../market/coin.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";
import { createDeadlines, createSwitches } from "./deadlines.ts";
import { createDecisions, createHistory } from "./decisions.ts";
import { createIntents, createTransactions } from "./intents.ts";
import { createLedger } from "./ledger.ts";
import { createManifests } from "./manifests.ts";
import { createOccurrences } from "./occurrences.ts";
import { createOrders } from "./orders.ts";
import { createPayments } from "./payments.ts";
import { createRecords } from "./records.ts";

export type Tables = ReturnType<typeof createTables>;
export type TableName = keyof Tables;

/** The same without the writes: those belong into a unit, where they are durable together or not there at all. */
export type TableReads = { readonly [Name in TableName]: Omit<Tables[Name], Write> };

type Write =
  | ("set" | "file" | "send" | "refile" | "cancel" | "settle" | "markGapped")
  | ("add" | "record" | "put" | "remove")
  | ("restore" | "withdraw" | "noteRejection" | "noteDeployed")
  | ("see" | "noteBid" | "noteOutcome" | "end")
  | "trim";

export function createTables(sql: Sql, clock: Clock) {
  return {
    cursor: createCursor(sql),
    intents: createIntents(sql, clock),
    transactions: createTransactions(sql),
    decisions: createDecisions(sql, clock),
    manifests: createManifests(sql, clock),
    deadlines: createDeadlines(sql),
    reservations: createReservationTable(sql, clock),
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
function createCursor(sql: Sql) {
  const { get, put } = createRecords<{ readonly chainId: string; readonly height: bigint }>(sql, {
    table: "cursor",
    columns: { chainId: "chain_id", height: "height" },
    key: ["chainId"],
    read: { bigint: ["height"] },
  });
  return {
    /** The last height that was processed; undefined on a chain never followed. */
    get: (chainId: string) => get(chainId)?.height,
    set: (chainId: string, height: bigint) => put({ chainId, height }),
  };
}

/** The last good content of files that an operator edits. */
function createFiles(sql: Sql) {
  const { get, put } = createRecords<{ readonly path: string; readonly text: string }>(sql, {
    table: "files",
    columns: { path: "path", text: "text" },
    key: ["path"],
  });
  return {
    get: (path: string) => get(path)?.text,
    put: (path: string, text: string) => put({ path, text }),
  };
}

/** The valid certificates of those who have leases with us, as last read from the chain. */
interface CertificateRow {
  readonly owner: string;
  /** In decimal digits. */
  readonly serial: string;
  readonly der: Uint8Array;
}

function createCertificates(sql: Sql) {
  const { put, remove } = createRecords<CertificateRow>(sql, {
    table: "certificates",
    columns: { owner: "owner", serial: "serial", der: "der" },
    key: ["owner", "serial"],
  });
  const of = sql.all<CertificateRow>("SELECT owner, serial, der FROM certificates WHERE owner = ? ORDER BY serial");
  const owners = sql.all<{ owner: string }>("SELECT DISTINCT owner FROM certificates ORDER BY owner");
  return {
    /** Of one owner; there are never more than are kept of one. */
    of: (owner: string) => of(owner),
    owners: () => owners().map(({ owner }) => owner),
    put,
    remove,
  };
}

/** The keys of those who have leases with us, so that they are known while the chain cannot be read. */
interface TenantRow {
  readonly owner: string;
  /** The compressed secp256k1 key that the account signs with. */
  readonly key: Uint8Array;
}

function createTenants(sql: Sql) {
  return createRecords<TenantRow>(sql, { table: "tenants", columns: { owner: "owner", key: "key" }, key: ["owner"] });
}

/** Deposits of our bids that are out: each stands here until the chain has paid it back. */
interface DepositRow extends Coin {
  readonly bidId: string;
  /** At which it was first seen. */
  readonly height: bigint;
}

function createDeposits(sql: Sql) {
  return createRecords<DepositRow>(sql, {
    table: "deposits",
    columns: { bidId: "bid_id", denom: "denom", amount: "amount", height: "height" },
    key: ["bidId"],
    read: { bigint: ["amount", "height"] },
  });
}

/** Conditions that held at the last check, since when, and whether they were notified. */
export interface ConditionRow {
  readonly type: string;
  /** "" where there is only one of its type. */
  readonly subject: string;
  readonly message: string;
  readonly sinceMs: number;
  readonly notified: boolean;
}

function createConditions(sql: Sql) {
  return createRecords<ConditionRow>(sql, {
    table: "conditions",
    columns: { type: "type", subject: "subject", message: "message", sinceMs: "since", notified: "told" },
    key: ["type", "subject"],
    order: "since, type, subject",
    read: { boolean: ["notified"] },
  });
}

/** How long unhealthy leases were observed so, over all our runs; time without observation does not count. */
export interface UnhealthRow {
  readonly leaseId: string;
  readonly sinceMs: number;
  /** How much of that time it was observed, and was unhealthy. */
  readonly observedMs: number;
  /** When that was last added to. */
  readonly atMs: number;
}

function createUnhealth(sql: Sql) {
  return createRecords<UnhealthRow>(sql, {
    table: "unhealth",
    columns: { leaseId: "lease_id", sinceMs: "since", observedMs: "observed_ms", atMs: "at" },
    key: ["leaseId"],
  });
}

/** Reserved capacity: by a bid at first, by the lease when it is won. Each lives until it is released. */
export interface ReservationRow {
  readonly orderId: string;
  /** What was taken where; plain JSON. */
  readonly body: unknown;
  readonly atMs: number;
}

function createReservationTable(sql: Sql, clock: Clock) {
  const { put, ...records } = createRecords<ReservationRow>(sql, {
    table: "reservations",
    columns: { orderId: "order_id", body: "body", atMs: "at" },
    key: ["orderId"],
    read: { json: ["body"] },
  });
  const ids = sql.all<{ orderId: string }>("SELECT order_id AS orderId FROM reservations ORDER BY order_id");
  return {
    ...records,
    orderIds: () => ids().map(({ orderId }) => orderId),
    put: (reservation: Omit<ReservationRow, "atMs">) => put({ ...reservation, atMs: clock.now() }),
  };
}
