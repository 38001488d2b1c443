/** What chain and journal say of one order, read once at the beginning of a look at it. */
import type { Chain } from "../chain/chain.ts";
import type { Bid, Lease, Order } from "../chain/records.ts";
import type { Intent } from "../journal/intents.ts";
import type { SeenOrder } from "../journal/orders.ts";
import type { TableReads } from "../journal/tables.ts";
import { type BidId, bidOn, parseOrderId } from "../market/ids.ts";

export interface Truth {
  /** The order's id as text. */
  readonly key: string;
  /** Of the one bid that we may ever make on it. */
  readonly id: BidId;
  /** Undefined when it is not open, or not any more. */
  readonly order: Order | undefined;
  readonly bid: Bid | undefined;
  readonly lease: Lease | undefined;
  /** Our last wish to bid on it, and the wish to take that bid back. */
  readonly filed: Intent | undefined;
  readonly closing: Intent | undefined;
  readonly seen: SeenOrder | undefined;
  /** Capacity is held for it. */
  readonly isReserved: boolean;
}

type Reads = Pick<TableReads, "intents" | "orders" | "reservations">;

export function readTruth(key: string, { mirror, provider }: Pick<Chain, "mirror" | "provider">, read: Reads): Truth {
  const order = parseOrderId(key);
  const id = bidOn(order, provider);
  const intents = read.intents.about(key);
  const filed = intents.find(({ what }) => what === "createBid");
  const closing = intents.find((intent) => intent.what === "closeBid" && intent.id > (filed?.id ?? 0));
  return {
    key,
    id,
    order: mirror.order(order),
    bid: mirror.bid(id),
    lease: mirror.lease(id),
    filed,
    closing,
    seen: read.orders.get(key),
    isReserved: read.reservations.get(key) !== undefined,
  };
}
