/** The bid engine's status, counters and metrics. */
import type { Chain } from "../chain/chain.ts";
import { openingOf } from "../chain/records.ts";
import { isPausing, pauseSwitch } from "../journal/deadlines.ts";
import type { IntentState } from "../journal/intents.ts";
import type { Journal } from "../journal/journal.ts";
import { toInteger } from "../market/decimal.ts";
import { nsToMs } from "../runtime/clock.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { viewEvents } from "../runtime/limits.ts";
import { createHistogram, type Metrics, networkDurationBounds } from "../runtime/metrics.ts";
import { readOrders } from "./order-report.ts";
import type { WaitingOrders } from "./waiting-orders.ts";

/** What became of our bid, as the journal keeps it, with its value in the network's metric. */
const outcomes = {
  won: "lease-won",
  lost: "lease-lost",
  "order closed": "order-closed",
  "bid closed": "bid-closed-external",
  "timed out": "bid-timeout",
  failed: "bid-failed",
} as const;

export type BidOutcome = keyof typeof outcomes;

/** Most decisions take about a millisecond, in the largest clusters some tens. */
const decisionBounds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1];

export type BidCounters = ReturnType<typeof createCounters>;

export function createCounters() {
  const bids = { open: { success: 0, fail: 0 }, close: { success: 0, fail: 0 } };
  const handled = { start: 0, stop: 0 };
  const open = new Set<string>();
  return {
    shouldBid: { accept: 0, decline: 0, fail: 0 },
    bids,
    outcomes: Object.fromEntries(Object.keys(outcomes).map((name) => [name, 0])) as Record<BidOutcome, number>,
    handled,
    /** In microseconds. */
    pricing: createHistogram(networkDurationBounds),
    /** In seconds, without the wait for a price. */
    deciding: createHistogram(decisionBounds),
    /** Orders, from when they are first seen open until they are over. */
    open: open as ReadonlySet<string>,
    begin(key: string): void {
      if (!open.has(key)) handled.start += 1;
      open.add(key);
    },
    end(key: string): void {
      if (open.delete(key)) handled.stop += 1;
    },
    settled(action: "open" | "close", state: IntentState): void {
      if (state === "done") bids[action].success += 1;
      else if (state !== "cancelled") bids[action].fail += 1;
    },
  };
}

/** Deposits of our bids, by denomination. */
function lockedDeposits({ mirror, status }: Pick<Chain, "mirror" | "status">) {
  const locked = [...mirror.bids()].flatMap(({ id, state, escrow, createdAt }) => {
    const isStranded = state === "open" && !mirror.order(id);
    const funds = escrow?.state === "open" ? openingOf(escrow) : [];
    return funds
      .map(({ denom, amount }) => ({ denom, amount: toInteger(amount, "truncate"), isStranded, createdAt }))
      .filter(({ amount }) => amount > 0n);
  });
  return Array.from(
    Map.groupBy(locked, ({ denom }) => denom),
    ([denom, deposits]) => {
      const sum = (some: typeof deposits) => some.reduce((total, { amount }) => total + amount, 0n);
      const heights = deposits.map(({ createdAt }) => createdAt);
      const sinceHeight = heights.reduce((least, height) => (height < least ? height : least));
      const ageMs = Number(mirror.height - sinceHeight) * status.blockTimeMs;
      return {
        denom,
        amount: sum(deposits),
        bids: deposits.length,
        /** Of the amount, in bids that are open although their order is not: the engine closes these. */
        stranded: sum(deposits.filter(({ isStranded }) => isStranded)),
        /** The height of the oldest bid among them, and about when that was. */
        sinceHeight,
        sinceMs: nsToMs(mirror.timeNs) - ageMs,
      };
    },
  );
}

interface StatusDeps extends RuntimeDeps {
  readonly chain: Pick<Chain, "mirror" | "status">;
  readonly journal: Pick<Journal, "read">;
  readonly counters: BidCounters;
  readonly waiting: WaitingOrders;
  readonly error: () => string | undefined;
}

export type BidEngineStatus = ReturnType<ReturnType<typeof createBidStatus>["current"]>;

export function createBidStatus({ chain, journal: { read }, counters, waiting, error, clock }: StatusDeps) {
  const { mirror } = chain;
  const { shouldBid } = counters;
  const paused = () => read.switches.get(pauseSwitch);
  const openBids = () => [...mirror.bids()].filter(({ state }) => state === "open").length;
  /** Without what has to be read from many rows of the journal. */
  const summary = () => ({
    orders: [...mirror.orders()].length,
    waiting: waiting.size,
    bids: openBids(),
    paused: paused(),
    accepted: shouldBid.accept,
    declined: shouldBid.decline,
    outcomes: { ...counters.outcomes } as Readonly<Record<BidOutcome, number>>,
    trouble: error(),
  });
  return {
    openBids,
    summary,
    /** With the orders seen last, the newest first. */
    current: () => ({ ...summary(), deposits: lockedDeposits(chain), recent: readOrders(read, viewEvents) }),
    measure(metrics: Metrics): void {
      measureCounters(metrics, counters);
      metrics.readEach("gauge", "akash_provider_bidengine", [
        ["waiting_orders", "Open orders without a bid that wait for a change", () => waiting.size],
        [
          "matching_orders",
          "Waiting orders that only lack wallet balance, capacity or current data",
          () => waiting.matching,
        ],
        ["paused", "1 while bidding is paused by the operator", () => (isPausing(paused(), clock.now()) ? 1 : 0)],
      ]);
      type Locked = ReturnType<typeof lockedDeposits>[number];
      const deposits: [name: string, help: string, value: (locked: Locked) => number][] = [
        ["deposits_locked", "Smallest units of a token locked in deposits of our bids", ({ amount }) => Number(amount)],
        ["deposits_stranded", "The same in open bids whose order is over", ({ stranded }) => Number(stranded)],
        [
          "oldest_deposit_seconds",
          "Age of the oldest locked deposit",
          ({ sinceMs }) => Math.max(0, (clock.now() - sinceMs) / 1_000),
        ],
      ];
      for (const [name, help, value] of deposits) {
        metrics.read({ name: `akash_provider_bidengine_${name}`, help, kind: "gauge", labels: ["denom"] }, () =>
          lockedDeposits(chain).map((locked) => [{ denom: locked.denom }, value(locked)]),
        );
      }
    },
  };
}

function measureCounters(metrics: Metrics, { shouldBid, bids, outcomes: ended, handled, ...counters }: BidCounters) {
  const count = (name: string, help: string, label: string, counts: Readonly<Record<string, number>>) =>
    metrics.read({ name, help, kind: "counter", labels: [label] }, () =>
      Object.entries(counts).map(([value, count]) => [{ [label]: value }, count]),
    );
  metrics.read({ name: "provider_order_manager", help: "Orders being looked after", kind: "gauge" }, () => {
    return counters.open.size;
  });
  count("provider_order_handler", "Orders taken up and let go", "action", handled);
  count("provider_should_bid", "Decisions: accept, decline, or fail when none could be made", "result", shouldBid);
  metrics.read(
    { name: "provider_bid", help: "Bids opened and closed", kind: "counter", labels: ["action", "result"] },
    () =>
      Object.entries(bids).flatMap(([action, results]) =>
        Object.entries(results).map(([result, count]) => [{ action, result }, count] as const),
      ),
  );
  metrics.read(
    { name: "provider_order_complete", help: "Bids that ended, by how", kind: "counter", labels: ["result"] },
    () => Object.entries(ended).map(([outcome, count]) => [{ result: outcomes[outcome as BidOutcome] }, count]),
  );
  const pricingHelp = "Microseconds that prices took";
  metrics.readHistogram({ name: "provider_bid_pricing_duration", help: pricingHelp }, counters.pricing);
  const help = "Time at work on a decision, without the wait for a price from outside";
  metrics.readHistogram({ name: "akash_provider_bidengine_decision_seconds", help }, counters.deciding);
}
