/** The bid engine: every open order is decided on, bid for where that is a yes, and followed to its end. */
import { isPausing } from "../journal/deadlines.ts";
import { condition } from "../runtime/condition.ts";
import type { ResourceService } from "../runtime/lifecycle.ts";
import type { Queue } from "../runtime/queue.ts";
import type { BidEngineStatus } from "./bid-status.ts";
import { type BidEngine, type BidEngineDeps, type OpenBidEngine, openBidEngine } from "./bidengine.ts";
import { bidControlHandlers } from "./control-handlers.ts";
import type { BidEngineOptions } from "./decider.ts";
import { missingSettingsText, pausedText } from "./decision/decide.ts";

export function createBidEngineService(
  options: BidEngineOptions,
  deps: BidEngineDeps,
): ResourceService<BidEngine, BidEngineStatus> {
  const { clock } = deps;
  const { promise: opened, resolve } = Promise.withResolvers<BidEngine>();
  const queues: Queue[] = [];
  let running: OpenBidEngine | undefined;
  let lastStatus: BidEngineStatus | undefined;

  return {
    name: "bidengine",
    opened,
    queues,
    async start(scope) {
      const own = await openBidEngine(scope, options, deps);
      running = own;
      queues.push(...own.queues);
      resolve(own.engine);
      // The journal is closed when the last status is read.
      scope.onStop(() => {
        lastStatus = own.status.current();
      });
    },
    detail() {
      const status = lastStatus ?? running?.status.summary();
      if (!status) return "";
      const { orders, bids, outcomes, paused, trouble } = status;
      const pause = isPausing(paused, clock.now()) ? `paused: ${paused?.reason}; ` : "";
      return `${pause}${orders} open order(s), ${bids} bid(s), ${outcomes.won} won${trouble ? `; ${trouble}` : ""}`;
    },
    status: () => lastStatus ?? running?.status.current(),
    controlHandlers: bidControlHandlers(opened),
    *conditions() {
      const { missingSettings = [] } = options;
      if (missingSettings.length > 0) yield condition("SettingsMissing", missingSettingsText(missingSettings));
      if (!running) return;
      const { record, policies } = running;
      const { paused } = running.engine;
      const window = policies.judge.bidding(clock.now());
      if (paused && isPausing(paused, clock.now())) yield condition("BiddingPaused", pausedText(paused));
      else if (!window.yes && !window.dryRun)
        yield condition("BiddingPaused", window.reason, { reason: "Maintenance" });
      if (record.difference === undefined) return;
      const reason = record.current.state === "registered" ? "AttributesDiffer" : "NotRegistered";
      yield condition("AttributesDiffer", record.difference, { reason });
    },
    measure: (metrics) => running?.status.measure(metrics),
  };
}
