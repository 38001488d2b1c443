/** Which conditions held when we last looked, since when, and whether whoever is notified was told. */
import type { Sql } from "./connection.ts";

export interface ConditionRow {
  readonly type: string;
  /** "" where there is only one of its type. */
  readonly subject: string;
  readonly message: string;
  readonly sinceMs: number;
  readonly told: boolean;
}

type Row = Omit<ConditionRow, "told"> & { readonly told: number };

export type Conditions = ReturnType<typeof createConditions>;

export function createConditions(sql: Sql) {
  const all = sql.all<Row>(
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
