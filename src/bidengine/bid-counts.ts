/** How many bids each open order has, of everybody, by the blocks that we followed: the chain takes only so many. */
import type { ChainBlock } from "../chain/block.ts";
import { formatOrderId, orderOf } from "../market/ids.ts";

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
