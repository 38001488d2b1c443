/** What commands may ask the bid engine over the control socket, by name. */
import { z } from "zod";
import type { JsonObject } from "../bus/topics.ts";
import type { OperatorSwitch } from "../journal/deadlines.ts";
import { readSdl } from "../market/sdl/sdl.ts";
import { parseControlParams } from "../runtime/control/control-socket.ts";
import { endedBy } from "../runtime/ended-by.ts";
import type { ControlHandler } from "../runtime/lifecycle.ts";
import { ordersListed } from "../runtime/limits.ts";
import type { BidEngine } from "./bidengine.ts";
import { writeDecision } from "./decision/record.ts";
import type { OrderLine } from "./order-report.ts";

/** Orders with news that may wait for whoever follows them: a few blocks of the busiest market. */
const ordersNews = 10_000;
const pauseReasonChars = 500;

/** An answer as it arrives: amounts and heights are texts, since JSON has no large numbers. */
export type JsonOf<T> = T extends bigint
  ? string
  : T extends readonly (infer Item)[]
    ? readonly JsonOf<Item>[]
    : T extends object
      ? { readonly [Name in keyof T]: JsonOf<T[Name]> }
      : T;

/** Of orders that are followed: news of one, or that some were too many to tell. */
export type FollowedOrder = OrderLine | { readonly missed: number };

export interface ScreenResponse {
  readonly groups: readonly {
    readonly name: string;
    readonly decision: JsonObject;
  }[];
}

export interface PauseResponse {
  readonly before: OperatorSwitch | undefined;
  readonly after: { readonly reason: string; readonly fromMs?: number | undefined } | undefined;
  readonly dryRun: boolean;
}

const orders = z.object({ limit: z.int().min(1).max(ordersListed), follow: z.boolean().default(false) });
const why = z.object({ id: z.string().max(256) });
const screen = z.object({ sdl: z.string(), owner: z.string().max(256) });
const pause = z.object({
  reason: z.string().max(pauseReasonChars),
  fromMs: z.int().min(0).optional(),
  dryRun: z.boolean().default(false),
});
const resume = z.object({ dryRun: z.boolean().default(false) });

export function bidControlHandlers(opened: Promise<BidEngine>): Readonly<Record<string, ControlHandler>> {
  return {
    async orders(params, signal) {
      const { limit, follow } = parseControlParams(orders, params);
      const engine = await opened;
      return follow ? followOrders(engine, limit, signal) : engine.orders(limit);
    },
    async why(params) {
      const { id } = parseControlParams(why, params);
      return (await opened).why(id);
    },
    async screen(params, signal): Promise<ScreenResponse> {
      const { sdl, owner } = parseControlParams(screen, params);
      const engine = await opened;
      const { groups, reclamationWindowNs } = readSdl(sdl);
      const screened = groups.map(async (group) => ({
        name: group.name,
        decision: writeDecision(await engine.screen({ owner, group, reclamationWindowNs }, signal)),
      }));
      return { groups: await Promise.all(screened) };
    },
    async pause(params): Promise<PauseResponse> {
      const { reason, fromMs, dryRun } = parseControlParams(pause, params);
      const engine = await opened;
      const before = engine.paused;
      return { before, after: dryRun ? engine.wouldPause(reason, fromMs) : await engine.pause(reason, fromMs), dryRun };
    },
    async resume(params): Promise<PauseResponse> {
      const { dryRun } = parseControlParams(resume, params);
      const engine = await opened;
      const before = engine.paused;
      if (!dryRun) await engine.resume();
      return { before, after: undefined, dryRun };
    },
  };
}

/** The last ones, the oldest first, and then each of which there is news, as it is by then. */
async function* followOrders(engine: BidEngine, limit: number, signal: AbortSignal): AsyncGenerator<FollowedOrder> {
  const fresh = new Set<string>();
  let missed = 0;
  let news = Promise.withResolvers<void>();
  const unsubscribe = engine.onNews((orderId) => {
    fresh.add(orderId);
    const [oldest] = fresh;
    if (fresh.size > ordersNews && oldest !== undefined) {
      fresh.delete(oldest);
      missed += 1;
    }
    news.resolve();
  });
  try {
    yield* engine.orders(limit).toReversed();
    for (;;) {
      await endedBy(news.promise, signal);
      news = Promise.withResolvers();
      const told = [...fresh];
      fresh.clear();
      if (missed > 0) yield { missed };
      missed = 0;
      for (const orderId of told) {
        const order = engine.order(orderId);
        if (order) yield order;
      }
    }
  } finally {
    unsubscribe();
  }
}
