/** The operator's bookkeeping: what came in and what was paid, as seen on chain. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

export interface NewLedgerEntry {
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

export interface LedgerReads {
  /** The entries of one lease, the newest first. */
  ofLease(leaseId: string, limit: number): LedgerEntry[];
  /** Entries in the order they were made, from after `id`: the next page. */
  after(id: number, limit: number): LedgerEntry[];
}

export interface Ledger extends LedgerReads {
  add(entry: NewLedgerEntry): number;
}

interface Row {
  id: bigint;
  kind: string;
  lease_id: string;
  amount: string;
  denom: string;
  height: bigint;
  at: bigint;
}

export function createLedger(sql: Sql, clock: Clock): Ledger {
  const bigints = { bigints: true };
  const ofLease = sql.all<Row>("SELECT * FROM ledger WHERE lease_id = ? ORDER BY id DESC LIMIT ?", bigints);
  const after = sql.all<Row>("SELECT * FROM ledger WHERE id > ? ORDER BY id LIMIT ?", bigints);
  const add = sql.run("INSERT INTO ledger (kind, lease_id, amount, denom, height, at) VALUES (?, ?, ?, ?, ?, ?)");
  return {
    ofLease: (leaseId, limit) => ofLease(leaseId, limit).map(fromRow),
    after: (id, limit) => after(id, limit).map(fromRow),
    add({ kind, leaseId, amount, denom, height }) {
      // Text, since an amount may exceed SQLite's 64 bits.
      return Number(add(kind, leaseId, amount.toString(), denom, height, clock.now()).lastInsertRowid);
    },
  };
}

function fromRow({ id, kind, lease_id, amount, denom, height, at }: Row): LedgerEntry {
  return { id: Number(id), kind, leaseId: lease_id, amount: BigInt(amount), denom, height, atMs: Number(at) };
}
