/**
 * Four orders and what may become of each, with a provider that ends at one boundary and starts again on the same journal:
 * one is won and kept, one goes to a rival, one is closed by its tenant, one is never decided until the bid is too old.
 */
import assert from "node:assert/strict";
import type { Chain } from "../../src/chain/chain.ts";
import type { Intent } from "../../src/journal/intents.ts";
import { isUnderWay } from "../../src/journal/intents.ts";
import { type BidId, formatOrderId, type OrderId, parseOrderId } from "../../src/market/ids.ts";
import { type Boundary, openBoundary } from "../../src/runtime/boundary.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { createCountingBoundary, SimulatedCrash } from "../support/counting-boundary.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import type { BiddingProvider, BidStage, ProviderParts, StartedProvider } from "../support/stages/bid-stage.ts";

const totalMilli = 10_000n;
/** Longer than the provider is away, so that the tenant always finds the bids. */
const bidTimeoutMs = 25_000;
const fates = ["won", "lost", "closed", "late"] as const;
export type Fate = (typeof fates)[number];

/** What is left of it, for each order, and of the capacity. */
export interface BidHistory {
  readonly orders: Readonly<Record<Fate, OrderStory>>;
  readonly freeMilli: bigint | undefined;
  readonly reservations: readonly string[];
  readonly deadlines: number;
  readonly lockedMicro: bigint;
  /** What did not hold on the way. */
  readonly faults: readonly string[];
  readonly crossings: readonly string[];
  readonly crashed: boolean;
}

export interface OrderStory {
  /** Of our bid on the chain. */
  readonly state: string | undefined;
  readonly price: string | undefined;
  readonly outcome: string | undefined;
  readonly end: string | undefined;
  /** What was sent about it, and what came of that. */
  readonly sent: readonly string[];
}

interface Playing {
  readonly seed: number;
  /** Counted from 1; 0 for none. */
  readonly crashAt: number;
  /** Between the crash and the next life. */
  readonly awayMs?: number;
  readonly dir: string;
  /** A fault that is put into the provider, to see that it is noticed. */
  readonly parts?: ProviderParts;
}

export async function playBidHistory(
  stage: BidStage,
  { seed, crashAt, awayMs = 0, dir, parts }: Playing,
): Promise<BidHistory> {
  const random = createSeededRandom(seed);
  const crash = Promise.withResolvers<void>();
  const boundary = createCountingBoundary(crashAt, (at) => {
    crash.resolve();
    throw new SimulatedCrash(at);
  });
  const start = (at: Boundary) => stage.start("one", { ...parts, dir, boundary: at, options: { bidTimeoutMs } });
  const story = playStory(stage, random.int(3_000)).then(async (orders) => {
    await lateBidEnds(stage);
    return orders;
  });
  const faults = new Set<string>();
  const live = async ({ ready }: StartedProvider) => {
    const provider = await ready;
    const watching = watch(stage, provider, faults);
    const orders = await story;
    await settled(stage, provider);
    watching.end();
    return lookBack(stage, provider, orders);
  };
  const first = start(boundary);
  const whole = live(first);
  // Whatever a provider says that ends in a crash does not matter.
  whole.catch(() => undefined);
  let found = await Promise.race([crash.promise.then(() => undefined), whole]);
  await first.stop().catch(() => undefined);
  if (!found) {
    await sleep(stage.clock, awayMs);
    const second = start(openBoundary);
    found = await live(second);
    await second.stop();
  }
  return { ...found, faults: [...faults], crossings: boundary.crossings, crashed: boundary.crashed };
}

/** What must hold at every moment: an open bid has its capacity, and one that is over has none. */
function watch({ clock }: BidStage, { chain, journal }: BiddingProvider, faults: Set<string>) {
  const { read } = journal;
  let isOver = false;
  const look = () => {
    for (const orderId of read.orders.recent(10).map((order) => order.orderId)) {
      const intent = read.intents.about(orderId).find(({ what }) => what === "createBid");
      const outcome = read.orders.get(orderId)?.outcome;
      const isHeld = read.reservations.get(orderId) !== undefined;
      const id = parseOrderId(orderId);
      const bid = chain.mirror.bid({ ...id, provider: chain.provider, bseq: 0 });
      // One that was closed before the start is in no mirror.
      const isOpen = bid ? bid.state === "open" : isUnderWay(intent);
      const isWanted = isOpen && chain.mirror.order(id) !== undefined;
      if (isWanted && outcome === undefined && !isHeld) faults.add("a bid without capacity");
      if ((outcome === "lost" || outcome === "order closed") && isHeld) faults.add("capacity for a bid that is over");
    }
  };
  const run = async () => {
    while (!isOver) {
      look();
      await sleep(clock, 500);
    }
  };
  // The journal is closed by a crash, and nothing can be seen in it any more.
  run().catch((thrown: unknown) => {
    if (!ProviderError.is(thrown, "AKP_JOURNAL_CLOSED")) faults.add(String(thrown));
  });
  return {
    end(): void {
      isOver = true;
    },
  };
}

export function ordersOf(stage: BidStage): Record<Fate, OrderId> {
  const { address: owner } = stage.signer("tenant");
  const order = (dseq: bigint) => ({ owner, dseq, gseq: 1, oseq: 1 });
  return { won: order(1n), lost: order(2n), closed: order(3n), late: order(4n) };
}

/** The tenant's and the rival's side, until all but one is decided: neither knows that the provider may be away. */
export async function playStory(stage: BidStage, pauseMs: number): Promise<Record<Fate, OrderId>> {
  const { queries } = stage;
  const orders = ordersOf(stage);
  await sleep(stage.clock, pauseMs);
  for (const { dseq } of Object.values(orders)) await stage.post(dseq);
  const ours = (order: OrderId): BidId => ({ ...order, provider: stage.signer("one").address, bseq: 0 });
  const theirs = (order: OrderId): BidId => ({ ...order, provider: stage.signer("two").address, bseq: 0 });
  const stateOf = async (bid: BidId) => (await queries.bid(bid)).value?.state;
  await Promise.all([
    (async () => {
      await stage.until("our bid", async () => (await stateOf(ours(orders.won))) === "open");
      await stage.accept(ours(orders.won));
    })(),
    (async () => {
      await Promise.all([
        stage.until("our bid", async () => (await stateOf(ours(orders.lost))) === "open"),
        ...["two", "three"].map((name) => stage.rivalBid(name, orders.lost)),
      ]);
      await stage.accept(theirs(orders.lost));
    })(),
    (async () => {
      await stage.until("our bid", async () => (await stateOf(ours(orders.closed))) === "open");
      await stage.close(3n);
    })(),
    stage.until("our bid", async () => (await stateOf(ours(orders.late))) !== undefined),
  ]);
  return orders;
}

/** The end of the undecided order: its bid expires, or its tenant closes it last. */
export type LateEnd = "timed out" | "order closed";

export async function lateBidEnds(stage: BidStage, late: LateEnd = "timed out"): Promise<void> {
  if (late === "order closed") await stage.close(ordersOf(stage).late.dseq);
  const bid: BidId = { ...ordersOf(stage).late, provider: stage.signer("one").address, bseq: 0 };
  await stage.until("our bid's end", async () => (await stage.queries.bid(bid)).value?.state === "closed");
}

/** Nothing is owed any more, all that happened has been looked at, and so many bids are open. */
export async function settled(
  stage: Pick<BidStage, "until" | "blocks">,
  { chain, status, engine }: BiddingProvider,
  open = 0,
): Promise<void> {
  const isOver = (line: { readonly outcome: string | undefined }) =>
    line.outcome !== undefined && line.outcome !== "bid";
  await stage.until("an end to all", () => {
    const lines = engine.orders(10);
    const isSettled = owed(chain) === 0 && status()?.bids === open && lines.length === 4;
    return isSettled && lines.filter(isOver).length === 4 - open;
  });
  await stage.blocks(3);
}

function owed(chain: Chain): number {
  return chain.outbox.counts.owed;
}

export async function lookBack(
  { queries }: Pick<BidStage, "queries">,
  provider: BiddingProvider,
  orders: Record<Fate, OrderId>,
) {
  const { journal, engine } = provider;
  const entries = await Promise.all(
    fates.map(async (fate) => {
      const key = formatOrderId(orders[fate]);
      const bid = (await queries.bid(provider.bidOn(orders[fate]))).value;
      const line = engine.why(key)[0];
      const story: OrderStory = {
        state: bid?.state,
        price: line?.price,
        outcome: line?.outcome,
        end: line?.end?.how,
        sent: journal.read.intents.about(key).map(({ what, state }: Intent) => `${what} ${state}`),
      };
      return [fate, story] as const;
    }),
  );
  const locked = provider.status()?.deposits.find(({ denom }) => denom === "uakt")?.amount ?? 0n;
  return {
    orders: Object.fromEntries(entries) as Record<Fate, OrderStory>,
    freeMilli: provider.freeMilli(),
    reservations: journal.read.reservations.all().map(({ orderId }) => orderId),
    deadlines: journal.rows().deadlines,
    lockedMicro: locked,
  };
}

/** As if nothing had happened on the way. */
export function checkEnd(history: BidHistory, late: LateEnd = "timed out"): void {
  const { orders, faults, freeMilli, reservations, deadlines, lockedMicro } = history;
  assert.deepEqual(faults, []);
  for (const { sent } of Object.values(orders)) {
    assert.equal(sent.filter((each) => each.startsWith("createBid")).length, 1, "one bid on each");
  }
  assert.deepEqual(
    Object.values(orders).map(({ state, outcome, end }) => ({ state, outcome, end })),
    [
      { state: "active", outcome: "won", end: "leased" },
      { state: orders.lost.state, outcome: "lost", end: "leased" },
      { state: "closed", outcome: "order closed", end: "closed" },
      { state: "closed", outcome: late, end: late === "timed out" ? undefined : "closed" },
    ],
  );
  assert.ok(orders.lost.state === "lost" || orders.lost.state === "closed");
  for (const [fate, { sent }] of Object.entries(orders)) {
    assert.deepEqual(
      sent.filter((each) => !each.endsWith(" done")).map((each) => `${fate}: ${each}`),
      [],
    );
  }
  assert.equal(freeMilli, totalMilli - 100n, "what the lease has, and nothing else");
  assert.equal(reservations.length, 1);
  assert.equal(deadlines, 0);
  assert.equal(lockedMicro, 500_000n, "the deposit of the lease");
}
