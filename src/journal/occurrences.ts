/** What happened to a lease in the cluster, counted; kept for longer than the cluster keeps its Events. */
import type { Sql } from "./connection.ts";

export interface OccurrenceRow {
  readonly leaseId: string;
  /** What makes it the same as one before, within a lease. */
  readonly key: string;
  readonly type: "Normal" | "Warning";
  /** A word for programs: "BackOff". */
  readonly reason: string;
  /** What it is about: "Pod web-5d9c7b-x2kqz". */
  readonly object: string;
  /** For people. */
  readonly note: string;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

export type Occurrences = ReturnType<typeof createOccurrences>;

export function createOccurrences(sql: Sql) {
  const columns =
    "lease_id AS leaseId, key, type, reason, object, note, count, first_at AS firstAtMs, last_at AS lastAtMs";
  const get = sql.one<OccurrenceRow>(`SELECT ${columns} FROM occurrences WHERE lease_id = ? AND key = ?`);
  const about = sql.all<OccurrenceRow>(
    `SELECT ${columns} FROM occurrences WHERE lease_id = ? ORDER BY last_at DESC, id DESC LIMIT ?`,
  );
  const record = sql.run(
    `INSERT INTO occurrences (lease_id, key, type, reason, object, note, count, first_at, last_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (lease_id, key) DO UPDATE SET note = excluded.note, count = excluded.count, last_at = excluded.last_at`,
  );
  return {
    get(leaseId: string, key: string): OccurrenceRow | undefined {
      const row = get(leaseId, key);
      return row && { ...row };
    },
    /** The newest first. */
    about: (leaseId: string, limit: number) => about(leaseId, limit).map((row) => ({ ...row })),
    /** Again with the same key, it is the same with a new count. */
    record: ({ leaseId, key, type, reason, object, note, count, firstAtMs, lastAtMs }: OccurrenceRow) =>
      void record(leaseId, key, type, reason, object, note, count, firstAtMs, lastAtMs),
  };
}
