/** Requests of commands to the bid engine over the control socket, by name. */
import { z } from "zod";
import { readSdl } from "../market/sdl/sdl.ts";
import { parseControlParams } from "../runtime/control/control-socket.ts";
import { endedBy } from "../runtime/ended-by.ts";
import type { ControlParams } from "../runtime/lifecycle.ts";
import { ordersListed } from "../runtime/limits.ts";
import type { BidEngine } from "./bidengine.ts";
import { writeDecision } from "./decision/record.ts";
import type { OrderLine } from "./order-report.ts";

/** Orders with news that a slow follower may have pending: a few blocks of the busiest market. */
const ordersNews = 10_000;
const pauseReasonChars = 500;

/** A response as it arrives: JSON has no large numbers, so bigints are strings. */
export type JsonOf<T> = T extends bigint
  ? string
  : T extends readonly (infer Item)[]
    ? readonly JsonOf<Item>[]
    : T extends object
      ? { readonly [Name in keyof T]: JsonOf<T[Name]> }
      : T;

/** News of one order, or how many were left out. */
export type FollowedOrder = OrderLine | { readonly missed: number };

export type ScreenResponse = Awaited<ReturnType<ReturnType<typeof bidControlHandlers>["screen"]>>;
export type PauseResponse = Awaited<ReturnType<ReturnType<typeof bidControlHandlers>["pause" | "resume"]>>;

const orders = z.object({ limit: z.int().min(1).max(ordersListed), follow: z.boolean().default(false) });
const why = z.object({ id: z.string().max(256) });
const screen = z.object({ sdl: z.string(), owner: z.string().max(256) });
const pause = z.object({
  reason: z.string().max(pauseReasonChars),
  fromMs: z.int().min(0).optional(),
  dryRun: z.boolean().default(false),
});
const resume = z.object({ dryRun: z.boolean().default(false) });

export function bidControlHandlers(opened: Promise<BidEngine>) {
  return {
    async orders(params: ControlParams, signal: AbortSignal) {
      const { limit, follow } = parseControlParams(orders, params);
      const engine = await opened;
      return follow ? followOrders(engine, limit, signal) : engine.orders(limit);
    },
    async why(params: ControlParams) {
      return (await opened).why(parseControlParams(why, params).id);
    },
    async screen(params: ControlParams, signal: AbortSignal) {
      const { sdl, owner } = parseControlParams(screen, params);
      const engine = await opened;
      const { groups, reclamationWindowNs } = readSdl(sdl);
      const screened = groups.map(async (group) => ({
        name: group.name,
        decision: writeDecision(await engine.screen({ owner, group, reclamationWindowNs }, signal)),
      }));
      return { groups: await Promise.all(screened) };
    },
    async pause(params: ControlParams) {
      const { reason, fromMs, dryRun } = parseControlParams(pause, params);
      const engine = await opened;
      const before = engine.paused;
      const after = dryRun ? engine.plannedPause(reason, fromMs) : await engine.pause(reason, fromMs);
      return { before, after, dryRun };
    },
    async resume(params: ControlParams) {
      const { dryRun } = parseControlParams(resume, params);
      const engine = await opened;
      const before = engine.paused;
      if (!dryRun) await engine.resume();
      return { before, after: undefined, dryRun };
    },
  };
}

/** The last orders, the oldest first, and then each of which there is news, as it is by then. */
async function* followOrders(engine: BidEngine, limit: number, signal: AbortSignal): AsyncGenerator<FollowedOrder> {
  const pending = new Set<string>();
  let missed = 0;
  let news = Promise.withResolvers<void>();
  const unsubscribe = engine.onNews((orderId) => {
    pending.add(orderId);
    const [oldest] = pending;
    if (pending.size > ordersNews && oldest !== undefined) {
      pending.delete(oldest);
      missed += 1;
    }
    news.resolve();
  });
  try {
    yield* engine.orders(limit).toReversed();
    for (;;) {
      await endedBy(news.promise, signal);
      news = Promise.withResolvers();
      const orderIds = [...pending];
      pending.clear();
      if (missed > 0) yield { missed };
      missed = 0;
      yield* orderIds.flatMap((orderId) => engine.order(orderId) ?? []);
    }
  } finally {
    unsubscribe();
  }
}
