/** From an open order to a bid on it: decided, capacity taken, and written down in one unit. */
import { MsgCreateBid, ResourceOffer } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { Chain } from "../chain/chain.ts";
import { writeUnitResources } from "../chain/codec/group-spec.ts";
import { writeId } from "../chain/codec/wire-messages.ts";
import type { Order } from "../chain/records.ts";
import { type PackedMessage, packMessage } from "../chain/tx/messages.ts";
import type { Journal } from "../journal/journal.ts";
import { type DecCoin, showDecCoin } from "../market/coin.ts";
import { showDecimal } from "../market/decimal.ts";
import type { Fits, PlacementFailure } from "../market/fit.ts";
import { type BidId, bidOn, parseOrderId } from "../market/ids.ts";
import { nsToMs } from "../runtime/clock.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { minute } from "../runtime/durations.ts";
import { invariant } from "../runtime/invariant.ts";
import { outboxIntents } from "../runtime/limits.ts";
import { done, type Outcome, waiting } from "../runtime/outcome.ts";
import type { BidCounters } from "./bid-status.ts";
import type { Capacity, Reserved } from "./capacity.ts";
import type { Decider } from "./decider.ts";
import { type Check, type Decision, fail, failedChecks, skipped, waitsFor } from "./decision/decision.ts";
import type { BidTerms } from "./decision/money-checks.ts";
import { isNews, recordDecision } from "./decision/record.ts";
import type { OrderEnds } from "./order-ends.ts";
import type { WaitingOrders } from "./waiting-orders.ts";

/** A bid that has not left by then was priced for another market. */
export const bidIntentMs = 10 * minute;
/** The kind of a bid's deadlines in the journal. */
export const bidDeadline = "bid";

export interface OrderDeps extends RuntimeDeps {
  readonly chain: Pick<Chain, "mirror" | "provider" | "outbox" | "queries" | "status">;
  readonly journal: Journal;
  readonly capacity: Capacity;
  readonly decider: Decider;
  /** Decisions that wait for a price, by order. */
  readonly decisions: ReturnType<typeof createInFlight>;
  readonly orderEnds: OrderEnds;
  readonly waiting: WaitingOrders;
  readonly counters: BidCounters;
  /** 0 turns it off. */
  readonly bidTimeoutMs: number;
  readonly onNews: (key: string) => void;
}

export type OrderFacts = ReturnType<typeof readOrderFacts>;

/** What chain and journal say of one order, read once at the beginning of a reconciliation. */
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
    isReserved: reservations.get(key) !== undefined,
  };
}

/** Runs work that can be ended early, by key. */
export function createInFlight() {
  const running = new Map<unknown, AbortController>();
  return {
    async run<T>(key: unknown, signal: AbortSignal, work: (until: AbortSignal) => Promise<T>): Promise<T> {
      const ending = new AbortController();
      running.set(key, ending);
      try {
        return await work(AbortSignal.any([signal, ending.signal]));
      } finally {
        running.delete(key);
      }
    },
    abort: (key: unknown) => running.get(key)?.abort(new Error("the order is gone")),
    abortAll(): void {
      for (const ending of running.values()) ending.abort();
    },
  };
}

/** The order is not open any more. */
export function noteOver({ key, seen }: OrderFacts, { waiting, counters, orderEnds }: OrderDeps): void {
  waiting.forget(key);
  counters.end(key);
  if (seen && !seen.end) orderEnds.ended(key);
}

/** Bids are timed by the chain: the local clock may be wrong, and be corrected meanwhile. */
export function chainNowMs({ chain }: Pick<OrderDeps, "chain">): number {
  return nsToMs(chain.mirror.timeNs);
}

export async function decideAndBid(
  facts: OrderFacts,
  order: Order,
  signal: AbortSignal,
  deps: OrderDeps,
): Promise<Outcome> {
  const { chain, journal, capacity, decider, decisions, waiting: waits, counters } = deps;
  const { key, seen } = facts;
  // A bid from so long ago that its intent is forgotten; the chain takes no second one.
  if (seen?.ourPrice !== undefined && !facts.filed) {
    if (facts.isReserved) await capacity.release(key, "our bid on it is over");
    return done();
  }
  // A concurrent decision may take the capacity that this one found; the second attempt knows that.
  for (let isFirst = true; ; isFirst = false) {
    const { mark } = waits;
    const deciding = decisions.run(key, signal, (until) => decider.decide(order, seen !== undefined, until));
    const decision = await deciding.catch((thrown: unknown) => {
      counters.shouldBid.fail += 1;
      throw thrown;
    });
    const isOpen = chain.mirror.order(order.id) !== undefined;
    if (decision.verdict === "bid" && isOpen) {
      // A pause or new prices during the decision hold for it too.
      if (waits.hasChanged("policies", mark) || waits.hasChanged("prices", mark)) continue;
      if (journal.read.intents.owed() >= outboxIntents) return waiting("outbox", "it is full");
      const terms = decider.terms(order);
      const taken = take(key, order, decision, terms, deps);
      if (taken.fits) return placeBid(facts, order, decision, taken, terms, deps);
      if (isFirst) continue;
      waits.wait(key, new Set(["room"]), mark);
      await note(key, order, lostRace(decision, taken), deps);
    } else if (isOpen) {
      counters.shouldBid.decline += 1;
      waits.wait(key, waitsFor(decision), mark, decision.isLimited);
      await note(key, order, decision, deps);
    } else {
      await note(key, order, goneWhilePriced(decision), deps);
      noteOver(readOrderFacts(key, deps), deps);
    }
    return done();
  }
}

async function note(key: string, order: Order, decision: Decision, { journal, onNews }: OrderDeps): Promise<void> {
  if (!isNews(journal.read, key, decision, journal.nowMs())) return;
  await journal.relaxed("decision", (tables) => recordDecision(tables, order, decision));
  onNews(key);
}

/** Synchronous: what is free is taken at once or not at all. */
function take(
  key: string,
  order: Order,
  { offer }: Decision,
  terms: BidTerms,
  deps: OrderDeps,
): Reserved | PlacementFailure {
  const { decider, capacity, bidTimeoutMs } = deps;
  invariant(offer, "a bid has an offer", { key });
  const no = (reason: string) => ({ fits: false, reason, shortages: [] }) as const;
  if (!decider.covers(terms)) return no("the wallet is promised to other bids");
  if (!decider.withinCaps(order, offer)) return no("the caps leave no room");
  const expiresAtMs = bidTimeoutMs > 0 ? chainNowMs(deps) + bidTimeoutMs : Number.MAX_SAFE_INTEGER;
  const reserved = capacity.reserve({ orderId: key, group: order.spec, offer, expiresAtMs });
  if (reserved.fits) decider.hold(key, terms);
  return reserved;
}

async function placeBid(
  { key, id }: OrderFacts,
  order: Order,
  decision: Decision,
  reserved: Reserved,
  terms: BidTerms,
  deps: OrderDeps,
): Promise<Outcome> {
  const { capacity, decider, counters, chain, journal, bidTimeoutMs, onNews, log } = deps;
  const { price } = decision;
  invariant(price, "a bid has a price", { key });
  counters.shouldBid.accept += 1;
  try {
    const message = createBidMessage(id, order, { ...terms, price, offer: reserved.offer });
    const nowMs = chainNowMs(deps);
    const what = { subject: key, why: "an order to bid on", message, priority: "bid" } as const;
    const intent = chain.outbox.intentOf({ ...what, expiresAtMs: nowMs + bidIntentMs });
    // One unit: after a crash either all of it is there or nothing ever happened.
    await journal.durable("bid", (tables) => {
      recordDecision(tables, order, decision);
      tables.orders.noteBid(key, showDecCoin(price));
      reserved.write(tables);
      tables.intents.file(intent);
      if (bidTimeoutMs > 0) tables.deadlines.put({ kind: bidDeadline, subject: key, dueAtMs: nowMs + bidTimeoutMs });
    });
  } catch (thrown) {
    decider.release(key);
    await capacity.release(key, "the bid could not be written down");
    throw thrown;
  }
  chain.outbox.wake();
  onNews(key);
  log.info("bidding on order", { order: key, price: showDecCoin(price) });
  return done();
}

function goneWhilePriced(decision: Decision): Decision {
  const isOfPrice = ({ name }: Check) => name === "priceGiven" || name === "priceWithinMax";
  if (!failedChecks(decision).every(isOfPrice)) return decision;
  const checks = decision.checks.map((check): Check => {
    if (!isOfPrice(check)) return check;
    const { name } = check;
    if (name === "priceGiven") return { name, ...fail("never", "the order ended while it was priced") };
    return { name, ...skipped("the order ended") };
  });
  return { ...decision, verdict: "no", checks, price: undefined };
}

/** The capacity found by the decision was taken by another order. */
function lostRace(decision: Decision, { reason }: PlacementFailure): Decision {
  const checks = decision.checks.map((check) => {
    const { name, evidence } = check;
    return name === "placementExists"
      ? { name, ...fail("room", `another order was quicker: ${reason}`, evidence) }
      : check;
  });
  return { ...decision, verdict: "no", checks };
}

/** Out of our own account. */
const fromBalance = 1;

interface BidContent extends BidTerms {
  readonly price: DecCoin;
  readonly offer: Fits["offer"];
}

export function createBidMessage(id: BidId, { spec }: Pick<Order, "spec">, content: BidContent): PackedMessage {
  const { price, deposit, offer, reclamationWindowNs } = content;
  invariant(offer.length === spec.units.length, "a bid offers every unit of its order");
  const known = MsgCreateBid.fromPartial({
    id: writeId(id),
    price: { denom: price.denom, amount: showDecimal(price.amount) },
    deposit: { amount: { denom: deposit.denom, amount: `${deposit.amount}` }, sources: [fromBalance] },
    resourcesOffer: offer.map((resources, index) =>
      ResourceOffer.fromPartial({ resources: writeUnitResources(resources), count: spec.units[index]?.count ?? 0 }),
    ),
  });
  return packMessage("createBid", { ...known, reclamationWindowNs });
}
