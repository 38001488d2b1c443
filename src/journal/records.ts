/** Tables of records with a key: read, replaced and removed as a whole. */
import type { SQLInputValue } from "node:sqlite";
import type { Columns, Sql } from "./connection.ts";

interface RecordTable<Row> {
  readonly table: string;
  /** The column of each field. */
  readonly columns: Readonly<Record<keyof Row & string, string>>;
  readonly key: readonly (keyof Row & string)[];
  readonly order?: string;
  readonly read?: Columns<Row>;
}

export function createRecords<Row extends object>(sql: Sql, { table, columns, key, order, read }: RecordTable<Row>) {
  const names = Object.keys(columns) as (keyof Row & string)[];
  const keyColumns = key.map((name) => columns[name]);
  const select = `SELECT ${names.map((name) => `${columns[name]} AS ${name}`).join(", ")} FROM ${table}`;
  const isKey = keyColumns.map((column) => `${column} = ?`).join(" AND ");
  const get = sql.one<Row>(`${select} WHERE ${isKey}`, read);
  const all = sql.all<Row>(`${select} ORDER BY ${order ?? keyColumns.join(", ")}`, read);
  const put = sql.run(
    `INSERT OR REPLACE INTO ${table} (${Object.values(columns).join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
  );
  const remove = sql.run(`DELETE FROM ${table} WHERE ${isKey}`);
  const toSql = (row: Row) => (name: keyof Row & string) =>
    read?.json?.includes(name) ? JSON.stringify(row[name]) : sqlValue(row[name]);
  return {
    get: (...values: string[]) => get(...values),
    all: () => all(),
    put: (row: Row) => void put(...names.map(toSql(row))),
    remove: (...values: string[]) => void remove(...values),
  };
}

/** Bigints as text, which SQLite turns into the column's type: amounts exceed its 64 bits. Monotonic times have fractions. */
function sqlValue(value: unknown): SQLInputValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "bigint") return `${value}`;
  return typeof value === "number" ? Math.floor(value) : ((value ?? null) as SQLInputValue);
}
