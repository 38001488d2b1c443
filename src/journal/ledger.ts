/** The operator's bookkeeping: what came in and what was paid, as seen on chain. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

interface NewLedgerEntry {
  /** "withdrawal", "fee" … */
  readonly kind: string;
  readonly leaseId: string;
  /** In the denomination's smallest unit; negative is money spent. */
  readonly amount: bigint;
  readonly denom: string;
  readonly height: bigint;
}

export interface LedgerEntry extends NewLedgerEntry {
  readonly id: number;
  readonly atMs: number;
}

type Row = Omit<LedgerEntry, "id" | "amount" | "atMs"> & { readonly id: bigint; amount: string; atMs: bigint };

export type Ledger = ReturnType<typeof createLedger>;

export function createLedger(sql: Sql, clock: Clock) {
  const rows = "SELECT id, kind, lease_id AS leaseId, amount, denom, height, at AS atMs FROM ledger";
  const bigints = { bigints: true };
  const ofLease = sql.all<Row>(`${rows} WHERE lease_id = ? ORDER BY id DESC LIMIT ?`, bigints);
  const after = sql.all<Row>(`${rows} WHERE id > ? ORDER BY id LIMIT ?`, bigints);
  const add = sql.run("INSERT INTO ledger (kind, lease_id, amount, denom, height, at) VALUES (?, ?, ?, ?, ?, ?)");
  return {
    /** The entries of one lease, the newest first. */
    ofLease: (leaseId: string, limit: number) => ofLease(leaseId, limit).map(fromRow),
    /** Entries in the order they were made, from after `id`: the next page. */
    after: (id: number, limit: number) => after(id, limit).map(fromRow),
    // Text, since an amount may exceed SQLite's 64 bits.
    add: ({ kind, leaseId, amount, denom, height }: NewLedgerEntry) =>
      Number(add(kind, leaseId, amount.toString(), denom, height, clock.now()).lastInsertRowid),
  };
}

function fromRow(row: Row): LedgerEntry {
  return { ...row, id: Number(row.id), amount: BigInt(row.amount), atMs: Number(row.atMs) };
}
