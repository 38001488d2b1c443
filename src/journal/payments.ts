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

type Row = Omit<PaymentRow, "ended"> & { readonly how?: PaymentEnd["how"]; readonly endedAtMs?: number };

const columns = `lease_id AS leaseId, denom, rate, accrued, withdrawn, height, at AS atMs, since AS sinceMs,
  spent_at AS spentAt, withdrawn_at AS withdrawnAtMs, ended AS how, ended_at AS endedAtMs`;

export function createPayments(sql: Sql) {
  const select = (rest: string) =>
    sql.all<Row>(`SELECT ${columns} FROM payments ${rest}`, { bigint: ["accrued", "withdrawn", "height", "spentAt"] });
  const get = select("WHERE lease_id = ?");
  // Every lease on it is named by the order and a slash with more behind it; "0" comes after the slash.
  const ofOrder = sql.one<{ leaseId: string }>(
    "SELECT lease_id AS leaseId FROM payments WHERE lease_id > ? || '/' AND lease_id < ? || '0'",
  );
  const all = select("ORDER BY id");
  const running = select("WHERE ended_at IS NULL ORDER BY id");
  const mayGrow = "WHERE ended IN ('overdrawn', 'open')";
  // The plus keeps SQLite from the index of heights, by which it would sort all of them.
  const newest = select(`${mayGrow} AND +height < ? ORDER BY id DESC LIMIT ?`);
  const oldest = select(`${mayGrow} AND height < ? ORDER BY height LIMIT ?`);
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
    get: (leaseId: string) => get(leaseId).map(fromRow)[0],
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

function fromRow({ spentAt, withdrawnAtMs, how, endedAtMs = 0, ...row }: Row): PaymentRow {
  return { ...row, spentAt, withdrawnAtMs, ended: how && { how, atMs: endedAtMs } };
}
