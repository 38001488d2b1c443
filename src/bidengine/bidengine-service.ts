/** The bid engine: every open order is decided on, bid for where that is a yes, and followed to its end. */

import type { Bus } from "../bus/bus.ts";
import type { Chain, MirrorKey, Settled, Step } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import { isPausing, pauseSwitch, type Switch } from "../journal/switches.ts";
import type { Coin } from "../market/coin.ts";
import type { Attribute } from "../market/group-spec.ts";
import { formatOrderId, isOrderKey, orderOf, parseBidId, parseOrderId } from "../market/ids.ts";
import { changedStatuses } from "../runtime/at-most-every.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { condition } from "../runtime/condition.ts";
import { second } from "../runtime/durations.ts";
import type { GroundService, Scope } from "../runtime/lifecycle.ts";
import { viewEvents } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import { createQueue, type Queue } from "../runtime/queue.ts";
import type { Random } from "../runtime/random.ts";
import { type OrderLine, readOrder, readOrders, readWhy } from "./answers.ts";
import { createAskings } from "./askings.ts";
import { createBidCounts } from "./bid-counts.ts";
import type { BidEngine } from "./bidengine.ts";
import { measureBidEngine } from "./bidengine-metrics.ts";
import type { Capacity } from "./capacity.ts";
import { createDecider } from "./decider.ts";
import { missingSettingsText, pausedText } from "./decision/readiness-checks.ts";
import { shortagesOf, tellShortages } from "./decision/wallet-needs.ts";
import { type LockedDeposits, lockedDeposits } from "./deposits.ts";
import { createMarketMemory } from "./market-memory.ts";
import { createOrderLoop } from "./order-loop.ts";
import { type FollowedEntry, followOwnEntry } from "./own-entry.ts";
import { nextPause } from "./pausing.ts";
import type { PolicySource } from "./policies/policy-source.ts";
import type { RunningPricing } from "./pricing/create-pricing.ts";
import { bidAnswers } from "./questions.ts";
import { createScreenings } from "./screenings.ts";
import { type BidOutcome, createTally } from "./tally.ts";
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

interface BidEngineGround {
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

export interface BidEngineDocument {
  /** Open orders, those among them that wait for something to change, and our bids that are open. */
  readonly orders: number;
  readonly waiting: number;
  readonly bids: number;
  readonly paused: Switch | undefined;
  readonly accepted: number;
  readonly declined: number;
  readonly outcomes: Readonly<Record<BidOutcome, number>>;
  readonly deposits: readonly LockedDeposits[];
  readonly trouble: string | undefined;
  /** The orders seen last, the newest first. */
  readonly recent: readonly OrderLine[];
}

export function createBidEngineService(
  options: BidEngineOptions,
  ground: BidEngineGround,
): GroundService<BidEngine, BidEngineDocument> {
  const { clock, random } = ground;
  const log = ground.log.with({ module: "bidengine" });
  const { promise: opened, resolve } = Promise.withResolvers<BidEngine>();
  const queues: Queue[] = [];
  let running: Running | undefined;
  let lastDocument: BidEngineDocument | undefined;

  async function open(scope: Scope): Promise<Running> {
    const [chain, journal, bus] = await Promise.all([ground.chain, ground.journal, ground.bus]);
    const capacity = await ground.capacity;
    const [pricing, policies] = [ground.pricing(), ground.policies()];
    scope.onStop(policies.close);
    const { mirror, outbox } = chain;
    const tally = createTally();
    const listeners = new Set<(orderId: string) => void>();
    const status = changedStatuses(clock, () => ({ "akash.provider.bidengine.status": lookNow() }), bus.publish);
    const onNews = (key: string) => {
      status.ask();
      for (const listener of listeners) listener(key);
    };
    const waits = createWaitingOrders(clock, (key) => void queue.add(key, "low"));
    const memory = createMarketMemory({ chain, journal, clock, random, log, onEnd: onNews });
    const bidCounts = createBidCounts();
    const own = followOwnEntry({ chain, configured: options.attributes, clock, log });
    const decider = createDecider({
      ...options,
      ...{ chain, capacity, pricing, own, bidCounts, tally, clock },
      read: journal.read,
      policies: () => policies.judge,
      configuredAttributes: options.attributes,
    });
    const askings = createAskings();
    const screenings = createScreenings(decider.screen);
    const loop = createOrderLoop({
      ...{ chain, journal, capacity, decider, askings, memory, waits, tally, onNews, log },
      bidTimeoutMs: options.bidTimeoutMs,
    });
    const queue = createQueue({
      ...{ name: "bidengine-orders", clock, random, log },
      work: loop.look,
      concurrency: orderRuns,
    });
    queues.push(queue, memory.queue);

    let wasBehind = true;
    function onStep(step: Step): void {
      if (step.block) {
        memory.take(step.block);
        bidCounts.take(step.block);
      }
      own.onStep(step);
      const { isBehind } = decider;
      if (wasBehind && !isBehind) waits.changed("time");
      wasBehind = isBehind;
      for (const changed of step.changed) note(changed);
      status.ask();
    }

    function note({ kind, key }: MirrorKey): void {
      if (kind === "order") noteOrder(key);
      if (kind === "bid" || kind === "lease") queue.add(orderKeyOf(key), "high");
      if (kind === "balance") waits.changed("wallet");
    }

    function noteOrder(key: string): void {
      const isOpen = mirror.order(parseOrderId(key)) !== undefined;
      if (isOpen) screenings.giveWay();
      else askings.gone(key);
      queue.add(key, isOpen ? "normal" : "high");
    }

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

    /** What no event tells: a picture that is fresh again, a mirror that has caught up, a pause that begins. */
    async function letTimePass(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await sleep(clock, orderTimeRecheckMs, signal);
        waits.changed("time");
        cancelUnsentBids();
      }
    }

    /** While bidding is paused: those that were filed before, and those that the outbox files again. */
    function cancelUnsentBids(): void {
      const { intents } = journal.read;
      for (const { what, state, subject } of decider.isPaused ? intents.unsettled(intents.owed()) : []) {
        if (what === "createBid" && state === "filed") queue.add(subject, "high");
      }
    }

    chain.onStep(onStep);
    scope.onStop(outbox.onSettled(onSettled));
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
    waits.start();
    scope.onStop(() => {
      waits.stop();
      status.stop();
    });
    scope.task("own entry", own.run);
    scope.task("prices", pricing.run);
    scope.task("orders", async (signal) => {
      await own.looked;
      await queue.run(signal);
    });
    scope.task("market memory", memory.queue.run);
    scope.task("time", letTimePass);
    // All that may need a look, whatever happened while nobody did.
    for (const { id } of mirror.orders()) queue.add(formatOrderId(id));
    for (const { id } of mirror.bids()) queue.add(formatOrderId(id), "high");
    for (const orderId of capacity.reserved()) queue.add(orderId, "high");
    for (const orderId of journal.read.orders.unfinished()) queue.add(orderId, "low");

    const switchPause = async <T>(change: () => Promise<T>): Promise<T> => {
      const changed = await change();
      waits.changed("policies");
      cancelUnsentBids();
      status.ask();
      return changed;
    };
    const engine: BidEngine = {
      pause(reason, fromMs) {
        const pause = { name: pauseSwitch, ...engine.wouldPause(reason, fromMs) };
        return switchPause(() => journal.durable("pause", ({ switches }) => switches.put(pause)));
      },
      wouldPause: (reason, fromMs) => nextPause(engine.paused, { reason, fromMs }, clock.now()),
      resume: () => switchPause(() => journal.durable("resume", ({ switches }) => switches.remove(pauseSwitch))),
      get paused() {
        return journal.read.switches.get(pauseSwitch);
      },
      get atHand() {
        const { ready, running } = queue.counts;
        return ready + running + openBids();
      },
      orders: (limit) => readOrders(journal.read, limit),
      needs: decider.needs,
      order: (orderId) => readOrder(journal.read, orderId),
      why: (id) => readWhy(journal.read, id),
      screen: (asked, signal = scope.signal) => decider.screen(asked, signal),
      async screenBetweenOrders(asked, signal) {
        const { ready, running } = queue.counts;
        return ready + running > 0 ? undefined : screenings.screen(asked, signal);
      },
      onNews(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };

    const openBids = () => [...mirror.bids()].filter(({ state }) => state === "open").length;

    function troubles(): string | undefined {
      const wallet = tellShortages(shortagesOf(decider.needs()));
      const all = [capacity.picture.trouble, pricing.trouble, policies.trouble, own.trouble, wallet];
      return all.filter(Boolean).join("; ") || undefined;
    }

    /** Without what has to be read from many rows of the journal. */
    function state(): Omit<BidEngineDocument, "deposits" | "recent"> {
      return {
        orders: [...mirror.orders()].length,
        waiting: waits.size,
        bids: openBids(),
        paused: engine.paused,
        accepted: tally.shouldBid.accept,
        declined: tally.shouldBid.decline,
        outcomes: { ...tally.complete },
        trouble: troubles(),
      };
    }

    function lookNow(): BidEngineDocument {
      return { ...state(), deposits: lockedDeposits(chain), recent: readOrders(journal.read, viewEvents) };
    }

    return {
      engine,
      own,
      judge: () => policies.judge,
      state,
      lookNow,
      tally,
      waits,
      deposits: () => lockedDeposits(chain),
    };
  }

  return {
    name: "bidengine",
    opened,
    queues,
    async start(scope) {
      running = await open(scope);
      resolve(running.engine);
      // Whoever asks after the end gets the last word; the journal is closed by then.
      scope.onStop(() => {
        lastDocument = running?.lookNow();
      });
    },
    detail() {
      const state = lastDocument ?? running?.state();
      if (!state) return "";
      const { orders, bids, outcomes, paused, trouble } = state;
      const pause = isPausing(paused, clock.now()) ? `paused: ${paused?.reason}; ` : "";
      const wrong = trouble === undefined ? "" : `; ${trouble}`;
      return `${pause}${orders} open order(s), ${bids} bid(s), ${outcomes.won} won${wrong}`;
    },
    status: () => lastDocument ?? running?.lookNow(),
    answers: bidAnswers(opened),
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
    measure(metrics) {
      if (!running) return;
      const { tally, waits, deposits, engine } = running;
      const [waiting, nowMs] = [() => waits.size, () => clock.now()];
      measureBidEngine(metrics, {
        tally,
        waiting,
        matching: () => waits.matching,
        deposits,
        isPaused: () => isPausing(engine.paused, clock.now()),
        nowMs,
      });
    },
  };
}

interface Running {
  readonly engine: BidEngine;
  readonly own: FollowedEntry;
  readonly judge: () => PolicySource["judge"];
  readonly state: () => Omit<BidEngineDocument, "deposits" | "recent">;
  readonly lookNow: () => BidEngineDocument;
  readonly tally: ReturnType<typeof createTally>;
  readonly waits: ReturnType<typeof createWaitingOrders>;
  readonly deposits: () => readonly LockedDeposits[];
}

function orderKeyOf(bidKey: string): string {
  return formatOrderId(orderOf(parseBidId(bidKey)));
}
