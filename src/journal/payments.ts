/** What each lease of ours has earned and brought in so far: what the ledger's next line is reckoned from. */
import type { Sql } from "./connection.ts";

export interface PaymentRow {
  readonly leaseId: string;
  readonly denom: string;
  /** Per block, as the chain writes decimals. */
  readonly rate: string;
  /** Since the lease began; what is accrued and not withdrawn is still in escrow. */
  readonly accrued: bigint;
  readonly withdrawn: bigint;
  /** Of which the figures are true, and the time of that block. */
  readonly height: bigint;
  readonly atMs: number;
  /** When we first saw it. */
  readonly sinceMs: number;
  /** The first height at which its escrow no longer pays all that draws on it; undefined once it has ended. */
  readonly spentAt: bigint | undefined;
  /** When something last came in. */
  readonly withdrawnAtMs: number | undefined;
  readonly ended: PaymentEnd | undefined;
}

export interface PaymentEnd {
  /** State of the payment at the lease's end. More may come in while it is open or overdrawn. */
  readonly how: "closed" | "overdrawn" | "open";
  readonly atMs: number;
}

interface Row {
  lease_id: string;
  denom: string;
  rate: string;
  accrued: string;
  withdrawn: string;
  height: bigint;
  at: bigint;
  since: bigint;
  spent_at: bigint | null;
  withdrawn_at: bigint | null;
  ended: PaymentEnd["how"] | null;
  ended_at: bigint | null;
}

export type Payments = ReturnType<typeof createPayments>;

export function createPayments(sql: Sql) {
  const bigints = { bigints: true };
  const get = sql.one<Row>("SELECT * FROM payments WHERE lease_id = ?", bigints);
  // Every lease on it is named by the order and a slash with more behind it; "0" comes after the slash.
  const ofOrder = sql.one<{ leaseId: string }>(
    "SELECT lease_id AS leaseId FROM payments WHERE lease_id > ? || '/' AND lease_id < ? || '0'",
  );
  const all = sql.all<Row>("SELECT * FROM payments ORDER BY id", bigints);
  const running = sql.all<Row>("SELECT * FROM payments WHERE ended_at IS NULL ORDER BY id", bigints);
  const mayGrow = "SELECT * FROM payments WHERE ended IN ('overdrawn', 'open')";
  // The plus keeps SQLite from the index of heights, by which it would sort all of them.
  const newest = sql.all<Row>(`${mayGrow} AND +height < ? ORDER BY id DESC LIMIT ?`, bigints);
  const oldest = sql.all<Row>(`${mayGrow} AND height < ? ORDER BY height LIMIT ?`, bigints);
  const count = sql.one<{ count: number }>("SELECT count(*) AS count FROM payments WHERE ended_at IS NULL");
  const put = sql.run(
    `INSERT INTO payments
       (lease_id, denom, rate, accrued, withdrawn, height, at, since, spent_at, withdrawn_at, ended, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (lease_id) DO UPDATE SET
       denom = excluded.denom, rate = excluded.rate, accrued = excluded.accrued, withdrawn = excluded.withdrawn,
       height = excluded.height, at = excluded.at, spent_at = excluded.spent_at, withdrawn_at = excluded.withdrawn_at,
       ended = excluded.ended, ended_at = excluded.ended_at`,
  );
  return {
    get(leaseId: string): PaymentRow | undefined {
      const row = get(leaseId);
      return row && fromRow(row);
    },
    /** The lease that came of our bid on an order. */
    leaseOf: (orderId: string) => ofOrder(orderId, orderId)?.leaseId,
    /** In the order in which they were first seen, also those that ended and are still kept. */
    all: () => all().map(fromRow),
    /** Those that have not ended as far as we know. */
    running: () => running().map(fromRow),
    /** Ended payments that may still grow and were last read before a height: the newest and the least recently read ones. */
    mayGrow(before: bigint, ofEach: number): PaymentRow[] {
      const rows = [...newest(before, ofEach), ...oldest(before, ofEach)].map(fromRow);
      return [...new Map(rows.map((row) => [row.leaseId, row])).values()];
    },
    /** How many these are. */
    runningCount: () => count()?.count ?? 0,
    put(row: PaymentRow): void {
      const { leaseId, denom, rate, accrued, withdrawn, height, atMs, sinceMs, spentAt, withdrawnAtMs, ended } = row;
      const money = [denom, rate, `${accrued}`, `${withdrawn}`] as const;
      const times = [height, atMs, sinceMs, spentAt ?? null, withdrawnAtMs ?? null] as const;
      put(leaseId, ...money, ...times, ended?.how ?? null, ended?.atMs ?? null);
    },
  };
}

function fromRow(row: Row): PaymentRow {
  return {
    leaseId: row.lease_id,
    denom: row.denom,
    rate: row.rate,
    accrued: BigInt(row.accrued),
    withdrawn: BigInt(row.withdrawn),
    height: row.height,
    atMs: Number(row.at),
    sinceMs: Number(row.since),
    spentAt: row.spent_at ?? undefined,
    withdrawnAtMs: row.withdrawn_at === null ? undefined : Number(row.withdrawn_at),
    ended: row.ended === null ? undefined : { how: row.ended, atMs: Number(row.ended_at) },
  };
}
