/**
 * Reconciles one order with chain and journal, from its first event to its end. It runs alike at start, on an event, after an
 * error and on a timer.
 *
 *   open, no bid of ours     decide; a yes takes capacity, and is written down with it in one unit
 *   bid under way            wait for its result; cancel it when the order is gone, or bidding paused, before it is sent
 *   bid open, order open     wait until it is won or too old
 *   bid open, order gone     close the bid, or its deposit stays locked for ever
 *   bid lost or closed       release the capacity
 *   lease of ours            hand the capacity over to the lease
 */

import { mirrorUnavailable } from "../chain/chain.ts";
import { closeBidMessage } from "../chain/closing.ts";
import type { Bid } from "../chain/records.ts";
import { isUnderWay } from "../journal/intents.ts";
import { minute, second } from "../runtime/durations.ts";
import { done, type Outcome, recheck, waiting } from "../runtime/outcome.ts";
import type { BidOutcome } from "./bid-status.ts";
import {
  bidDeadline,
  chainNowMs,
  decideAndBid,
  noteOver,
  type OrderDeps,
  type OrderFacts,
  readOrderFacts,
} from "./bidding.ts";

/** A bid that could not be closed is tried again after this: each attempt may cost a fee. */
export const bidCloseRetryMs = minute;
/** The mirror and the chain do not agree on a bid: the next block settles it. */
const bidRecheckMs = 2 * second;

export async function reconcileOrder(key: string, signal: AbortSignal, deps: OrderDeps): Promise<Outcome> {
  const { chain, counters } = deps;
  const unbuilt = mirrorUnavailable(chain.mirror);
  if (unbuilt !== undefined) return waiting("chain", unbuilt);
  const facts = readOrderFacts(key, deps);
  if (facts.order) counters.begin(key);
  else noteOver(facts, deps);
  if (facts.lease || facts.bid?.state === "active") return handOver(facts, deps);
  if (isUnderWay(facts.filed)) return awaitBid(facts, deps);
  // Not in the mirror: it ended while we were away, or it never was.
  const bid = facts.bid ?? (facts.filed && (await bidOnChain(facts, signal, deps)));
  if (bid) return followBid(facts, bid, signal, deps);
  if (facts.filed) return withoutBid(facts, signal, deps);
  if (facts.order) return decideAndBid(facts, facts.order, signal, deps);
  await release(facts, "the order is gone", deps);
  return done();
}

async function release({ key, isReserved }: OrderFacts, why: string, { capacity }: OrderDeps): Promise<void> {
  if (isReserved) await capacity.release(key, why);
}

async function bidOnChain({ id }: OrderFacts, signal: AbortSignal, { chain }: OrderDeps): Promise<Bid | undefined> {
  return (await chain.queries.bid(id, { atOrAbove: chain.mirror.height, signal })).value;
}

async function awaitBid(facts: OrderFacts, deps: OrderDeps): Promise<Outcome> {
  const { order, filed } = facts;
  const { outbox } = deps.chain;
  if (!filed) return done();
  // Reconciled again when the cancellation is settled.
  if (order && filed.state === "filed" && deps.decider.isPaused) await outbox.cancel(filed.id, "bidding is paused");
  if (order) return done();
  // It cannot win any more. If it was sent, its result is handled when it is settled.
  await release(facts, "the order is gone", deps);
  if (await outbox.cancel(filed.id, "the order is gone")) await conclude(facts, "order closed", deps);
  return done();
}

/** The chain has no bid of ours, and our intent to make one is settled. */
async function withoutBid(facts: OrderFacts, signal: AbortSignal, deps: OrderDeps): Promise<Outcome> {
  const { order, filed } = facts;
  if (filed?.state === "done") return waiting("chain", "the chain does not show the bid that it has accepted");
  await release(facts, "the bid was not made", deps);
  // Decided on anew: prices and the cluster may have changed.
  const neverLeft = filed?.state === "expired" || filed?.state === "cancelled";
  if (neverLeft && order) return decideAndBid(facts, order, signal, deps);
  await conclude(facts, order ? "failed" : "order closed", deps);
  return done();
}

async function followBid(facts: OrderFacts, bid: Bid, signal: AbortSignal, deps: OrderDeps): Promise<Outcome> {
  if (bid.state === "active") return handOver(facts, deps);
  if (bid.state === "lost") return finish(facts, "lost", deps);
  if (bid.state === "closed") return finish(facts, await closedBy(facts, signal, deps), deps);
  return facts.order ? stay(facts, bid, signal, deps) : takeBack(facts, signal, deps);
}

/** Closed by us, by the tenant with the whole deployment, or by the chain. */
async function closedBy(
  { id, seen, closing }: OrderFacts,
  signal: AbortSignal,
  { orderEnds }: OrderDeps,
): Promise<BidOutcome> {
  if (seen?.outcome === undefined && (closing?.state === "done" || isUnderWay(closing))) return "timed out";
  if (seen?.outcome !== undefined) return "bid closed";
  const end = await orderEnds.endOf(id, signal);
  if (!end) return "bid closed";
  if (end.how !== "leased") return "order closed";
  // Won and over before it was seen.
  return end.winner === id.provider ? "won" : "lost";
}

async function finish(facts: OrderFacts, outcome: BidOutcome, deps: OrderDeps): Promise<Outcome> {
  await release(facts, `the bid is over: ${outcome}`, deps);
  await conclude(facts, outcome, deps);
  return done();
}

/** Bid and order are open: the tenant has not chosen yet. */
async function stay(facts: OrderFacts, { createdAt }: Bid, signal: AbortSignal, deps: OrderDeps): Promise<Outcome> {
  const { chain, journal, bidTimeoutMs } = deps;
  if (isUnderWay(facts.closing) || bidTimeoutMs === 0) return done();
  const nowMs = chainNowMs(deps);
  const { blockTimeMs } = chain.status;
  // A bid from before the journal was lost has no deadline: by its age.
  const byAgeMs = nowMs - Number(chain.mirror.height - createdAt) * blockTimeMs + bidTimeoutMs;
  const leftMs = (journal.read.deadlines.get(bidDeadline, facts.key)?.dueAtMs ?? byAgeMs) - nowMs;
  return leftMs > 0 ? recheck(Math.max(leftMs, blockTimeMs)) : closeBid(facts, "timed out", signal, deps);
}

/** Our bid is open and its order is not: the chain leaves it so, and the deposit locked. */
async function takeBack(facts: OrderFacts, signal: AbortSignal, deps: OrderDeps): Promise<Outcome> {
  const end = await deps.orderEnds.endOf(facts.id, signal);
  if (!end) return waiting("chain", "the chain has this order open, and the mirror does not know it");
  if (end.winner === facts.id.provider) return handOver(facts, deps);
  return closeBid(facts, end.how === "leased" ? "lost" : "order closed", signal, deps);
}

/** A bid that timed out keeps its capacity until the chain has closed it: it may be won until then. */
async function closeBid(
  facts: OrderFacts,
  outcome: BidOutcome,
  signal: AbortSignal,
  deps: OrderDeps,
): Promise<Outcome> {
  const { chain, journal } = deps;
  const { key, id, closing } = facts;
  const why = `the bid is over: ${outcome}`;
  if (!facts.order) await release(facts, why, deps);
  if (isUnderWay(closing)) return done();
  const restedMs = journal.nowMs() - (closing?.filedAtMs ?? 0);
  // Below zero after the local clock was set back.
  if (restedMs >= 0 && restedMs < bidCloseRetryMs) return recheck(bidCloseRetryMs);
  // A bid that was won meanwhile must not be closed: that would end the lease.
  const proof = await bidOnChain(facts, signal, deps);
  if (proof?.state !== "open") return recheck(bidRecheckMs);
  const intent = chain.outbox.intentOf({ subject: key, why, message: closeBidMessage(id), priority: "close" });
  const isFirst = await journal.durable("close bid", (tables) => {
    tables.intents.file(intent);
    // While its order is open it may still be won.
    if (facts.order) return false;
    tables.deadlines.remove(bidDeadline, key);
    return tables.orders.noteOutcome(key, outcome);
  });
  chain.outbox.wake();
  if (isFirst) noteOutcome(key, outcome, deps);
  return done();
}

/** The capacity stays, and is the lease's from now on. */
async function handOver(facts: OrderFacts, deps: OrderDeps): Promise<Outcome> {
  const { closing } = facts;
  if (closing && isUnderWay(closing)) await deps.chain.outbox.cancel(closing.id, "the bid was won");
  await conclude(facts, "won", deps);
  return done();
}

/** What became of our bid, once. */
async function conclude({ key, seen }: OrderFacts, outcome: BidOutcome, deps: OrderDeps): Promise<void> {
  const { journal } = deps;
  const hasDeadline = journal.read.deadlines.get(bidDeadline, key) !== undefined;
  if (!hasDeadline && (!seen || seen.outcome !== undefined)) return;
  const isFirst = await journal.relaxed("bid outcome", ({ deadlines, orders }) => {
    deadlines.remove(bidDeadline, key);
    return orders.noteOutcome(key, outcome);
  });
  if (isFirst) noteOutcome(key, outcome, deps);
}

function noteOutcome(key: string, outcome: BidOutcome, { counters, onNews, log }: OrderDeps): void {
  counters.outcomes[outcome] += 1;
  onNews(key);
  log.info(`bid ${outcome}`, { order: key });
}
