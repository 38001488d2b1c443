/** The running bid engine: what wakes the loop of an order, and what commands, the gateway and the live view call. */
import type { Bus } from "../bus/bus.ts";
import type { Chain, Settled, Step } from "../chain/chain.ts";
import { isPausing, pauseSwitch } from "../journal/deadlines.ts";
import type { Journal } from "../journal/journal.ts";
import { formatOrderId, isOrderKey, orderOf, parseBidId, parseOrderId } from "../market/ids.ts";
import { sleep } from "../runtime/clock.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { second } from "../runtime/durations.ts";
import type { Scope } from "../runtime/lifecycle.ts";
import { createQueue } from "../runtime/queue.ts";
import { changedStatuses } from "../runtime/throttle.ts";
import { createBidStatus, createCounters } from "./bid-status.ts";
import { createInFlight } from "./bidding.ts";
import type { Capacity } from "./capacity.ts";
import { type BidEngineOptions, createDecider } from "./decider.ts";
import type { Decision } from "./decision/decision.ts";
import type { BidRequest } from "./decision/inputs.ts";
import { describeShortages, shortagesOf } from "./decision/money-checks.ts";
import { createBidCounts, createOrderEnds } from "./order-ends.ts";
import { reconcileOrder } from "./order-loop.ts";
import { readOrderLine, readOrderReports, readOrders } from "./order-report.ts";
import type { PolicySource } from "./policies/policy-source.ts";
import type { RunningPricing } from "./pricing/create-pricing.ts";
import { followProviderRecord } from "./provider-record.ts";
import { createWaitingOrders } from "./waiting-orders.ts";

/** Runs of the order loop at once: those that wait for a price script must not hold up those that end a bid. */
const orderRuns = 10_000;
/** How often conditions that change without an event are checked, such as the age of a snapshot. */
export const orderTimeRecheckMs = 15 * second;

export interface BidEngineDeps extends RuntimeDeps {
  readonly chain: Promise<Chain>;
  readonly journal: Promise<Journal>;
  readonly bus: Promise<Bus>;
  readonly capacity: Promise<Capacity>;
  /** Called at the start and not before: it begins to follow files. */
  readonly pricing: () => RunningPricing;
  readonly policies: () => PolicySource;
}

type Parts = Awaited<ReturnType<typeof createParts>>;

async function createParts(scope: Scope, options: BidEngineOptions, deps: BidEngineDeps) {
  const { clock, random } = deps;
  const log = deps.log.with({ module: "bidengine" });
  const [chain, journal, bus] = await Promise.all([deps.chain, deps.journal, deps.bus]);
  const capacity = await deps.capacity;
  const [pricing, policies] = [deps.pricing(), deps.policies()];
  scope.onStop(policies.close);
  const listeners = new Set<(orderId: string) => void>();
  const onNews = (key: string) => {
    publishing.ask();
    for (const listener of listeners) listener(key);
  };
  const counters = createCounters();
  const waiting = createWaitingOrders(clock, (key) => void queue.add(key, "low"));
  const base = { chain, journal, capacity, counters, clock, random, log, onNews };
  const orderEnds = createOrderEnds(base);
  const bidCounts = createBidCounts();
  const record = followProviderRecord(options.attributes, base);
  const decider = createDecider(options, { ...base, pricing, policies, record, bidCounts });
  function error(): string | undefined {
    const wallet = describeShortages(shortagesOf(decider.needs()));
    const all = [capacity.inventory.error, pricing.error, policies.error, record.error, wallet];
    return all.filter(Boolean).join("; ") || undefined;
  }
  const status = createBidStatus({ ...base, waiting, error });
  const topics = () => ({ "akash.provider.bidengine.status": status.current() });
  const publishing = changedStatuses(clock, topics, bus.publish);
  const { bidTimeoutMs } = options;
  const order = { ...base, decider, decisions: createInFlight(), orderEnds, waiting, bidTimeoutMs };
  const queue = createQueue({
    ...{ name: "bidengine-orders", clock, random, log },
    work: (key, signal) => reconcileOrder(key, signal, order),
    concurrency: orderRuns,
  });
  const screenings = createInFlight();
  return { ...order, pricing, policies, listeners, bidCounts, record, status, publishing, queue, screenings };
}

export type OpenBidEngine = Awaited<ReturnType<typeof openBidEngine>>;

export async function openBidEngine(scope: Scope, options: BidEngineOptions, deps: BidEngineDeps) {
  const parts = await createParts(scope, options, deps);
  const { chain, journal, capacity, orderEnds, waiting, record, publishing, queue } = parts;
  const { mirror } = chain;
  chain.onStep(stepListener(parts));
  listen(scope, parts);
  waiting.start();
  scope.onStop(() => {
    waiting.stop();
    publishing.stop();
  });
  scope.task("provider record", record.run);
  scope.task("prices", parts.pricing.run);
  scope.task("orders", async (signal) => {
    await record.firstRead;
    await queue.run(signal);
  });
  scope.task("order ends", orderEnds.queue.run);
  scope.task("time", async (signal) => {
    while (!signal.aborted) {
      await sleep(parts.clock, orderTimeRecheckMs, signal);
      waiting.changed("time");
      cancelUnsentBids(parts);
    }
  });
  // Everything that may have changed while the provider was down.
  for (const { id } of mirror.orders()) queue.add(formatOrderId(id));
  for (const { id } of mirror.bids()) queue.add(formatOrderId(id), "high");
  for (const orderId of capacity.reserved()) queue.add(orderId, "high");
  for (const orderId of journal.read.orders.unfinished()) queue.add(orderId, "low");
  return { ...parts, engine: createEngine(parts, scope), queues: [queue, orderEnds.queue] };
}

function stepListener({ chain, orderEnds, bidCounts, record, decider, waiting, publishing, ...parts }: Parts) {
  const { queue, screenings, decisions } = parts;
  let wasBehind = true;

  function noteOrder(key: string): void {
    const isOpen = chain.mirror.order(parseOrderId(key)) !== undefined;
    if (isOpen) screenings.abortAll();
    else decisions.abort(key);
    queue.add(key, isOpen ? "normal" : "high");
  }

  return (step: Step): void => {
    if (step.block) {
      orderEnds.take(step.block);
      bidCounts.take(step.block);
    }
    record.onStep(step);
    const { isBehind } = decider;
    if (wasBehind && !isBehind) waiting.changed("time");
    wasBehind = isBehind;
    for (const { kind, key } of step.changed) {
      if (kind === "order") noteOrder(key);
      if (kind === "bid" || kind === "lease") queue.add(formatOrderId(orderOf(parseBidId(key))), "high");
      if (kind === "balance") waiting.changed("wallet");
    }
    publishing.ask();
  };
}

function listen(scope: Scope, parts: Parts): void {
  const { chain, journal, decider, counters, capacity, pricing, policies, record, waiting, queue } = parts;
  function onSettled({ id, state }: Settled): void {
    const { what, subject } = journal.read.intents.get(id) ?? {};
    // Closes of leases have a lease as their subject.
    if ((what !== "createBid" && what !== "closeBid") || !subject || !isOrderKey(subject)) return;
    if (what === "createBid") {
      decider.release(subject);
      // A bid that failed frees the coins set aside for it, and no balance event says so.
      waiting.changed("wallet");
      if (state === "failed") record.refresh();
    }
    counters.settled(what === "createBid" ? "open" : "close", state);
    queue.add(subject, "high");
  }
  scope.onStop(chain.outbox.onSettled(onSettled));
  capacity.onRoom(() => waiting.changed("room"));
  capacity.onExpired((orderId) => queue.add(orderId, "high"));
  pricing.onChange(() => waiting.changed("prices"));
  policies.onChange(() => {
    waiting.changed("policies");
    // A cap may have been raised.
    waiting.changed("room");
  });
  record.onChange(() => {
    waiting.changed("attributes");
    waiting.changed("time");
  });
}

/** While bidding is paused: bids that were filed before the pause, and those that the outbox files again. */
function cancelUnsentBids({ journal, decider, queue }: Parts): void {
  const { intents } = journal.read;
  for (const { what, state, subject } of decider.isPaused ? intents.unsettled(intents.owed()) : []) {
    if (what === "createBid" && state === "filed") queue.add(subject, "high");
  }
}

export type BidEngine = ReturnType<typeof createEngine>;

function createEngine(parts: Parts, scope: Scope) {
  const { journal, waiting, publishing, decider, screenings, queue, status, listeners, clock } = parts;
  const { read } = journal;
  const undecided = () => queue.counts.ready + queue.counts.running;
  const switchPause = async <T>(change: () => Promise<T>): Promise<T> => {
    const changed = await change();
    waiting.changed("policies");
    cancelUnsentBids(parts);
    publishing.ask();
    return changed;
  };
  /** What `pause` would put in force. A pause in force keeps its beginning: planning another must not resume bidding. */
  function plannedPause(reason: string, fromMs?: number) {
    const current = read.switches.get(pauseSwitch);
    const beginsMs = isPausing(current, clock.now()) ? current?.fromMs : fromMs;
    return { reason, ...(beginsMs !== undefined && { fromMs: beginsMs }) };
  }
  return {
    /** Stops bidding on new orders, now or from a time on, until `resume`; survives a restart. Open bids stay. */
    pause(reason: string, fromMs?: number) {
      const pause = { name: pauseSwitch, ...plannedPause(reason, fromMs) };
      return switchPause(() => journal.durable("pause", ({ switches }) => switches.put(pause)));
    },
    plannedPause,
    /** False when it was not paused. */
    resume: () => switchPause(() => journal.durable("resume", ({ switches }) => switches.remove(pauseSwitch))),
    get paused() {
      return read.switches.get(pauseSwitch);
    },
    /** Orders being decided on, and open bids. */
    get inFlight() {
      return undecided() + status.openBids();
    },
    /** What the next bid needs of the wallet, by denomination; while less of any is there, nothing is bid. */
    needs: decider.needs,
    /** The orders seen last, the newest first. */
    orders: (limit: number) => readOrders(read, limit),
    order: (orderId: string) => readOrderLine(read, orderId),
    /** All that is known of an order, or of those of a deployment: "owner/dseq" or "owner/dseq/gseq/oseq". */
    why: (id: string) => readOrderReports(read, id),
    /** What would be decided on such an order now. Nothing is taken, written or sent. */
    screen: (request: BidRequest, signal = scope.signal) => decider.screen(request, signal),
    /** The same while no order waits for a decision; undefined when one does, or arrives before the result. */
    async screenBetweenOrders(request: BidRequest, signal: AbortSignal): Promise<Decision | undefined> {
      if (undecided() > 0) return undefined;
      return screenings.run(Symbol(), signal, async (until) => {
        const decision = await decider.screen(request, until).catch((thrown: unknown) => {
          if (!until.aborted) throw thrown;
        });
        return until.aborted ? undefined : (decision ?? undefined);
      });
    },
    /** Notified of the id of every order with news; returns how to unsubscribe. */
    onNews(listener: (orderId: string) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
