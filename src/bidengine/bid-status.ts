/** The bid engine's status: what it has counted by the network's names, its status, and its metrics. */
import type { Chain, Settled } from "../chain/chain.ts";
import { type Bid, openingOf } from "../chain/records.ts";
import { isPausing, type OperatorSwitch, pauseSwitch } from "../journal/deadlines.ts";
import type { TableReads } from "../journal/tables.ts";
import { toInteger } from "../market/decimal.ts";
import { type Clock, nsToMs } from "../runtime/clock.ts";
import { viewEvents } from "../runtime/limits.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { createHistogram, networkDurationBounds } from "../runtime/metrics.ts";
import { type OrderLine, readOrders } from "./order-report.ts";
import type { WaitingOrders } from "./waiting-orders.ts";

/** What became of our bid, as the journal keeps it, and what the network's metric calls it. */
const outcomes = {
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

interface LockedDeposits {
  readonly denom: string;
  readonly amount: bigint;
  readonly bids: number;
  /** Of these, in bids that are open although their order is not: they are on their way home. */
  readonly stranded: bigint;
  /** The height of the oldest bid among them, and about when that was. */
  readonly sinceHeight: bigint;
  readonly sinceMs: number;
}

function lockedDeposits({ mirror, status }: Pick<Chain, "mirror" | "status">): LockedDeposits[] {
  const byDenom = new Map<string, LockedDeposits>();
  for (const bid of mirror.bids()) {
    for (const { denom, amount } of fundsOf(bid)) {
      const before = byDenom.get(denom);
      const isStranded = bid.state === "open" && !mirror.order(bid.id);
      const isOldest = !before || bid.createdAt < before.sinceHeight;
      byDenom.set(denom, {
        denom,
        amount: (before?.amount ?? 0n) + amount,
        bids: (before?.bids ?? 0) + 1,
        stranded: (before?.stranded ?? 0n) + (isStranded ? amount : 0n),
        sinceHeight: isOldest ? bid.createdAt : before.sinceHeight,
        sinceMs: isOldest ? timeOf(bid.createdAt) : before.sinceMs,
      });
    }
  }
  return [...byDenom.values()];

  function timeOf(height: bigint): number {
    return nsToMs(mirror.timeNs) - Number(mirror.height - height) * status.blockTimeMs;
  }
}

function fundsOf({ escrow }: Bid): { readonly denom: string; readonly amount: bigint }[] {
  if (escrow?.state !== "open") return [];
  return openingOf(escrow)
    .map(({ denom, amount }) => ({ denom, amount: toInteger(amount, "truncate") }))
    .filter(({ amount }) => amount > 0n);
}

export interface BidEngineStatus {
  /** Open orders, those among them that wait for something to change, and our bids that are open. */
  readonly orders: number;
  readonly waiting: number;
  readonly bids: number;
  readonly paused: OperatorSwitch | undefined;
  readonly accepted: number;
  readonly declined: number;
  readonly outcomes: Readonly<Record<BidOutcome, number>>;
  readonly deposits: readonly LockedDeposits[];
  readonly trouble: string | undefined;
  /** The orders seen last, the newest first. */
  readonly recent: readonly OrderLine[];
}

interface StatusDeps {
  readonly chain: Pick<Chain, "mirror" | "status">;
  readonly read: TableReads;
  readonly tally: Tally;
  readonly waits: WaitingOrders;
  readonly trouble: () => string | undefined;
  readonly clock: Clock;
}

export function createBidStatus({ chain, read, tally, waits, trouble, clock }: StatusDeps) {
  const { mirror } = chain;
  const { shouldBid } = tally;
  const paused = () => read.switches.get(pauseSwitch);
  const openBids = () => [...mirror.bids()].filter(({ state }) => state === "open").length;
  /** Without what has to be read from many rows of the journal. */
  const state = () => ({
    orders: [...mirror.orders()].length,
    waiting: waits.size,
    bids: openBids(),
    paused: paused(),
    accepted: shouldBid.accept,
    declined: shouldBid.decline,
    outcomes: { ...tally.complete },
    trouble: trouble(),
  });
  return {
    openBids,
    state,
    current: (): BidEngineStatus => ({
      ...state(),
      deposits: lockedDeposits(chain),
      recent: readOrders(read, viewEvents),
    }),
    measure(metrics: Metrics): void {
      measureTally(metrics, tally);
      metrics.readEach("gauge", "akash_provider_bidengine", [
        ["waiting_orders", "Open orders that got a no and wait for something to change", () => waits.size],
        [
          "matching_orders",
          "Those among them that we would bid on, but for the wallet, the room left, or what we do not know just now",
          () => waits.matching,
        ],
        ["paused", "1 while bidding is paused by a person", () => (isPausing(paused(), clock.now()) ? 1 : 0)],
      ]);
      const ofDeposits = (name: string, help: string, value: (locked: LockedDeposits) => number) =>
        metrics.read({ name: `akash_provider_bidengine_${name}`, help, kind: "gauge", labels: ["denom"] }, () =>
          lockedDeposits(chain).map((locked) => [{ denom: locked.denom }, value(locked)]),
        );
      ofDeposits("deposits_locked", "Smallest units of a token locked in deposits of our bids", ({ amount }) =>
        Number(amount),
      );
      ofDeposits("deposits_stranded", "The same in bids that are open although their order is not", ({ stranded }) =>
        Number(stranded),
      );
      ofDeposits("oldest_deposit_seconds", "Age of the oldest deposit that is locked", ({ sinceMs }) =>
        Math.max(0, (clock.now() - sinceMs) / 1_000),
      );
    },
  };
}

function measureTally(metrics: Metrics, tally: Tally): void {
  const { shouldBid, bids, complete, handled } = tally;
  type Series<Label extends string> = (readonly [Readonly<Record<Label, string>>, number])[];
  function count<Label extends string>(name: string, help: string, labels: Label[], values: () => Series<Label>): void {
    metrics.read({ name, help, kind: "counter", labels }, values);
  }
  metrics.read({ name: "provider_order_manager", help: "Orders being looked after", kind: "gauge" }, () => tally.live);
  count("provider_order_handler", "Orders taken up and let go", ["action"], () =>
    Object.entries(handled).map(([action, count]) => [{ action }, count]),
  );
  count("provider_should_bid", "Decisions: accept, decline, or fail when none could be made", ["result"], () =>
    Object.entries(shouldBid).map(([result, count]) => [{ result }, count]),
  );
  count("provider_bid", "Bids opened and closed", ["action", "result"], () =>
    Object.entries(bids).flatMap(([action, results]) =>
      Object.entries(results).map(([result, count]) => [{ action, result }, count] as const),
    ),
  );
  count("provider_order_complete", "Bids that ended, by how", ["result"], () =>
    Object.entries(complete).map(([outcome, count]) => [{ result: outcomes[outcome as BidOutcome] }, count]),
  );
  const pricingHelp = "Microseconds that prices took";
  metrics.readHistogram({ name: "provider_bid_pricing_duration", help: pricingHelp }, tally.pricing);
  const help = "Time at work on a decision, without the wait for a price from outside";
  metrics.readHistogram({ name: "akash_provider_bidengine_decision_seconds", help }, tally.deciding);
}
