/** The bid engine: every open order is decided on, bid for where that is a yes, and followed to its end. */

import type { Bus } from "../bus/bus.ts";
import type { Chain, Settled, Step } from "../chain/chain.ts";
import { isPausing, pauseSwitch } from "../journal/deadlines.ts";
import type { Journal } from "../journal/journal.ts";
import type { Coin } from "../market/coin.ts";
import type { Attribute } from "../market/group-spec.ts";
import { formatOrderId, isOrderKey, orderOf, parseBidId, parseOrderId } from "../market/ids.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { condition } from "../runtime/condition.ts";
import { second } from "../runtime/durations.ts";
import type { ResourceService, Scope } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import { createQueue, type Queue } from "../runtime/queue.ts";
import type { Random } from "../runtime/random.ts";
import { changedStatuses } from "../runtime/throttle.ts";
import { type BidEngineStatus, createBidStatus, createTally } from "./bid-status.ts";
import type { BidEngine } from "./bidengine.ts";
import type { Capacity } from "./capacity.ts";
import { bidControlHandlers } from "./control-handlers.ts";
import { createDecider } from "./decider.ts";
import { shortagesOf, tellShortages } from "./decision/money-checks.ts";
import { missingSettingsText, pausedText } from "./decision/readiness-checks.ts";
import { createDecisionsUnderWay, createScreenings } from "./interruptible.ts";
import { createBidCounts, createMarketMemory } from "./market-memory.ts";
import { reconcileOrder } from "./order-loop.ts";
import { readOrderLine, readOrderReports, readOrders } from "./order-report.ts";
import type { PolicySource } from "./policies/policy-source.ts";
import type { RunningPricing } from "./pricing/create-pricing.ts";
import { type FollowedProviderRecord, followProviderRecord } from "./provider-record.ts";
import { createWaitingOrders } from "./waiting-orders.ts";

/** Runs of the order loop at once: those that wait for a price script must not hold up those that end a bid. */
const orderRuns = 10_000;
/** What changes by itself, as the age of a picture does, is looked at this often. */
export const orderTimeRecheckMs = 15 * second;

export interface BidEngineOptions {
  /** What provider.yaml says of us. */
  readonly attributes: readonly Attribute[];
  readonly bidDeposit: Coin;
  /** What bids leave in the wallet; below that in any denomination, none is made. */
  readonly minimumBalance: readonly Coin[];
  /** 0 turns it off. */
  readonly bidTimeoutMs: number;
  /** 0 agrees to none. */
  readonly reclamationWindowMs: number;
  /** What sending one bid costs at most; undefined where somebody else pays. */
  readonly fee: Coin | undefined;
  /** Flags without which no lease could be served; while there are any, nothing is bid. */
  readonly missingSettings?: readonly string[];
}

interface BidEngineDeps {
  readonly chain: Promise<Chain>;
  readonly journal: Promise<Journal>;
  readonly bus: Promise<Bus>;
  readonly capacity: Promise<Capacity>;
  /** Opened at the start, and not before: what follows a file ends with whoever began it. */
  readonly pricing: () => RunningPricing;
  readonly policies: () => PolicySource;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export function createBidEngineService(
  options: BidEngineOptions,
  deps: BidEngineDeps,
): ResourceService<BidEngine, BidEngineStatus> {
  const { clock } = deps;
  const { promise: opened, resolve } = Promise.withResolvers<BidEngine>();
  const queues: Queue[] = [];
  let running: Running | undefined;
  let lastStatus: BidEngineStatus | undefined;

  return {
    name: "bidengine",
    opened,
    queues,
    async start(scope) {
      const own = await open(scope, options, deps);
      running = own;
      queues.push(...own.queues);
      resolve(own.engine);
      // Whoever asks after the end gets the last word; the journal is closed by then.
      scope.onStop(() => {
        lastStatus = own.status.current();
      });
    },
    detail() {
      const state = lastStatus ?? running?.status.state();
      if (!state) return "";
      const { orders, bids, outcomes, paused, trouble } = state;
      const pause = isPausing(paused, clock.now()) ? `paused: ${paused?.reason}; ` : "";
      const wrong = trouble === undefined ? "" : `; ${trouble}`;
      return `${pause}${orders} open order(s), ${bids} bid(s), ${outcomes.won} won${wrong}`;
    },
    status: () => lastStatus ?? running?.status.current(),
    controlHandlers: bidControlHandlers(opened),
    *conditions() {
      const { missingSettings = [] } = options;
      if (missingSettings.length > 0) yield condition("SettingsMissing", missingSettingsText(missingSettings));
      if (!running) return;
      const { engine, own, judge } = running;
      const { paused } = engine;
      const window = judge().bidding(clock.now());
      if (paused && isPausing(paused, clock.now())) yield condition("BiddingPaused", pausedText(paused));
      else if (!window.yes && !window.dryRun)
        yield condition("BiddingPaused", window.reason, { reason: "Maintenance" });
      if (own.difference === undefined) return;
      const reason = own.entry.state === "registered" ? "AttributesDiffer" : "NotRegistered";
      yield condition("AttributesDiffer", own.difference, { reason });
    },
    measure: (metrics) => running?.status.measure(metrics),
  };
}

interface Running {
  readonly engine: BidEngine;
  readonly own: FollowedProviderRecord;
  readonly judge: () => PolicySource["judge"];
  readonly status: ReturnType<typeof createBidStatus>;
  readonly queues: readonly Queue[];
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
  const tally = createTally();
  const waits = createWaitingOrders(clock, (key) => void queue.add(key, "low"));
  const memory = createMarketMemory({ chain, journal, clock, random, log, onEnd: onNews });
  const bidCounts = createBidCounts();
  const own = followProviderRecord({ chain, configured: options.attributes, clock, log });
  const decider = createDecider({
    ...options,
    ...{ chain, capacity, pricing, own, bidCounts, tally, clock },
    read: journal.read,
    policies: () => policies.judge,
    configuredAttributes: options.attributes,
  });
  function trouble(): string | undefined {
    const wallet = tellShortages(shortagesOf(decider.needs()));
    const all = [capacity.inventory.error, pricing.error, policies.error, own.trouble, wallet];
    return all.filter(Boolean).join("; ") || undefined;
  }
  const status = createBidStatus({ chain, read: journal.read, tally, waits, trouble, clock });
  const topics = () => ({ "akash.provider.bidengine.status": status.current() });
  const publishing = changedStatuses(clock, topics, bus.publish);
  const underWay = createDecisionsUnderWay();
  const { bidTimeoutMs } = options;
  const order = { chain, journal, capacity, decider, underWay, memory, waits, tally, bidTimeoutMs, onNews, log };
  const queue = createQueue({
    ...{ name: "bidengine-orders", clock, random, log },
    work: (key, signal) => reconcileOrder(key, signal, order),
    concurrency: orderRuns,
  });
  const screenings = createScreenings(decider.screen);
  return {
    ...order,
    ...{ pricing, policies, listeners, bidCounts, own, status, publishing, queue, screenings, clock },
  };
}

async function open(scope: Scope, options: BidEngineOptions, deps: BidEngineDeps): Promise<Running> {
  const parts = await createParts(scope, options, deps);
  const { chain, journal, capacity, memory, waits, own, policies, status, publishing, queue } = parts;
  const { mirror } = chain;
  chain.onStep(stepListener(parts));
  listen(scope, parts);
  waits.start();
  scope.onStop(() => {
    waits.stop();
    publishing.stop();
  });
  scope.task("own entry", own.run);
  scope.task("prices", parts.pricing.run);
  scope.task("orders", async (signal) => {
    await own.looked;
    await queue.run(signal);
  });
  scope.task("market memory", memory.queue.run);
  // What no event tells: a picture that is fresh again, a mirror that has caught up, a pause that begins.
  scope.task("time", async (signal) => {
    while (!signal.aborted) {
      await sleep(parts.clock, orderTimeRecheckMs, signal);
      waits.changed("time");
      cancelUnsentBids(parts);
    }
  });
  // All that may need a look, whatever happened while nobody did.
  for (const { id } of mirror.orders()) queue.add(formatOrderId(id));
  for (const { id } of mirror.bids()) queue.add(formatOrderId(id), "high");
  for (const orderId of capacity.reserved()) queue.add(orderId, "high");
  for (const orderId of journal.read.orders.unfinished()) queue.add(orderId, "low");
  return {
    engine: engineOf(parts, scope),
    own,
    judge: () => policies.judge,
    status,
    queues: [queue, memory.queue],
  };
}

function stepListener({ chain, memory, bidCounts, own, decider, waits, publishing, ...parts }: Parts) {
  const { queue, screenings, underWay } = parts;
  let wasBehind = true;

  function noteOrder(key: string): void {
    const isOpen = chain.mirror.order(parseOrderId(key)) !== undefined;
    if (isOpen) screenings.giveWay();
    else underWay.gone(key);
    queue.add(key, isOpen ? "normal" : "high");
  }

  return (step: Step): void => {
    if (step.block) {
      memory.take(step.block);
      bidCounts.take(step.block);
    }
    own.onStep(step);
    const { isBehind } = decider;
    if (wasBehind && !isBehind) waits.changed("time");
    wasBehind = isBehind;
    for (const { kind, key } of step.changed) {
      if (kind === "order") noteOrder(key);
      if (kind === "bid" || kind === "lease") queue.add(formatOrderId(orderOf(parseBidId(key))), "high");
      if (kind === "balance") waits.changed("wallet");
    }
    publishing.ask();
  };
}

function listen(
  scope: Scope,
  { chain, journal, decider, tally, capacity, pricing, policies, own, ...parts }: Parts,
): void {
  const { waits, queue } = parts;
  function onSettled({ id, ...settled }: Settled): void {
    const intent = journal.read.intents.get(id);
    if (intent?.what !== "createBid" && intent?.what !== "closeBid") return;
    // A lease that somebody ends is no bid that we take back.
    if (!isOrderKey(intent.subject)) return;
    if (intent.what === "createBid") {
      decider.kept(intent.subject);
      // What a bid that came to nothing was promised is free for others, and no balance tells it.
      waits.changed("wallet");
      if (settled.state === "failed") own.doubt();
    }
    tally.settled(intent.what === "createBid" ? "open" : "close", { id, ...settled });
    queue.add(intent.subject, "high");
  }
  scope.onStop(chain.outbox.onSettled(onSettled));
  capacity.onRoom(() => waits.changed("room"));
  capacity.onExpired((orderId) => queue.add(orderId, "high"));
  pricing.onChange(() => waits.changed("prices"));
  policies.onChange(() => {
    waits.changed("policies");
    // A cap that was raised.
    waits.changed("room");
  });
  own.onChange(() => {
    waits.changed("attributes");
    waits.changed("time");
  });
}

/** While bidding is paused: those that were filed before, and those that the outbox files again. */
function cancelUnsentBids({ journal, decider, queue }: Parts): void {
  const { intents } = journal.read;
  for (const { what, state, subject } of decider.isPaused ? intents.unsettled(intents.owed()) : []) {
    if (what === "createBid" && state === "filed") queue.add(subject, "high");
  }
}

function engineOf(parts: Parts, scope: Scope): BidEngine {
  const { journal, waits, publishing, decider, screenings, queue, status, listeners, clock } = parts;
  const { read } = journal;
  const ordersUnderWay = () => queue.counts.ready + queue.counts.running;
  const switchPause = async <T>(change: () => Promise<T>): Promise<T> => {
    const changed = await change();
    waits.changed("policies");
    cancelUnsentBids(parts);
    publishing.ask();
    return changed;
  };
  const engine: BidEngine = {
    pause(reason, fromMs) {
      const pause = { name: pauseSwitch, ...engine.wouldPause(reason, fromMs) };
      return switchPause(() => journal.durable("pause", ({ switches }) => switches.put(pause)));
    },
    // One that holds goes on until `resume`: to plan another must not let us bid in between.
    wouldPause(reason, fromMs) {
      const { paused } = engine;
      const beginsMs = isPausing(paused, clock.now()) ? paused?.fromMs : fromMs;
      return { reason, ...(beginsMs !== undefined && { fromMs: beginsMs }) };
    },
    resume: () => switchPause(() => journal.durable("resume", ({ switches }) => switches.remove(pauseSwitch))),
    get paused() {
      return read.switches.get(pauseSwitch);
    },
    get inFlight() {
      return ordersUnderWay() + status.openBids();
    },
    orders: (limit) => readOrders(read, limit),
    needs: decider.needs,
    order: (orderId) => readOrderLine(read, orderId),
    why: (id) => readOrderReports(read, id),
    screen: (asked, signal = scope.signal) => decider.screen(asked, signal),
    screenBetweenOrders: async (asked, signal) => (ordersUnderWay() > 0 ? undefined : screenings.screen(asked, signal)),
    onNews(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return engine;
}
