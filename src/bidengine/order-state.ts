/** What chain and journal say of one order, read once at the beginning of a look at it, and what a look works with. */
import type { Chain } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import { type BidId, bidOn, parseOrderId } from "../market/ids.ts";
import { nsToMs } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { Tally } from "./bid-status.ts";
import type { Capacity } from "./capacity.ts";
import type { Decider } from "./decider.ts";
import type { DecisionsUnderWay } from "./interruptible.ts";
import type { MarketMemory } from "./market-memory.ts";
import type { WaitingOrders } from "./waiting-orders.ts";

export interface OrderDeps {
  readonly chain: Pick<Chain, "mirror" | "provider" | "outbox" | "queries" | "status">;
  readonly journal: Journal;
  readonly capacity: Capacity;
  readonly decider: Pick<Decider, "decide" | "isPaused" | "terms" | "covers" | "withinCaps" | "promise" | "kept">;
  readonly underWay: DecisionsUnderWay;
  readonly memory: Pick<MarketMemory, "endOf" | "ended">;
  readonly waits: WaitingOrders;
  readonly tally: Tally;
  /** 0 turns it off. */
  readonly bidTimeoutMs: number;
  readonly onNews: (key: string) => void;
  readonly log: Log;
}

export type OrderFacts = ReturnType<typeof readOrderFacts>;

export function readOrderFacts(key: string, { chain, journal }: Pick<OrderDeps, "chain" | "journal">) {
  const { mirror, provider } = chain;
  const { intents, orders, reservations } = journal.read;
  const order = parseOrderId(key);
  /** Of the one bid that we may ever make on it. */
  const id: BidId = bidOn(order, provider);
  const about = intents.about(key);
  const filed = about.find(({ what }) => what === "createBid");
  return {
    key,
    id,
    /** Undefined when it is not open, or not any more. */
    order: mirror.order(order),
    bid: mirror.bid(id),
    lease: mirror.lease(id),
    /** Our last intent to bid on it, and the one to take that bid back. */
    filed,
    closing: about.find((intent) => intent.what === "closeBid" && intent.id > (filed?.id ?? 0)),
    seen: orders.get(key),
    /** Capacity is held for it. */
    isReserved: reservations.get(key) !== undefined,
  };
}

/** The order is not open any more: nobody waits for it, and how it ended is worth knowing. */
export function noteOver({ key, seen }: OrderFacts, { waits, tally, memory }: OrderDeps): void {
  waits.forget(key);
  tally.end(key);
  if (seen && !seen.end) memory.ended(key);
}

/** What a bid is timed by: the local clock may be wrong, and be corrected meanwhile. */
export function chainNowMs({ chain }: Pick<OrderDeps, "chain">): number {
  return nsToMs(chain.mirror.timeNs);
}

/** The kind of a bid's deadlines. */
export const bidDeadline = "bid";
