/** What happened to a lease in the cluster, counted; kept for longer than the cluster keeps its Events. */
import type { Sql } from "./connection.ts";

export interface OccurrenceRow {
  readonly leaseId: string;
  /** What makes it the same as one before, within a lease. */
  readonly key: string;
  /** From an Event of the cluster, or ours. */
  readonly origin: "cluster" | "ours";
  readonly type: "Normal" | "Warning";
  /** A word for programs: "BackOff". */
  readonly reason: string;
  /** What it is about: "Pod web-5d9c7b-x2kqz". */
  readonly object: string;
  /** For people. */
  readonly note: string;
  /** As in a Kubernetes Event: "kubelet", and the name of its node. */
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** By what its writer knows what has been counted: of ours, whether it is still so. */
  readonly counted: string;
}

/** Of one of ours that is not over. */
export const stillSo = "still so";

export function createOccurrences(sql: Sql) {
  const columns = `lease_id AS leaseId, key, origin, type, reason, object, note, count, first_at AS firstAtMs,
    last_at AS lastAtMs, counted, reporting_controller AS reportingController, reporting_instance AS reportingInstance`;
  const get = sql.one<OccurrenceRow>(`SELECT ${columns} FROM occurrences WHERE lease_id = ? AND key = ?`);
  const about = sql.all<OccurrenceRow>(
    `SELECT ${columns} FROM occurrences WHERE lease_id = ? ORDER BY last_at DESC, id DESC LIMIT ?`,
  );
  const open = sql.all<OccurrenceRow>(
    `SELECT ${columns} FROM occurrences WHERE lease_id = ? AND origin = 'ours' AND counted = '${stillSo}'`,
  );
  const record = sql.run(
    `INSERT INTO occurrences (lease_id, key, origin, type, reason, object, note, count, first_at, last_at, counted,
       reporting_controller, reporting_instance)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (lease_id, key) DO UPDATE SET object = excluded.object, note = excluded.note, count = excluded.count,
       first_at = excluded.first_at, last_at = excluded.last_at, counted = excluded.counted,
       reporting_controller = excluded.reporting_controller, reporting_instance = excluded.reporting_instance`,
  );
  const trim = sql.run(
    `DELETE FROM occurrences WHERE id IN (SELECT id FROM occurrences WHERE lease_id = ? AND origin = ? AND counted != '${stillSo}'
     ORDER BY last_at DESC, id DESC LIMIT -1 OFFSET ?)`,
  );
  return {
    get: (leaseId: string, key: string) => get(leaseId, key),
    /** The newest first. */
    about: (leaseId: string, limit: number) => about(leaseId, limit),
    /** Those of ours that are not over. */
    open: (leaseId: string) => open(leaseId),
    /** Again with the same key, it is the same with a new count. */
    record(row: OccurrenceRow): void {
      const { leaseId, key, origin, type, reason, object, note, count, firstAtMs, lastAtMs, counted } = row;
      const { reportingController, reportingInstance } = row;
      const times = [count, firstAtMs, lastAtMs, counted] as const;
      record(leaseId, key, origin, type, reason, object, note, ...times, reportingController, reportingInstance);
    },
    /** Leaves the newest of a lease, and what is not over: removed, it would begin anew with the next check. */
    trim: (leaseId: string, origin: OccurrenceRow["origin"], keep: number) => void trim(leaseId, origin, keep),
  };
}
