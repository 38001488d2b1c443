/** From an open order to a bid on it: decided, capacity taken, and written down in one unit. */
import { MsgCreateBid, ResourceOffer } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { writeUnitResources } from "../chain/codec/group-spec.ts";
import { writeId } from "../chain/codec/wire-messages.ts";
import type { Order } from "../chain/records.ts";
import { type PackedMessage, packMessage } from "../chain/tx/messages.ts";
import { type Coin, type DecCoin, showDecCoin } from "../market/coin.ts";
import { showDecimal } from "../market/decimal.ts";
import type { Fits, PlacementFailure } from "../market/fit.ts";
import type { BidId } from "../market/ids.ts";
import { minute } from "../runtime/durations.ts";
import { invariant } from "../runtime/invariant.ts";
import { outboxIntents } from "../runtime/limits.ts";
import { done, type Outcome, waiting } from "../runtime/outcome.ts";
import type { Reserved } from "./capacity.ts";
import { type Check, type Decision, refusals, waitsFor } from "./decision/decision.ts";
import type { BidTerms } from "./decision/money-checks.ts";
import { isNews, recordDecision } from "./decision/record.ts";
import { bidDeadline, chainNowMs, noteOver, type OrderDeps, type OrderFacts, readOrderFacts } from "./order-state.ts";

/** A bid that has not left by then was priced for another world. */
export const bidIntentMs = 10 * minute;

export async function consider(
  state: OrderFacts,
  order: Order,
  signal: AbortSignal,
  deps: OrderDeps,
): Promise<Outcome> {
  const { chain, journal, capacity, decider, underWay, waits, tally } = deps;
  const { key, seen } = state;
  // A bid from so long ago that its intent is forgotten; the chain takes no second one.
  if (seen?.ourPrice !== undefined && !state.filed) {
    if (state.isReserved) await capacity.release(key, "our bid on it is over");
    return done();
  }
  // Whoever decides at the same time may take what this one counts on; the second decision knows that.
  for (let isFirst = true; ; isFirst = false) {
    const mark = waits.mark;
    const deciding = underWay.during(key, signal, (until) => decider.decide(order, seen !== undefined, until));
    const decision = await deciding.catch((thrown: unknown) => {
      tally.shouldBid.fail += 1;
      throw thrown;
    });
    const isOpen = chain.mirror.order(order.id) !== undefined;
    if (decision.verdict === "bid" && isOpen) {
      // Whoever paused or changed prices while this one was priced means it too.
      if (waits.hasChanged("policies", mark) || waits.hasChanged("prices", mark)) continue;
      if (journal.read.intents.owed() >= outboxIntents) return waiting("outbox", "it is full");
      const terms = decider.terms(order);
      const taken = take(key, order, decision, terms, deps);
      if (taken.fits) return placeBid(state, order, decision, taken, terms, deps);
      if (isFirst) continue;
      waits.wait(key, new Set(["room"]), mark);
      await note(key, order, lostRace(decision, taken), deps);
      return done();
    }
    if (isOpen) {
      tally.shouldBid.decline += 1;
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

/** In one step with nothing between: what is free is taken at once or not at all. */
function take(
  key: string,
  order: Order,
  { offer }: Decision,
  terms: BidTerms,
  deps: OrderDeps,
): Reserved | PlacementFailure {
  const { decider, capacity, bidTimeoutMs } = deps;
  invariant(offer, "a bid has an offer", { key });
  if (!decider.covers(terms)) return { fits: false, reason: "the wallet is promised to other bids", shortages: [] };
  if (!decider.withinCaps(order, offer)) return { fits: false, reason: "the caps leave no room", shortages: [] };
  const expiresAtMs = bidTimeoutMs > 0 ? chainNowMs(deps) + bidTimeoutMs : Number.MAX_SAFE_INTEGER;
  const reserved = capacity.reserve({ orderId: key, group: order.spec, offer, expiresAtMs });
  if (reserved.fits) decider.promise(key, terms);
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
  const { capacity, decider, tally, chain, onNews, log } = deps;
  const { price } = decision;
  invariant(price, "a bid has a price", { key });
  tally.shouldBid.accept += 1;
  try {
    const message = createBidMessage(id, order, { ...terms, price, offer: reserved.offer });
    await writeBid(key, order, decision, reserved, message, deps);
  } catch (thrown) {
    decider.kept(key);
    await capacity.release(key, "the bid could not be written down");
    throw thrown;
  }
  chain.outbox.wake();
  onNews(key);
  log.info("bidding on order", { order: key, price: showDecCoin(price) });
  return done();
}

/** One unit: after a crash either all of it is there or nothing ever happened. */
async function writeBid(
  key: string,
  order: Order,
  decision: Decision,
  reserved: Reserved,
  message: PackedMessage,
  deps: OrderDeps,
): Promise<void> {
  const { chain, journal, bidTimeoutMs } = deps;
  const { price } = decision;
  const nowMs = chainNowMs(deps);
  const what = { subject: key, why: "an order to bid on", message, priority: "bid" } as const;
  const intent = chain.outbox.intentOf({ ...what, expiresAtMs: nowMs + bidIntentMs });
  await journal.durable("bid", (tables) => {
    recordDecision(tables, order, decision);
    if (price) tables.orders.noteBid(key, showDecCoin(price));
    reserved.write(tables);
    tables.intents.file(intent);
    if (bidTimeoutMs > 0) tables.deadlines.put({ kind: bidDeadline, subject: key, dueAtMs: nowMs + bidTimeoutMs });
  });
}

function goneWhilePriced(decision: Decision): Decision {
  const isOfPrice = ({ name }: Check) => name === "priceGiven" || name === "priceWithinMax";
  if (!refusals(decision).every(isOfPrice)) return decision;
  const [gone, unasked] = ["the order ended while it was priced", "the order ended"];
  const checks = decision.checks.map((check): Check => {
    if (!isOfPrice(check)) return check;
    const { name } = check;
    if (name === "priceGiven") return { name, verdict: "fail", reason: gone, evidence: {}, until: "never" };
    return { name, verdict: "not asked", reason: unasked, evidence: {} };
  });
  return { ...decision, verdict: "no", checks, price: undefined };
}

/** What was there at the decision was taken before the bid could have it. */
function lostRace(decision: Decision, { reason }: PlacementFailure): Decision {
  const refused = { verdict: "fail", reason: `another order was quicker: ${reason}`, until: "room" } as const;
  const checks = decision.checks.map((check) => (check.name === "placementExists" ? { ...check, ...refused } : check));
  return { ...decision, verdict: "no", checks };
}

/** The message that makes a bid; `chain/tx/closing.ts` has the one that takes it back. */
interface BidContent {
  readonly price: DecCoin;
  readonly deposit: Coin;
  readonly offer: Fits["offer"];
  /** Only where the order asks for one: the chain refuses it elsewhere. */
  readonly reclamationWindowNs: bigint | undefined;
}

/** Out of our own account. */
const fromBalance = 1;

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
