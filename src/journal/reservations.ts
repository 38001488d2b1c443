/** Capacity that is spoken for: by a bid at first, by the lease when it is won. Each lives until it is released. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

export interface NewReservation {
  readonly orderId: string;
  /** What was taken where; plain JSON. */
  readonly body: unknown;
}

export interface Reservation extends NewReservation {
  readonly atMs: number;
}

export interface ReservationReads {
  get(orderId: string): Reservation | undefined;
  /** All of them: there are never more than the cluster has room for. */
  all(): Reservation[];
}

export interface Reservations extends ReservationReads {
  put(reservation: NewReservation): void;
  remove(orderId: string): void;
}

interface Row {
  order_id: string;
  body: string;
  at: number;
}

export function createReservations(sql: Sql, clock: Clock): Reservations {
  const get = sql.one<Row>("SELECT * FROM reservations WHERE order_id = ?");
  const all = sql.all<Row>("SELECT * FROM reservations ORDER BY order_id");
  const put = sql.run(
    `INSERT INTO reservations (order_id, body, at) VALUES (?, ?, ?)
     ON CONFLICT (order_id) DO UPDATE SET body = excluded.body, at = excluded.at`,
  );
  const remove = sql.run("DELETE FROM reservations WHERE order_id = ?");
  return {
    get(orderId) {
      const row = get(orderId);
      return row && fromRow(row);
    },
    all: () => all().map(fromRow),
    put({ orderId, body }) {
      put(orderId, JSON.stringify(body), clock.now());
    },
    remove(orderId) {
      remove(orderId);
    },
  };
}

function fromRow({ order_id, body, at }: Row): Reservation {
  return { orderId: order_id, body: JSON.parse(body), atMs: at };
}
