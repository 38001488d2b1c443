/**
 * The loop of one order, from its first look to its end. It runs alike at start, on an event, after an error and on a
 * timer: it reads what chain and journal say, and makes the smallest change that brings them together.
 *
 *   open, no bid of ours     decide; a yes takes capacity, and is written down with it in one unit
 *   bid under way            wait for the chain's word; cancel it when the order is gone, or bidding paused, before it left
 *   bid open, order open     wait until it is won or too old
 *   bid open, order gone     take the bid back, or its deposit stays locked for ever
 *   bid lost or closed       let go of the capacity
 *   lease of ours            hand the capacity over to the lease
 */

import { MsgCreateBid, ResourceOffer } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { Chain } from "../chain/chain.ts";
import { writeUnitResources } from "../chain/codec/group-spec.ts";
import { writeId } from "../chain/codec/wire64.ts";
import { mirrorTrouble } from "../chain/mirror-trouble.ts";
import type { Bid, Order } from "../chain/records.ts";
import { closeBidMessage } from "../chain/tx/closing.ts";
import { type PackedMessage, packMessage } from "../chain/tx/messages.ts";
import { isUnderWay } from "../journal/intents.ts";
import type { Journal } from "../journal/journal.ts";
import { type Coin, type DecCoin, showDecCoin } from "../market/coin.ts";
import { showDecimal } from "../market/decimal.ts";
import type { Fits, Misfit } from "../market/fit.ts";
import type { BidId } from "../market/ids.ts";
import { nsToMs } from "../runtime/clock.ts";
import { minute, second } from "../runtime/durations.ts";
import { invariant } from "../runtime/invariant.ts";
import { outboxIntents } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import { done, type Outcome, recheck, waiting } from "../runtime/outcome.ts";
import type { Askings } from "./askings.ts";
import type { Capacity, Reserved } from "./capacity.ts";
import type { Decider } from "./decider.ts";
import { type Check, type Decision, refusals, waitsFor } from "./decision/decision.ts";
import type { BidTerms } from "./decision/money-checks.ts";
import { isNews, recordDecision } from "./decision-log.ts";
import type { MarketMemory } from "./market-memory.ts";
import type { BidOutcome, Tally } from "./tally.ts";
import { readTruth, type Truth } from "./truth.ts";
import type { WaitingOrders } from "./waiting-orders.ts";

/** A bid that has not left by then was priced for another world. */
export const bidIntentMs = 10 * minute;
/** A bid that could not be closed is tried again after this: each attempt may cost a fee. */
export const bidCloseRetryMs = minute;
/** The mirror and the chain do not agree on a bid: the next block settles it. */
const bidLookAgainMs = 2 * second;

interface LoopDeps {
  readonly chain: Pick<Chain, "mirror" | "provider" | "outbox" | "queries" | "status">;
  readonly journal: Journal;
  readonly capacity: Capacity;
  readonly decider: Pick<Decider, "decide" | "isPaused" | "terms" | "covers" | "withinCaps" | "promise" | "kept">;
  readonly askings: Askings;
  readonly memory: Pick<MarketMemory, "endOf" | "ended">;
  readonly waits: WaitingOrders;
  readonly tally: Tally;
  /** 0 turns it off. */
  readonly bidTimeoutMs: number;
  /** Told when something about an order was written down. */
  readonly onNews: (key: string) => void;
  readonly log: Log;
}

/** The kind of its deadlines. */
const bidDeadline = "bid";

export function createOrderLoop(deps: LoopDeps) {
  const { chain, journal, capacity, decider, askings, memory, waits, tally, bidTimeoutMs, onNews, log } = deps;
  const { mirror, outbox, queries } = chain;
  /** What a bid is timed by: the local clock may be wrong, and be corrected meanwhile. */
  const chainNowMs = () => nsToMs(mirror.timeNs);

  async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    const unbuilt = mirrorTrouble(mirror);
    if (unbuilt !== undefined) return waiting("chain", unbuilt);
    const truth = readTruth(key, chain, journal.read);
    if (truth.order) tally.begin(key);
    else over(truth);
    if (truth.lease || truth.bid?.state === "active") return handOver(truth);
    if (isUnderWay(truth.filed)) return awaitBid(truth);
    const bid = truth.bid ?? (truth.filed && (await askForBid(truth, signal)));
    if (bid) return followBid(truth, bid, signal);
    if (truth.filed) return withoutBid(truth, signal);
    return truth.order ? consider(truth, truth.order, signal) : letGo(truth, "the order is gone");
  }

  /** The order is not open any more: nobody waits for it, and how it ended is worth knowing. */
  function over({ key, seen }: Truth): void {
    waits.forget(key);
    tally.end(key);
    if (seen && !seen.end) memory.ended(key);
  }

  async function letGo({ key, isReserved }: Truth, why: string): Promise<Outcome> {
    if (isReserved) await capacity.release(key, why);
    return done();
  }

  async function consider(truth: Truth, order: Order, signal: AbortSignal): Promise<Outcome> {
    const { key, seen } = truth;
    // A bid from so long ago that its intent is forgotten; the chain takes no second one.
    if (seen?.ourPrice !== undefined && !truth.filed) return letGo(truth, "our bid on it is over");
    // Whoever decides at the same time may take what this one counts on; the second decision knows that.
    for (let isFirst = true; ; isFirst = false) {
      const mark = waits.mark;
      const deciding = askings.during(key, signal, (until) => decider.decide(order, seen !== undefined, until));
      const decision = await deciding.catch((thrown: unknown) => {
        tally.shouldBid.fail += 1;
        throw thrown;
      });
      const isOpen = mirror.order(order.id) !== undefined;
      if (decision.verdict === "bid" && isOpen) {
        // Whoever paused or changed prices while this one was asked for means it too.
        if (waits.hasChanged("policies", mark) || waits.hasChanged("prices", mark)) continue;
        if (journal.read.intents.owed() >= outboxIntents) return waiting("outbox", "it is full");
        const terms = decider.terms(order);
        const taken = take(truth, order, decision, terms);
        if (taken.fits) return placeBid(truth, order, decision, taken, terms);
        if (isFirst) continue;
        waits.wait(key, new Set(["room"]), mark);
        await note(key, order, outrun(decision, taken));
        return done();
      }
      if (isOpen) {
        tally.shouldBid.decline += 1;
        waits.wait(key, waitsFor(decision), mark, decision.isLimited);
        await note(key, order, decision);
      } else {
        await note(key, order, goneWhilePriced(decision));
        over(readTruth(key, chain, journal.read));
      }
      return done();
    }
  }

  async function note(key: string, order: Order, decision: Decision): Promise<void> {
    if (!isNews(journal.read, key, decision, journal.nowMs())) return;
    await journal.relaxed("decision", (tables) => recordDecision(tables, order, decision));
    onNews(key);
  }

  /** In one step with nothing between: what is free is taken at once or not at all. */
  function take({ key }: Truth, order: Order, { offer }: Decision, terms: BidTerms): Reserved | Misfit {
    invariant(offer, "a bid has an offer", { key });
    if (!decider.covers(terms)) return { fits: false, reason: "the wallet is promised to other bids", shortages: [] };
    if (!decider.withinCaps(order, offer)) return { fits: false, reason: "the caps leave no room", shortages: [] };
    const expiresAtMs = bidTimeoutMs > 0 ? chainNowMs() + bidTimeoutMs : Number.MAX_SAFE_INTEGER;
    const reserved = capacity.reserve({ orderId: key, group: order.spec, offer, expiresAtMs });
    if (reserved.fits) decider.promise(key, terms);
    return reserved;
  }

  async function placeBid(
    truth: Truth,
    order: Order,
    decision: Decision,
    reserved: Reserved,
    terms: BidTerms,
  ): Promise<Outcome> {
    const { key, id } = truth;
    const { price } = decision;
    invariant(price, "a bid has a price", { key });
    tally.shouldBid.accept += 1;
    try {
      const message = createBidMessage(id, order, { ...terms, price, offer: reserved.offer });
      await writeBid(truth, order, decision, reserved, message);
    } catch (thrown) {
      decider.kept(key);
      await capacity.release(key, "the bid could not be written down");
      throw thrown;
    }
    outbox.wake();
    onNews(key);
    log.info("bidding on order", { order: key, price: showDecCoin(price) });
    return done();
  }

  /** One unit: after a crash either all of it is there or nothing ever happened. */
  async function writeBid(
    { key }: Truth,
    order: Order,
    decision: Decision,
    reserved: Reserved,
    message: PackedMessage,
  ): Promise<void> {
    const expiresAtMs = chainNowMs() + bidIntentMs;
    const intent = outbox.intentOf({ subject: key, why: "an order to bid on", message, priority: "bid", expiresAtMs });
    const { price } = decision;
    await journal.durable("bid", (tables) => {
      recordDecision(tables, order, decision);
      if (price) tables.orders.noteBid(key, showDecCoin(price));
      reserved.write(tables);
      tables.intents.file(intent);
      if (bidTimeoutMs > 0) {
        tables.deadlines.put({ kind: bidDeadline, subject: key, dueAtMs: chainNowMs() + bidTimeoutMs });
      }
    });
  }

  async function awaitBid(truth: Truth): Promise<Outcome> {
    const { key, order, filed } = truth;
    if (!filed) return done();
    // It is looked at again when the cancellation is settled.
    if (order && filed.state === "filed" && decider.isPaused) await outbox.cancel(filed.id, "bidding is paused");
    if (order) return done();
    // It cannot win any more. If it has left, what became of it is looked at when it is settled.
    if (truth.isReserved) await capacity.release(key, "the order is gone");
    if (await outbox.cancel(filed.id, "the order is gone")) await conclude(truth, "order closed");
    return done();
  }

  /** Not in the mirror: it ended while we were away, or it never was. */
  async function askForBid({ id }: Truth, signal: AbortSignal): Promise<Bid | undefined> {
    return (await queries.bid(id, { atOrAbove: mirror.height, signal })).value;
  }

  /** The chain has no bid of ours, and our wish to make one is settled. */
  async function withoutBid(truth: Truth, signal: AbortSignal): Promise<Outcome> {
    const { key, order, filed } = truth;
    if (filed?.state === "done") return waiting("chain", "the chain does not show the bid that it has accepted");
    if (truth.isReserved) await capacity.release(key, "the bid was not made");
    // It never left; the next one is decided on anew, since prices and the cluster may be others by now.
    if ((filed?.state === "expired" || filed?.state === "cancelled") && order) return consider(truth, order, signal);
    await conclude(truth, order ? "failed" : "order closed");
    return done();
  }

  async function followBid(truth: Truth, bid: Bid, signal: AbortSignal): Promise<Outcome> {
    if (bid.state === "active") return handOver(truth);
    if (bid.state === "lost") return finish(truth, "lost");
    if (bid.state === "closed") return finish(truth, await closedBy(truth, signal));
    return truth.order ? stay(truth, bid, signal) : takeBack(truth, signal);
  }

  /** Somebody closed it: we, the tenant with the whole deployment, or whoever else may. */
  async function closedBy({ id, seen, closing }: Truth, signal: AbortSignal): Promise<BidOutcome> {
    if (seen?.outcome === undefined && (closing?.state === "done" || isUnderWay(closing))) return "timed out";
    if (seen?.outcome !== undefined) return "bid closed";
    // The chain is asked for the order as it was for the bid: the mirror may be behind both.
    const end = await memory.endOf(id, signal);
    if (!end) return "bid closed";
    if (end.how !== "leased") return "order closed";
    // Won and over before anybody looked.
    return end.winner === id.provider ? "won" : "lost";
  }

  async function finish(truth: Truth, outcome: BidOutcome): Promise<Outcome> {
    if (truth.isReserved) await capacity.release(truth.key, `the bid is over: ${outcome}`);
    await conclude(truth, outcome);
    return done();
  }

  /** Bid and order are open: the tenant has not chosen yet. */
  async function stay(truth: Truth, bid: Bid, signal: AbortSignal): Promise<Outcome> {
    const { key, closing } = truth;
    if (isUnderWay(closing)) return done();
    if (bidTimeoutMs === 0) return done();
    const dueAtMs = journal.read.deadlines.get(bidDeadline, key)?.dueAtMs ?? dueByAge(bid);
    const leftMs = dueAtMs - chainNowMs();
    return leftMs > 0 ? recheck(Math.max(leftMs, chain.status.blockTimeMs)) : closeBid(truth, "timed out", signal);
  }

  /** Of a bid that our journal does not know: another one was lost. */
  function dueByAge({ createdAt }: Bid): number {
    const blocks = Number(mirror.height - createdAt);
    return chainNowMs() - blocks * chain.status.blockTimeMs + bidTimeoutMs;
  }

  /** Our bid is open and its order is not: the chain leaves it so, and the deposit locked. */
  async function takeBack(truth: Truth, signal: AbortSignal): Promise<Outcome> {
    const end = await memory.endOf(truth.id, signal);
    if (!end) return waiting("chain", "the chain has this order open, and the mirror does not know it");
    if (end.winner === truth.id.provider) return handOver(truth);
    return closeBid(truth, end.how === "leased" ? "lost" : "order closed", signal);
  }

  /** One that is too old keeps its capacity until the chain has closed it: it may be won until then. */
  async function closeBid(truth: Truth, outcome: BidOutcome, signal: AbortSignal): Promise<Outcome> {
    const { key, id, closing } = truth;
    const why = `the bid is over: ${outcome}`;
    if (truth.isReserved && !truth.order) await capacity.release(key, why);
    if (isUnderWay(closing)) return done();
    const restedMs = journal.nowMs() - (closing?.filedAtMs ?? 0);
    // Below zero after the local clock was set back.
    if (restedMs >= 0 && restedMs < bidCloseRetryMs) return recheck(bidCloseRetryMs);
    // A bid that was won meanwhile must not be closed: that would end the lease.
    const proof = await queries.bid(id, { atOrAbove: mirror.height, signal });
    if (proof.value?.state !== "open") return recheck(bidLookAgainMs);
    const intent = outbox.intentOf({ subject: key, why, message: closeBidMessage(id), priority: "close" });
    const isFirst = await journal.durable("close bid", (tables) => {
      tables.intents.file(intent);
      // While its order is open it may still be won.
      if (truth.order) return false;
      tables.deadlines.remove(bidDeadline, key);
      return tables.orders.noteOutcome(key, outcome);
    });
    outbox.wake();
    told(key, outcome, isFirst);
    return done();
  }

  /** The capacity stays, and is the lease's from now on. */
  async function handOver(truth: Truth): Promise<Outcome> {
    const { closing } = truth;
    if (closing && isUnderWay(closing)) await outbox.cancel(closing.id, "the bid was won");
    await conclude(truth, "won");
    return done();
  }

  /** What became of our bid, once. */
  async function conclude({ key, seen }: Truth, outcome: BidOutcome): Promise<void> {
    const hasDeadline = journal.read.deadlines.get(bidDeadline, key) !== undefined;
    if (!hasDeadline && (!seen || seen.outcome !== undefined)) return;
    const isFirst = await journal.relaxed("bid outcome", ({ deadlines, orders }) => {
      deadlines.remove(bidDeadline, key);
      return orders.noteOutcome(key, outcome);
    });
    told(key, outcome, isFirst);
  }

  function told(key: string, outcome: BidOutcome, isFirst: boolean): void {
    if (!isFirst) return;
    tally.complete[outcome] += 1;
    onNews(key);
    log.info(`bid ${outcome}`, { order: key });
  }

  return { look };
}

/** Nothing is bid, whatever the price came to. */
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
function outrun(decision: Decision, { reason }: Misfit): Decision {
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
