/** Requests of commands to the bid engine over the control socket, by name. */
import { z } from "zod";
import { readSdl } from "../market/sdl/sdl.ts";
import { parseControlParams } from "../runtime/control/control-socket.ts";
import { endedBy } from "../runtime/ended-by.ts";
<<<<<<< HEAD
import type { ControlHandler } from "../runtime/lifecycle.ts";
=======
import type { Question } from "../runtime/lifecycle.ts";
>>>>>>> c8b26c21 (Make the bid engine one file with its service in front, and derive its types from what makes them)
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

<<<<<<< HEAD
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
=======
export function bidControlHandlers(opened: Promise<BidEngine>) {
  return {
    async orders(request: Question, signal: AbortSignal) {
      const { limit, follow } = parseQuestion(orders, request);
      const engine = await opened;
      return follow ? followOrders(engine, limit, signal) : engine.orders(limit);
    },
    async why(request: Question) {
      return (await opened).why(parseQuestion(why, request).id);
    },
    async screen(request: Question, signal: AbortSignal) {
      const { sdl, owner } = parseQuestion(screen, request);
>>>>>>> c8b26c21 (Make the bid engine one file with its service in front, and derive its types from what makes them)
      const engine = await opened;
      const { groups, reclamationWindowNs } = readSdl(sdl);
      const screened = groups.map(async (group) => ({
        name: group.name,
        decision: writeDecision(await engine.screen({ owner, group, reclamationWindowNs }, signal)),
      }));
      return { groups: await Promise.all(screened) };
    },
<<<<<<< HEAD
    async pause(params): Promise<PauseResponse> {
      const { reason, fromMs, dryRun } = parseControlParams(pause, params);
=======
    async pause(request: Question) {
      const { reason, fromMs, dryRun } = parseQuestion(pause, request);
>>>>>>> c8b26c21 (Make the bid engine one file with its service in front, and derive its types from what makes them)
      const engine = await opened;
      const before = engine.paused;
      const after = dryRun ? engine.plannedPause(reason, fromMs) : await engine.pause(reason, fromMs);
      return { before, after, dryRun };
    },
<<<<<<< HEAD
    async resume(params): Promise<PauseResponse> {
      const { dryRun } = parseControlParams(resume, params);
=======
    async resume(request: Question) {
      const { dryRun } = parseQuestion(resume, request);
>>>>>>> c8b26c21 (Make the bid engine one file with its service in front, and derive its types from what makes them)
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
