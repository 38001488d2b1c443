/** The bid engine's metrics: the network's by their names, and what is locked in deposits. */
import type { Metrics } from "../runtime/metrics.ts";
import type { LockedDeposits } from "./deposits.ts";
import { type BidOutcome, outcomes, type Tally } from "./tally.ts";

interface Measured {
  readonly tally: Tally;
  readonly waiting: () => number;
  readonly matching: () => number;
  readonly deposits: () => readonly LockedDeposits[];
  readonly isPaused: () => boolean;
  readonly nowMs: () => number;
}

export function measureBidEngine(
  metrics: Metrics,
  { tally, waiting, matching, deposits, isPaused, nowMs }: Measured,
): void {
  const { shouldBid, bids, complete, handled } = tally;
  metrics.read({ name: "provider_order_manager", help: "Orders being looked after", kind: "gauge" }, () => tally.live);
  metrics.read(
    {
      name: "provider_order_handler",
      help: "Orders taken up and let go",
      kind: "counter",
      labels: ["action"],
    },
    () => Object.entries(handled).map(([action, count]) => [{ action }, count]),
  );
  metrics.read(
    {
      name: "provider_should_bid",
      help: "Decisions: accept, decline, or fail when none could be made",
      kind: "counter",
      labels: ["result"],
    },
    () => Object.entries(shouldBid).map(([result, count]) => [{ result }, count]),
  );
  metrics.read(
    { name: "provider_bid", help: "Bids opened and closed", kind: "counter", labels: ["action", "result"] },
    () =>
      Object.entries(bids).flatMap(([action, results]) =>
        Object.entries(results).map(([result, count]) => [{ action, result }, count] as const),
      ),
  );
  metrics.read(
    { name: "provider_order_complete", help: "Bids that ended, by how", kind: "counter", labels: ["result"] },
    () => Object.entries(complete).map(([outcome, count]) => [{ result: outcomes[outcome as BidOutcome] }, count]),
  );
  metrics.readHistogram(
    { name: "provider_bid_pricing_duration", help: "Microseconds that prices took" },
    tally.pricing,
  );
  metrics.readHistogram(
    {
      name: "akash_provider_bidengine_decision_seconds",
      help: "Time at work on a decision, without the wait for a price from outside",
    },
    tally.deciding,
  );
  metrics.read(
    {
      name: "akash_provider_bidengine_waiting_orders",
      help: "Open orders that got a no and wait for something to change",
      kind: "gauge",
    },
    waiting,
  );
  metrics.read(
    {
      name: "akash_provider_bidengine_matching_orders",
      help: "Those among them that we would bid on, but for the wallet, the room left, or what we do not know just now",
      kind: "gauge",
    },
    matching,
  );
  metrics.read(
    { name: "akash_provider_bidengine_paused", help: "1 while bidding is paused by a person", kind: "gauge" },
    () => (isPaused() ? 1 : 0),
  );
  const ofDeposits = (value: (locked: LockedDeposits) => number) => () =>
    deposits().map((locked) => [{ denom: locked.denom }, value(locked)] as const);
  metrics.read(
    {
      name: "akash_provider_bidengine_deposits_locked",
      help: "Smallest units of a token locked in deposits of our bids",
      kind: "gauge",
      labels: ["denom"],
    },
    ofDeposits(({ amount }) => Number(amount)),
  );
  metrics.read(
    {
      name: "akash_provider_bidengine_deposits_stranded",
      help: "The same in bids that are open although their order is not",
      kind: "gauge",
      labels: ["denom"],
    },
    ofDeposits(({ stranded }) => Number(stranded)),
  );
  metrics.read(
    {
      name: "akash_provider_bidengine_oldest_deposit_seconds",
      help: "Age of the oldest deposit that is locked",
      kind: "gauge",
      labels: ["denom"],
    },
    ofDeposits(({ sinceMs }) => Math.max(0, (nowMs() - sinceMs) / 1_000)),
  );
}
