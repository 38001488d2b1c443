/** The market as we saw it: every order, our price, who got it at which price, and how long it was open. */
import type { Clock } from "../runtime/clock.ts";
import type { Sql } from "./connection.ts";

export interface NewOrder {
  readonly orderId: string;
  /** What the tenant wants, as plain JSON; null where that is too long to keep. */
  readonly spec: unknown;
  /** The most that it pays per block: "12.5uact". */
  readonly most: string;
  /** The height at which it was made. */
  readonly createdAt: bigint;
}

export interface SeenOrder extends NewOrder {
  readonly id: number;
  readonly seenAtMs: number;
  /** What we bid: "8.25uact". */
  readonly ourPrice?: string;
  /** What became of our bid: "won", "lost" … */
  readonly outcome?: string;
  readonly end?: OrderEnd;
}

export interface OrderEnd {
  /** Unknown: it ended while we did not watch. */
  readonly how: "leased" | "closed" | "unknown";
  /** The provider, and its price per block. */
  readonly winner?: string;
  readonly price?: string;
  /** Of the block, where that is known. */
  readonly height?: bigint;
  readonly atMs: number;
}

type Row = Omit<SeenOrder, "end"> & Omit<OrderEnd, "atMs" | "how"> & { how?: OrderEnd["how"]; endedAtMs?: number };

const columns = `id, order_id AS orderId, spec, most, created_at AS createdAt, seen_at AS seenAtMs, our_price AS ourPrice,
  outcome, how, winner, winner_price AS price, end_height AS height, ended_at AS endedAtMs`;

export function createOrders(sql: Sql, clock: Clock) {
  const all = (rest: string) =>
    sql.all<Row>(`SELECT ${columns} FROM orders ${rest}`, { bigint: ["createdAt", "height"], json: ["spec"] });
  const get = all("WHERE order_id = ?");
  const recent = all("ORDER BY id DESC LIMIT ?");
  // The text of an order's id begins with that of its deployment; "0" is what follows "/" in ASCII.
  const ofDeployment = all("WHERE order_id > ? || '/' AND order_id < ? || '0' ORDER BY id DESC LIMIT ?");
  const first = sql.one<{ seen_at: number }>("SELECT seen_at FROM orders ORDER BY id LIMIT 1");
  const unfinished = sql.all<{ order_id: string }>(
    `SELECT order_id FROM orders WHERE ended_at IS NULL
     UNION SELECT order_id FROM orders WHERE our_price IS NOT NULL AND outcome IS NULL`,
  );
  const see = sql.run(
    `INSERT INTO orders (order_id, spec, most, created_at, seen_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (order_id) DO NOTHING`,
  );
  const noteBid = sql.run("UPDATE orders SET our_price = ?, outcome = NULL WHERE order_id = ?");
  const noteOutcome = sql.run("UPDATE orders SET outcome = ? WHERE order_id = ? AND outcome IS NULL");
  const end = sql.run(
    `UPDATE orders SET how = ?, winner = ?, winner_price = ?, end_height = ?, ended_at = ?
     WHERE order_id = ? AND ended_at IS NULL`,
  );
  return {
    get: (orderId: string) => get(orderId).map(fromRow)[0],
    /** Those seen last, the newest first. */
    recent: (limit: number) => recent(limit).map(fromRow),
    /** The newest first; a deployment as "owner/dseq". */
    ofDeployment: (id: string, limit: number) => ofDeployment(id, id, limit).map(fromRow),
    /** When the oldest of those was seen that are remembered. */
    firstSeenAtMs: () => first()?.seen_at,
    /** Those of which the end is not known yet, or that of our bid. */
    unfinished: () => unfinished().map(({ order_id }) => order_id),
    /** Nothing happens where it was seen before. */
    see({ orderId, spec, most, createdAt }: NewOrder): void {
      see(orderId, JSON.stringify(spec), most, createdAt, clock.now());
    },
    noteBid: (orderId: string, price: string) => void noteBid(price, orderId),
    /** What became of our bid, once: false where that was known. */
    noteOutcome: (orderId: string, outcome: string) => noteOutcome(outcome, orderId).changes === 1,
    /** The first end that is reported stands. */
    end(orderId: string, { how, winner, price, height }: Omit<OrderEnd, "atMs">): boolean {
      return end(how, winner ?? null, price ?? null, height ?? null, clock.now(), orderId).changes === 1;
    },
  };
}

function fromRow({ how, winner, price, height, endedAtMs = 0, ...order }: Row): SeenOrder {
  if (how === undefined) return order;
  const end = { how, atMs: endedAtMs, ...(winner && { winner }), ...(price && { price }) };
  return { ...order, end: { ...end, ...(height !== undefined && { height }) } };
}
