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

import { mirrorTrouble } from "../chain/chain.ts";
import { closeBidMessage } from "../chain/closing.ts";
import type { Bid } from "../chain/records.ts";
import { isUnderWay } from "../journal/intents.ts";
import { minute, second } from "../runtime/durations.ts";
import { done, type Outcome, recheck, waiting } from "../runtime/outcome.ts";
import type { BidOutcome } from "./bid-status.ts";
import { consider } from "./bidding.ts";
import { bidDeadline, chainNowMs, noteOver, type OrderDeps, type OrderFacts, readOrderFacts } from "./order-state.ts";

/** A bid that could not be closed is tried again after this: each attempt may cost a fee. */
export const bidCloseRetryMs = minute;
/** The mirror and the chain do not agree on a bid: the next block settles it. */
const bidLookAgainMs = 2 * second;

export async function reconcileOrder(key: string, signal: AbortSignal, deps: OrderDeps): Promise<Outcome> {
  const { chain, tally } = deps;
  const unbuilt = mirrorTrouble(chain.mirror);
  if (unbuilt !== undefined) return waiting("chain", unbuilt);
  const state = readOrderFacts(key, deps);
  if (state.order) tally.begin(key);
  else noteOver(state, deps);
  if (state.lease || state.bid?.state === "active") return handOver(state, deps);
  if (isUnderWay(state.filed)) return awaitBid(state, deps);
  // Not in the mirror: it ended while we were away, or it never was.
  const bid = state.bid ?? (state.filed && (await bidOnChain(state, signal, deps)));
  if (bid) return followBid(state, bid, signal, deps);
  if (state.filed) return withoutBid(state, signal, deps);
  if (state.order) return consider(state, state.order, signal, deps);
  await release(state, "the order is gone", deps);
  return done();
}

async function release({ key, isReserved }: OrderFacts, why: string, { capacity }: OrderDeps): Promise<void> {
  if (isReserved) await capacity.release(key, why);
}

async function bidOnChain({ id }: OrderFacts, signal: AbortSignal, { chain }: OrderDeps): Promise<Bid | undefined> {
  return (await chain.queries.bid(id, { atOrAbove: chain.mirror.height, signal })).value;
}

async function awaitBid(state: OrderFacts, deps: OrderDeps): Promise<Outcome> {
  const { order, filed } = state;
  const { outbox } = deps.chain;
  if (!filed) return done();
  // It is looked at again when the cancellation is settled.
  if (order && filed.state === "filed" && deps.decider.isPaused) await outbox.cancel(filed.id, "bidding is paused");
  if (order) return done();
  // It cannot win any more. If it has left, what became of it is looked at when it is settled.
  await release(state, "the order is gone", deps);
  if (await outbox.cancel(filed.id, "the order is gone")) await conclude(state, "order closed", deps);
  return done();
}

/** The chain has no bid of ours, and our intent to make one is settled. */
async function withoutBid(state: OrderFacts, signal: AbortSignal, deps: OrderDeps): Promise<Outcome> {
  const { order, filed } = state;
  if (filed?.state === "done") return waiting("chain", "the chain does not show the bid that it has accepted");
  await release(state, "the bid was not made", deps);
  // It never left; the next one is decided on anew, since prices and the cluster may be others by now.
  const neverLeft = filed?.state === "expired" || filed?.state === "cancelled";
  if (neverLeft && order) return consider(state, order, signal, deps);
  await conclude(state, order ? "failed" : "order closed", deps);
  return done();
}

async function followBid(state: OrderFacts, bid: Bid, signal: AbortSignal, deps: OrderDeps): Promise<Outcome> {
  if (bid.state === "active") return handOver(state, deps);
  if (bid.state === "lost") return finish(state, "lost", deps);
  if (bid.state === "closed") return finish(state, await closedBy(state, signal, deps), deps);
  return state.order ? stay(state, bid, signal, deps) : takeBack(state, signal, deps);
}

/** Somebody closed it: we, the tenant with the whole deployment, or whoever else may. */
async function closedBy(
  { id, seen, closing }: OrderFacts,
  signal: AbortSignal,
  { memory }: OrderDeps,
): Promise<BidOutcome> {
  if (seen?.outcome === undefined && (closing?.state === "done" || isUnderWay(closing))) return "timed out";
  if (seen?.outcome !== undefined) return "bid closed";
  // The chain is asked for the order as it was for the bid: the mirror may be behind both.
  const end = await memory.endOf(id, signal);
  if (!end) return "bid closed";
  if (end.how !== "leased") return "order closed";
  // Won and over before anybody looked.
  return end.winner === id.provider ? "won" : "lost";
}

async function finish(state: OrderFacts, outcome: BidOutcome, deps: OrderDeps): Promise<Outcome> {
  await release(state, `the bid is over: ${outcome}`, deps);
  await conclude(state, outcome, deps);
  return done();
}

/** Bid and order are open: the tenant has not chosen yet. */
async function stay(state: OrderFacts, { createdAt }: Bid, signal: AbortSignal, deps: OrderDeps): Promise<Outcome> {
  const { chain, journal, bidTimeoutMs } = deps;
  if (isUnderWay(state.closing) || bidTimeoutMs === 0) return done();
  const nowMs = chainNowMs(deps);
  const { blockTimeMs } = chain.status;
  // Of a bid that our journal does not know, since another one was lost: by its age.
  const byAgeMs = nowMs - Number(chain.mirror.height - createdAt) * blockTimeMs + bidTimeoutMs;
  const leftMs = (journal.read.deadlines.get(bidDeadline, state.key)?.dueAtMs ?? byAgeMs) - nowMs;
  return leftMs > 0 ? recheck(Math.max(leftMs, blockTimeMs)) : closeBid(state, "timed out", signal, deps);
}

/** Our bid is open and its order is not: the chain leaves it so, and the deposit locked. */
async function takeBack(state: OrderFacts, signal: AbortSignal, deps: OrderDeps): Promise<Outcome> {
  const end = await deps.memory.endOf(state.id, signal);
  if (!end) return waiting("chain", "the chain has this order open, and the mirror does not know it");
  if (end.winner === state.id.provider) return handOver(state, deps);
  return closeBid(state, end.how === "leased" ? "lost" : "order closed", signal, deps);
}

/** One that is too old keeps its capacity until the chain has closed it: it may be won until then. */
async function closeBid(
  state: OrderFacts,
  outcome: BidOutcome,
  signal: AbortSignal,
  deps: OrderDeps,
): Promise<Outcome> {
  const { chain, journal } = deps;
  const { key, id, closing } = state;
  const why = `the bid is over: ${outcome}`;
  if (!state.order) await release(state, why, deps);
  if (isUnderWay(closing)) return done();
  const restedMs = journal.nowMs() - (closing?.filedAtMs ?? 0);
  // Below zero after the local clock was set back.
  if (restedMs >= 0 && restedMs < bidCloseRetryMs) return recheck(bidCloseRetryMs);
  // A bid that was won meanwhile must not be closed: that would end the lease.
  const proof = await bidOnChain(state, signal, deps);
  if (proof?.state !== "open") return recheck(bidLookAgainMs);
  const intent = chain.outbox.intentOf({ subject: key, why, message: closeBidMessage(id), priority: "close" });
  const isFirst = await journal.durable("close bid", (tables) => {
    tables.intents.file(intent);
    // While its order is open it may still be won.
    if (state.order) return false;
    tables.deadlines.remove(bidDeadline, key);
    return tables.orders.noteOutcome(key, outcome);
  });
  chain.outbox.wake();
  if (isFirst) noteOutcome(key, outcome, deps);
  return done();
}

/** The capacity stays, and is the lease's from now on. */
async function handOver(state: OrderFacts, deps: OrderDeps): Promise<Outcome> {
  const { closing } = state;
  if (closing && isUnderWay(closing)) await deps.chain.outbox.cancel(closing.id, "the bid was won");
  await conclude(state, "won", deps);
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

function noteOutcome(key: string, outcome: BidOutcome, { tally, onNews, log }: OrderDeps): void {
  tally.complete[outcome] += 1;
  onNews(key);
  log.info(`bid ${outcome}`, { order: key });
}
