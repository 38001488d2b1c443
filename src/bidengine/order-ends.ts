/** How orders ended and at which price, from blocks; the chain is queried for orders whose end no block reported. */
import type { ChainBlock } from "../chain/block.ts";
import type { Chain } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import type { OrderEnd } from "../journal/orders.ts";
import { showDecCoin } from "../market/coin.ts";
import { formatOrderId, type OrderId, orderOf, parseOrderId } from "../market/ids.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { done, type Outcome, waiting } from "../runtime/outcome.ts";
import { createQueue } from "../runtime/queue.ts";

/** Ends of orders that blocks reported and that are not in the journal yet. */
const endsHeld = 20_000;
/** Queries for the ends of orders at once: nothing waits for them. */
const endQueries = 4;

type Ending = Omit<OrderEnd, "atMs">;

interface OrderEndsDeps extends RuntimeDeps {
  readonly chain: Pick<Chain, "mirror" | "queries">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly onNews: (orderId: string) => void;
}

export type OrderEnds = ReturnType<typeof createOrderEnds>;

export function createOrderEnds({ chain: { mirror, queries }, journal, onNews, clock, random, log }: OrderEndsDeps) {
  const reported = new Map<string, Ending>();
  const queue = createQueue({ name: "market-memory", work, concurrency: endQueries, clock, random, log });

  function report(id: OrderId, end: Ending): void {
    const key = formatOrderId(orderOf(id));
    // A lease ends its order first; that the order is closed with it says less.
    if (reported.has(key)) return;
    reported.set(key, end);
    const [oldest] = reported.size > endsHeld ? reported.keys() : [];
    if (oldest !== undefined) reported.delete(oldest);
  }

  /** From a block or from the chain; undefined while the chain has the order open. */
  async function endOf(id: OrderId, signal: AbortSignal): Promise<Ending | undefined> {
    const key = formatOrderId(orderOf(id));
    const known = reported.get(key) ?? journal.read.orders.get(key)?.end;
    if (known && known.how !== "unknown") return known;
    const at = { atOrAbove: mirror.height, signal };
    const { value: order } = await queries.order(orderOf(id), at);
    if (order?.state === "open") return undefined;
    const [lease] = (await queries.leases({ ...orderOf(id) }, at)).items;
    if (!lease) return { how: "closed" };
    return { how: "leased", winner: lease.id.provider, price: showDecCoin(lease.price), height: lease.createdAt };
  }

  async function work(key: string, signal: AbortSignal): Promise<Outcome> {
    const seen = journal.read.orders.get(key);
    const id = parseOrderId(key);
    if (!seen || seen.end || mirror.order(id)) return done();
    const end = await endOf(id, signal);
    if (!end) return waiting("chain", "the chain has this order open, and the mirror does not know it");
    await journal.relaxed("order end", ({ orders }) => orders.end(key, end));
    reported.delete(key);
    onNews(key);
    return done();
  }

  return {
    /** Called before the orders of this block are reconciled. */
    take({ events, height }: ChainBlock): void {
      for (const { event } of events) {
        if (event.kind === "LeaseCreated") {
          const { id, price } = event;
          report(id, { how: "leased", winner: id.provider, price: showDecCoin(price), height });
        }
        if (event.kind === "OrderClosed") report(event.id, { how: "closed", height });
      }
    },
    endOf,
    /** Writes down how an order that is not open any more ended. */
    ended: (key: string) => void queue.add(key, "low"),
    queue,
  };
}

export type BidCounts = ReturnType<typeof createBidCounts>;

/** How many bids of all providers each open order has, by the blocks that we followed: the chain limits them. */
export function createBidCounts() {
  const counts = new Map<string, number>();
  return {
    take({ events }: ChainBlock): void {
      for (const { event } of events) {
        if (event.kind === "OrderCreated") counts.set(formatOrderId(event.id), 0);
        if (event.kind === "BidCreated") {
          const key = formatOrderId(orderOf(event.id));
          const count = counts.get(key);
          if (count !== undefined) counts.set(key, count + 1);
        }
        if (event.kind === "OrderClosed" || event.kind === "LeaseCreated")
          counts.delete(formatOrderId(orderOf(event.id)));
      }
    },
    /** Undefined for an order that is older than our start. */
    of: (key: string) => counts.get(key),
  };
}
