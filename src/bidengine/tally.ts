/** What the bid engine has counted since its start, by the network's names. */
import type { Settled } from "../chain/chain.ts";
import { createHistogram, networkDurationBounds } from "../runtime/histogram.ts";

/** What became of our bid, as the journal keeps it, and what the network's metric calls it. */
export const outcomes = {
  won: "lease-won",
  lost: "lease-lost",
  "order closed": "order-closed",
  "bid closed": "bid-closed-external",
  "timed out": "bid-timeout",
  failed: "bid-failed",
} as const;

export type BidOutcome = keyof typeof outcomes;

/** Most take about a millisecond, in the largest clusters some tens of them. */
const decisionBounds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1];

export type Tally = ReturnType<typeof createTally>;

export function createTally() {
  const shouldBid = { accept: 0, decline: 0, fail: 0 };
  const bids = { open: { success: 0, fail: 0 }, close: { success: 0, fail: 0 } };
  const complete = Object.fromEntries(Object.keys(outcomes).map((name) => [name, 0])) as Record<BidOutcome, number>;
  const handled = { start: 0, stop: 0 };
  const live = new Set<string>();
  return {
    shouldBid,
    bids,
    complete,
    handled,
    /** Time that prices took, in microseconds. */
    pricing: createHistogram(networkDurationBounds),
    /** Time at work on decisions, without the wait for a price from outside, in seconds. */
    deciding: createHistogram(decisionBounds),
    /** An order is looked after from when it is first seen open until it is over. */
    begin(key: string): void {
      if (live.has(key)) return;
      live.add(key);
      handled.start += 1;
    },
    end(key: string): void {
      if (live.delete(key)) handled.stop += 1;
    },
    get live() {
      return live.size;
    },
    settled(action: "open" | "close", { state }: Settled): void {
      if (state === "done") bids[action].success += 1;
      else if (state !== "cancelled") bids[action].fail += 1;
    },
  };
}
