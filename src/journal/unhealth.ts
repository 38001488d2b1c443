/** How long leases that are not well have been seen so, over all our runs: while nobody looks, nothing is added. */
import type { Sql } from "./connection.ts";

export interface UnhealthRow {
  readonly leaseId: string;
  /** Since when it is not well, as far as anybody saw. */
  readonly sinceMs: number;
  /** How much of that time it was looked at, and was not well. */
  readonly observedMs: number;
  /** When that was last added to. */
  readonly atMs: number;
}

export type Unhealth = ReturnType<typeof createUnhealth>;

export function createUnhealth(sql: Sql) {
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
