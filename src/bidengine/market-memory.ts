/** How orders ended and at which price, from blocks; the chain is queried for orders that ended unseen. */
import type { ChainBlock } from "../chain/block.ts";
import type { Chain } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import type { OrderEnd } from "../journal/orders.ts";
import { showDecCoin } from "../market/coin.ts";
import { formatOrderId, type OrderId, orderOf, parseOrderId } from "../market/ids.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import { done, type Outcome, waiting } from "../runtime/outcome.ts";
import { createQueue } from "../runtime/queue.ts";
import type { Random } from "../runtime/random.ts";

/** Ends of orders that blocks told and nobody has asked for yet. */
const marketEndsHeld = 20_000;
/** Orders whose end is asked of the chain at once: nobody waits for it, and nodes have other things to do. */
const marketMemoryQueries = 4;

export type Ending = Omit<OrderEnd, "atMs">;

interface MemoryDeps {
  readonly chain: Pick<Chain, "mirror" | "queries">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onEnd: (orderId: string) => void;
}

export type MarketMemory = ReturnType<typeof createMarketMemory>;

export function createMarketMemory({ chain, journal, onEnd, ...deps }: MemoryDeps) {
  const { mirror, queries } = chain;
  const told = new Map<string, Ending>();
  const queue = createQueue({ name: "market-memory", work, concurrency: marketMemoryQueries, ...deps });

  function tell(id: OrderId, end: Ending): void {
    const key = formatOrderId(orderOf(id));
    // A lease ends its order first; that the order is closed with it says less.
    if (told.has(key)) return;
    told.set(key, end);
    const [oldest] = told.size > marketEndsHeld ? told.keys() : [];
    if (oldest !== undefined) told.delete(oldest);
  }

  /** How it ended, from a block that told it or from the chain; undefined when the chain has it open. */
  async function endOf(id: OrderId, signal: AbortSignal): Promise<Ending | undefined> {
    const key = formatOrderId(orderOf(id));
    const known = told.get(key) ?? journal.read.orders.get(key)?.end;
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
    told.delete(key);
    onEnd(key);
    return done();
  }

  return {
    /** Before the orders are looked at: what this block says of their ends. */
    take({ events, height }: ChainBlock): void {
      for (const { event } of events) {
        if (event.kind === "LeaseCreated") {
          const { id, price } = event;
          tell(id, { how: "leased", winner: id.provider, price: showDecCoin(price), height });
        }
        if (event.kind === "OrderClosed") tell(event.id, { how: "closed", height });
      }
    },
    endOf,
    /** The order is not open any more: its end is to be written down. */
    ended: (key: string) => void queue.add(key, "low"),
    queue,
  };
}

// How many bids each open order has, of everybody, by the blocks that we followed: the chain takes only so many.

export type BidCounts = ReturnType<typeof createBidCounts>;

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
    /** Undefined for an order that is older than our watching. */
    of: (key: string) => counts.get(key),
  };
}
