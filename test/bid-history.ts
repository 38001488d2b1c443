/**
 * Four orders and what may become of each, with a provider that ends at one boundary and starts again on the same journal:
 * one is won and kept, one goes to a rival, one is closed by its tenant, on one nobody decides until the bid is too old.
 */
import type { Chain } from "../src/chain/chain.ts";
import type { Intent } from "../src/journal/intents.ts";
import { type BidId, formatOrderId, type OrderId, parseOrderId } from "../src/market/ids.ts";
import { type Boundary, createCountingBoundary, openBoundary, SimulatedCrash } from "../src/runtime/boundary.ts";
import { sleep } from "../src/runtime/clock.ts";
import { ProviderError } from "../src/runtime/errors.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import type { BiddingProvider, BidStage, ProviderParts, StartedProvider } from "./bid-stage.ts";

export const totalMilli = 10_000n;
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
  readonly dir: string;
  /** A fault that is put into the provider, to see that it is noticed. */
  readonly parts?: ProviderParts;
}

export async function playBidHistory(stage: BidStage, { seed, crashAt, dir, parts }: Playing): Promise<BidHistory> {
  const random = createSeededRandom(seed);
  const crash = Promise.withResolvers<void>();
  const boundary = createCountingBoundary(crashAt, (at) => {
    crash.resolve();
    throw new SimulatedCrash(at);
  });
  const start = (at: Boundary) => stage.start("one", { ...parts, dir, boundary: at, options: { bidTimeoutMs } });
  const told = tellStory(stage, random.int(3_000));
  const faults = new Set<string>();
  const live = async ({ ready }: StartedProvider) => {
    const provider = await ready;
    const watching = watch(stage, provider, faults);
    const orders = await told;
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
    await sleep(stage.clock, [0, 2_000, 8_000][random.int(3)] ?? 0);
    const second = start(openBoundary);
    found = await live(second);
    await second.stop();
  }
  return { ...found, faults: [...faults], crossings: boundary.crossings, crashed: boundary.crashed };
}

/** What must hold at every moment: an open bid has its capacity, and one that is over has none. */
function watch(stage: BidStage, { chain, journal }: BiddingProvider, faults: Set<string>) {
  const { read } = journal;
  let isOver = false;
  const look = () => {
    for (const orderId of read.orders.recent(10).map((order) => order.orderId)) {
      const intent = read.intents.about(orderId).find(({ what }) => what === "createBid");
      const outcome = read.orders.get(orderId)?.outcome;
      const isHeld = read.reservations.get(orderId) !== undefined;
      const id = parseOrderId(orderId);
      const isClosed = chain.mirror.bid({ ...id, provider: chain.provider, bseq: 0 })?.state === "closed";
      const isOpen = !isClosed && chain.mirror.order(id) !== undefined;
      if (isOpen && intent && outcome === undefined && !isHeld) faults.add("a bid without capacity");
      if ((outcome === "lost" || outcome === "order closed") && isHeld) faults.add("capacity for a bid that is over");
    }
  };
  const run = async () => {
    while (!isOver) {
      look();
      await sleep(stage.clock, 500);
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

/** The tenant's and the rival's side: neither knows that the provider may be away. */
async function tellStory(stage: BidStage, pauseMs: number): Promise<Record<Fate, OrderId>> {
  const { queries } = stage;
  await sleep(stage.clock, pauseMs);
  const orders = {
    won: await stage.post(1n),
    lost: await stage.post(2n),
    closed: await stage.post(3n),
    late: await stage.post(4n),
  };
  const ours = (order: OrderId): BidId => ({ ...order, provider: stage.signer("one").address, bseq: 0 });
  const theirs = (order: OrderId): BidId => ({ ...order, provider: stage.signer("two").address, bseq: 0 });
  const stateOf = async (bid: BidId) => (await queries.bid(bid)).value?.state;
  await Promise.all([
    (async () => {
      await stage.until("our bid", async () => (await stateOf(ours(orders.won))) === "open");
      await stage.accept(ours(orders.won));
    })(),
    (async () => {
      await stage.until("our bid", async () => (await stateOf(ours(orders.lost))) === "open");
      await stage.rivalBid("two", orders.lost);
      await stage.rivalBid("three", orders.lost);
      await stage.accept(theirs(orders.lost));
    })(),
    (async () => {
      await stage.until("our bid", async () => (await stateOf(ours(orders.closed))) === "open");
      await stage.close(3n);
    })(),
    stage.until("our bid's end", async () => (await stateOf(ours(orders.late))) === "closed"),
  ]);
  return orders;
}

/** Nothing is owed any more, and all that happened has been looked at. */
async function settled(stage: BidStage, { chain, status, engine }: BiddingProvider): Promise<void> {
  const isOver = (line: { readonly outcome: string | undefined }) =>
    line.outcome !== undefined && line.outcome !== "bid";
  await stage.until("an end to all", () => {
    const lines = engine.orders(10);
    return owed(chain) === 0 && status()?.bids === 0 && lines.length === 4 && lines.every(isOver);
  });
  await stage.blocks(3);
}

function owed(chain: Chain): number {
  return chain.outbox.counts.owed;
}

async function lookBack(stage: BidStage, provider: BiddingProvider, orders: Record<Fate, OrderId>) {
  const { journal, engine } = provider;
  const entries = await Promise.all(
    fates.map(async (fate) => {
      const key = formatOrderId(orders[fate]);
      const bid = (await stage.queries.bid(provider.bidOn(orders[fate]))).value;
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
