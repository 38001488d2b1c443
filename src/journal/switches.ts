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
}

/** Nothing is bid while it is on. */
export const pauseSwitch = "pause";

/** One that is planned does not count before its time. */
export function isPausing(pause: { readonly fromMs?: number | undefined } | undefined, nowMs: number): boolean {
  return pause !== undefined && (pause.fromMs ?? 0) <= nowMs;
}

interface Row {
  name: string;
  reason: string;
  since: number;
  from_at: number | null;
}

export type Switches = ReturnType<typeof createSwitches>;

export function createSwitches(sql: Sql, clock: Clock) {
  const get = sql.one<Row>("SELECT * FROM switches WHERE name = ?");
  const put = sql.run(
    `INSERT INTO switches (name, reason, since, from_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET reason = excluded.reason, since = excluded.since, from_at = excluded.from_at`,
  );
  const remove = sql.run("DELETE FROM switches WHERE name = ?");
  return {
    get(name: string): Switch | undefined {
      const row = get(name);
      if (!row) return undefined;
      const { reason, since: sinceMs, from_at: fromMs } = row;
      return { name: row.name, reason, sinceMs, ...(fromMs !== null && { fromMs }) };
    },
    put({ name, reason, fromMs }: Omit<Switch, "sinceMs">): Switch {
      const sinceMs = clock.now();
      put(name, reason, sinceMs, fromMs ?? null);
      return { name, reason, sinceMs, ...(fromMs !== undefined && { fromMs }) };
    },
    /** False when it was not on. */
    remove: (name: string) => remove(name).changes === 1,
  };
}
