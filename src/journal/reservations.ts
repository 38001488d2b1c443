/** Capacity that is spoken for: by a bid at first, by the lease when it is won. Each lives until it is released. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

export interface ReservationRow {
  readonly orderId: string;
  /** What was taken where; plain JSON. */
  readonly body: unknown;
  readonly atMs: number;
}

type Row = ReservationRow & { readonly body: string };

export type ReservationTable = ReturnType<typeof createReservationTable>;

export function createReservationTable(sql: Sql, clock: Clock) {
  const columns = "order_id AS orderId, body, at AS atMs";
  const get = sql.one<Row>(`SELECT ${columns} FROM reservations WHERE order_id = ?`);
  const all = sql.all<Row>(`SELECT ${columns} FROM reservations ORDER BY order_id`);
  const ids = sql.all<{ orderId: string }>("SELECT order_id AS orderId FROM reservations ORDER BY order_id");
  const put = sql.run(
    `INSERT INTO reservations (order_id, body, at) VALUES (?, ?, ?)
     ON CONFLICT (order_id) DO UPDATE SET body = excluded.body, at = excluded.at`,
  );
  const remove = sql.run("DELETE FROM reservations WHERE order_id = ?");
  const fromRow = (row: Row): ReservationRow => ({ ...row, body: JSON.parse(row.body) });
  return {
    get(orderId: string): ReservationRow | undefined {
      const row = get(orderId);
      return row && fromRow(row);
    },
    /** All of them: there are never more than the cluster has room for. */
    all: () => all().map(fromRow),
    orderIds: () => ids().map(({ orderId }) => orderId),
    put: ({ orderId, body }: Omit<ReservationRow, "atMs">) => void put(orderId, JSON.stringify(body), clock.now()),
    remove: (orderId: string) => void remove(orderId),
  };
}
