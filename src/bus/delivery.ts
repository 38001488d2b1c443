/** One subscriber: its line of waiting messages, and the loop that hands them over one at a time. */
import type { Clock } from "../runtime/clock.ts";
import { reasonOf } from "../runtime/errors.ts";
import { invariant } from "../runtime/invariant.ts";
import type { Log } from "../runtime/log.ts";
import type { BusLimits, Message, SubscribeOptions, Subscription } from "./bus.ts";
import { createDropOldest } from "./drop-oldest.ts";
import type { TopicTally } from "./tally.ts";
import { matches, type StreamName, streamsMatching, type Topic, type TopicPattern } from "./topics.ts";

export interface Delivery extends Subscription {
  readonly streams: ReadonlySet<StreamName>;
  wants(topic: string): boolean;
  /** Puts a message in line; `bytes` is what it weighs there. */
  offer(message: Message, bytes: number): void;
  /** Says that messages of this topic are gone for good. */
  missed(topic: Topic, count: number): void;
}

interface DeliveryContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: BusLimits;
  readonly tally: TopicTally;
  readonly onClose: (delivery: Delivery) => void;
}

export function createDelivery(
  patterns: readonly TopicPattern[],
  handler: (message: Message) => void | Promise<void>,
  options: SubscribeOptions,
  context: DeliveryContext,
): Delivery {
  const { clock, log, limits, tally } = context;
  const streams = new Set(patterns.flatMap(streamsMatching));
  invariant(
    patterns.every((pattern) => streamsMatching(pattern).length > 0),
    "nobody subscribes to what is never published",
    { patterns },
  );
  const line = createDropOldest<{ message: Message; bytes: number }>(
    { items: limits.busSubscriberMessages, bytes: limits.busSubscriberBytes },
    ({ message }) => missed(message.topic, 1),
  );
  const dropped = new Map<Topic, number>();
  /** Drops that the subscriber has not been told about. */
  const untold = new Map<Topic, number>();
  let running = false;
  let closed = false;

  function missed(topic: Topic, count: number): void {
    dropped.set(topic, (dropped.get(topic) ?? 0) + count);
    tally.of(topic).dropped += count;
    if (!options.onDropped) return;
    untold.set(topic, (untold.get(topic) ?? 0) + count);
    start();
  }

  function start(): void {
    if (running || closed) return;
    running = true;
    // Every error of a handler is caught where it is called; nothing can reject here.
    void run();
  }

  async function run(): Promise<void> {
    // A publisher goes on with its own work first; handlers never run inside publish().
    await Promise.resolve();
    for (let handed = 1; !closed; handed += 1) {
      if (untold.size > 0) await tellDrops();
      const message = line.shift()?.message;
      if (!message) break;
      await guarded(message.topic, () => handler(message));
      tally.of(message.topic).delivered += 1;
      if (handed % limits.busSliceMessages === 0) await clock.yield();
    }
    running = false;
    if (line.size > 0 || untold.size > 0) start();
  }

  async function tellDrops(): Promise<void> {
    for (const [topic, count] of untold) {
      untold.delete(topic);
      await guarded(topic, () => options.onDropped?.(topic, count));
    }
  }

  async function guarded(topic: Topic, call: () => void | Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      tally.of(topic).failed += 1;
      log.error("bus subscriber failed", { subscriber: options.name, topic, reason: reasonOf(error) });
    }
  }

  const delivery: Delivery = {
    streams,
    wants: (topic) => patterns.some((pattern) => matches(pattern, topic)),
    offer(message, bytes) {
      if (closed) return;
      line.push({ message, bytes });
      start();
    },
    missed,
    close() {
      if (closed) return;
      closed = true;
      line.clear();
      untold.clear();
      context.onClose(delivery);
    },
    dropped,
    get waiting() {
      return line.size;
    },
  };
  return delivery;
}
