/** All tables together: what a unit of work may write, and what anyone may read. */
import type { Coin } from "../market/coin.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";
import { createDeadlines, createSwitches, type Deadlines, type Switches } from "./deadlines.ts";
import { createDecisions, createHistory, type Decisions, type History } from "./decisions.ts";
import { createIntents, createTransactions, type Intents, type Transactions } from "./intents.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { createManifests, type ManifestRows } from "./manifests.ts";
import { createOccurrences, type Occurrences } from "./occurrences.ts";
import { createOrders, type Orders } from "./orders.ts";
import { createPayments, type Payments } from "./payments.ts";

export interface Tables {
  readonly cursor: Cursor;
  readonly intents: Intents;
  readonly transactions: Transactions;
  readonly decisions: Decisions;
  readonly manifests: ManifestRows;
  readonly deadlines: Deadlines;
  readonly reservations: ReservationTable;
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

/** The valid certificates of those who have leases with us, as the chain had them when it was asked last. */
interface CertificateRow {
  readonly owner: string;
  /** In decimal digits. */
  readonly serial: string;
  readonly der: Uint8Array;
}

type Certificates = ReturnType<typeof createCertificates>;

function createCertificates(sql: Sql) {
  const of = sql.all<CertificateRow>("SELECT owner, serial, der FROM certificates WHERE owner = ? ORDER BY serial");
  const owners = sql.all<{ owner: string }>("SELECT DISTINCT owner FROM certificates ORDER BY owner");
  const put = sql.run("INSERT OR REPLACE INTO certificates (owner, serial, der) VALUES (?, ?, ?)");
  const remove = sql.run("DELETE FROM certificates WHERE owner = ? AND serial = ?");
  return {
    /** Of one owner; there are never more than are kept of one. */
    of: (owner: string) => of(owner).map((row) => ({ ...row })),
    owners: () => owners().map(({ owner }) => owner),
    put: ({ owner, serial, der }: CertificateRow) => void put(owner, serial, der),
    remove: (owner: string, serial: string) => void remove(owner, serial),
  };
}

/** The keys of those who have leases with us, so that they are known also while the chain cannot be asked. */
interface TenantRow {
  readonly owner: string;
  /** The compressed secp256k1 key that the account signs with. */
  readonly key: Uint8Array;
}

type Tenants = ReturnType<typeof createTenants>;

function createTenants(sql: Sql) {
  const get = sql.one<TenantRow>("SELECT owner, key FROM tenants WHERE owner = ?");
  const all = sql.all<TenantRow>("SELECT owner, key FROM tenants ORDER BY owner");
  const put = sql.run("INSERT OR REPLACE INTO tenants (owner, key) VALUES (?, ?)");
  const remove = sql.run("DELETE FROM tenants WHERE owner = ?");
  return {
    get(owner: string): TenantRow | undefined {
      const row = get(owner);
      return row && { ...row };
    },
    /** There are never more than leases. */
    all: () => all().map((row) => ({ ...row })),
    put: ({ owner, key }: TenantRow) => void put(owner, key),
    remove: (owner: string) => void remove(owner),
  };
}

/** Deposits of our bids that are out: each stands here until the chain has paid it back. */
interface DepositRow extends Coin {
  readonly bidId: string;
  /** At which it was first seen. */
  readonly height: bigint;
}

type DepositRecord = Omit<DepositRow, "amount"> & { readonly amount: string };

type Deposits = ReturnType<typeof createDeposits>;

function createDeposits(sql: Sql) {
  const columns = "bid_id AS bidId, denom, amount, height";
  const get = sql.one<DepositRecord>(`SELECT ${columns} FROM deposits WHERE bid_id = ?`, { bigints: true });
  const all = sql.all<DepositRecord>(`SELECT ${columns} FROM deposits ORDER BY bid_id`, { bigints: true });
  const put = sql.run("INSERT OR REPLACE INTO deposits (bid_id, denom, amount, height) VALUES (?, ?, ?, ?)");
  const remove = sql.run("DELETE FROM deposits WHERE bid_id = ?");
  const fromRow = (row: DepositRecord): DepositRow => ({ ...row, amount: BigInt(row.amount) });
  return {
    get(bidId: string): DepositRow | undefined {
      const row = get(bidId);
      return row && fromRow(row);
    },
    /** There are never more than our bids and leases. */
    all: () => all().map(fromRow),
    put: ({ bidId, denom, amount, height }: DepositRow) => void put(bidId, denom, `${amount}`, height),
    remove: (bidId: string) => void remove(bidId),
  };
}

/** Which conditions held when we last looked, since when, and whether whoever is notified was told. */
export interface ConditionRow {
  readonly type: string;
  /** "" where there is only one of its type. */
  readonly subject: string;
  readonly message: string;
  readonly sinceMs: number;
  readonly told: boolean;
}

type ConditionRecord = Omit<ConditionRow, "told"> & { readonly told: number };

export type Conditions = ReturnType<typeof createConditions>;

function createConditions(sql: Sql) {
  const all = sql.all<ConditionRecord>(
    "SELECT type, subject, message, since AS sinceMs, told FROM conditions ORDER BY since, type, subject",
  );
  const put = sql.run("INSERT OR REPLACE INTO conditions (type, subject, message, since, told) VALUES (?, ?, ?, ?, ?)");
  const remove = sql.run("DELETE FROM conditions WHERE type = ? AND subject = ?");
  return {
    /** There are never more than are held at once. */
    all: (): ConditionRow[] => all().map((row) => ({ ...row, told: row.told === 1 })),
    put: ({ type, subject, message, sinceMs, told }: ConditionRow) =>
      void put(type, subject, message, Math.floor(sinceMs), told ? 1 : 0),
    remove: (type: string, subject: string) => void remove(type, subject),
  };
}

/** How long leases that are not well have been seen so, over all our runs: while nobody looks, nothing is added. */
export interface UnhealthRow {
  readonly leaseId: string;
  /** Since when it is not well, as far as anybody saw. */
  readonly sinceMs: number;
  /** How much of that time it was looked at, and was not well. */
  readonly observedMs: number;
  /** When that was last added to. */
  readonly atMs: number;
}

type Unhealth = ReturnType<typeof createUnhealth>;

function createUnhealth(sql: Sql) {
  const columns = "lease_id AS leaseId, since AS sinceMs, observed_ms AS observedMs, at AS atMs";
  const get = sql.one<UnhealthRow>(`SELECT ${columns} FROM unhealth WHERE lease_id = ?`);
  const all = sql.all<UnhealthRow>(`SELECT ${columns} FROM unhealth ORDER BY lease_id`);
  const put = sql.run("INSERT OR REPLACE INTO unhealth (lease_id, since, observed_ms, at) VALUES (?, ?, ?, ?)");
  const remove = sql.run("DELETE FROM unhealth WHERE lease_id = ?");
  return {
    get(leaseId: string): UnhealthRow | undefined {
      const row = get(leaseId);
      return row && { ...row };
    },
    /** There are never more than leases. */
    all: () => all().map((row) => ({ ...row })),
    /** Of a real clock's time there are parts of a millisecond. */
    put: ({ leaseId, sinceMs, observedMs, atMs }: UnhealthRow) =>
      void put(leaseId, sinceMs, Math.floor(observedMs), atMs),
    remove: (leaseId: string) => void remove(leaseId),
  };
}

/** Capacity that is spoken for: by a bid at first, by the lease when it is won. Each lives until it is released. */
export interface ReservationRow {
  readonly orderId: string;
  /** What was taken where; plain JSON. */
  readonly body: unknown;
  readonly atMs: number;
}

type ReservationRecord = ReservationRow & { readonly body: string };

export type ReservationTable = ReturnType<typeof createReservationTable>;

export function createReservationTable(sql: Sql, clock: Clock) {
  const columns = "order_id AS orderId, body, at AS atMs";
  const get = sql.one<ReservationRecord>(`SELECT ${columns} FROM reservations WHERE order_id = ?`);
  const all = sql.all<ReservationRecord>(`SELECT ${columns} FROM reservations ORDER BY order_id`);
  const ids = sql.all<{ orderId: string }>("SELECT order_id AS orderId FROM reservations ORDER BY order_id");
  const put = sql.run(
    `INSERT INTO reservations (order_id, body, at) VALUES (?, ?, ?)
     ON CONFLICT (order_id) DO UPDATE SET body = excluded.body, at = excluded.at`,
  );
  const remove = sql.run("DELETE FROM reservations WHERE order_id = ?");
  const fromRow = (row: ReservationRecord): ReservationRow => ({ ...row, body: JSON.parse(row.body) });
  return {
    get(orderId: string): ReservationRow | undefined {
      const row = get(orderId);
      return row && fromRow(row);
    },
    /** All of them: there are never more than the cluster has room for. */
    all: () => all().map(fromRow),
    orderIds: () => ids().map(({ orderId }) => orderId),
    put: ({ orderId, body }: Omit<ReservationRow, "atMs">) => void put(orderId, JSON.stringify(body), clock.now()),
    remove: (orderId: string) => void remove(orderId),
  };
}
