/** What a person switched while the provider ran, kept over restarts: that it bids no more, and why. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

export interface Switch {
  /** "pause": what is switched on. */
  readonly name: string;
  readonly reason: string;
  readonly sinceMs: number;
  /** When it begins to count; at once where there is none. */
  readonly fromMs?: number;
  /** What it would do is told and not done. */
  readonly dryRun: boolean;
}

interface Row {
  name: string;
  reason: string;
  since: number;
  from_at: number | null;
  dry_run: number;
}

export type Switches = ReturnType<typeof createSwitches>;

export function createSwitches(sql: Sql, clock: Clock) {
  const get = sql.one<Row>("SELECT * FROM switches WHERE name = ?");
  const put = sql.run(
    `INSERT INTO switches (name, reason, since, from_at, dry_run) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET reason = excluded.reason, since = excluded.since, from_at = excluded.from_at,
       dry_run = excluded.dry_run`,
  );
  const remove = sql.run("DELETE FROM switches WHERE name = ?");
  return {
    get(name: string): Switch | undefined {
      const row = get(name);
      if (!row) return undefined;
      const { reason, since: sinceMs, from_at: fromMs } = row;
      return { name: row.name, reason, sinceMs, dryRun: row.dry_run === 1, ...(fromMs !== null && { fromMs }) };
    },
    put({ name, reason, fromMs, dryRun }: Omit<Switch, "sinceMs">): Switch {
      const sinceMs = clock.now();
      put(name, reason, sinceMs, fromMs ?? null, dryRun ? 1 : 0);
      return { name, reason, sinceMs, dryRun, ...(fromMs !== undefined && { fromMs }) };
    },
    /** False when it was not on. */
    remove: (name: string) => remove(name).changes === 1,
  };
}
