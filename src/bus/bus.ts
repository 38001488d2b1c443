/**
 * The bus: services and operators tell each other where they stand and what is worth a look. Nothing depends on a
 * message: who misses one finds out at its next recheck.
 *
 * Delivery is at least once. Messages of a topic arrive in the order in which the bus took them; after Redis was cut
 * off or failed over, the last few may come again, in their order.
 */
import type { Clock } from "../runtime/clock.ts";
import type { limits } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import type { TopicCounts } from "./tally.ts";
import type { Payload, Topic, TopicPattern, TopicsMatching } from "./topics.ts";

/** One message, frozen all the way down: subscribers share it. */
export type Message<T extends Topic = Topic> = T extends Topic
  ? {
      readonly topic: T;
      readonly data: Payload<T>;
      readonly id: string;
      readonly publishedAtMs: number;
      /** The last value that was kept for new subscribers, rather than news. */
      readonly retained: boolean;
    }
  : never;

export type Handler<P extends TopicPattern> = (message: Message<TopicsMatching<P>>) => void | Promise<void>;

export interface SubscribeOptions {
  /** Says in log lines whose handler it was. */
  readonly name?: string;
  /** Told, in turn with the handler, how many messages of a topic this subscriber has just missed. */
  readonly onDropped?: (topic: Topic, count: number) => void | Promise<void>;
}

export interface Subscription {
  /** No handler starts after this; one that is under way ends by itself. */
  close(): void;
  /** Messages that this subscriber missed, by topic: it was too slow, or Redis had no room for them any more. */
  readonly dropped: ReadonlyMap<Topic, number>;
  readonly waiting: number;
}

export type BusState =
  | { readonly state: "connected"; readonly address: string }
  | { readonly state: "connecting"; readonly address: string; readonly reason: string };

export interface Bus {
  /**
   * Takes the message and returns at once, whether Redis is there or not. What cannot be kept until it is gets dropped
   * and counted. With `retain` the topic keeps it for subscribers to come, until the next retained one; a topic that
   * retains has one publisher, which puts its value back when Redis has lost it.
   */
  publish<T extends Topic>(topic: T, data: Payload<T>, options?: { readonly retain?: boolean }): void;
  /**
   * Calls the handler with the retained value of each topic first, then with every later message, one at a time. A
   * handler that throws is logged and counted, and gets the next message all the same.
   */
  subscribe<const P extends TopicPattern>(
    patterns: P | readonly P[],
    handler: Handler<P>,
    options?: SubscribeOptions,
  ): Subscription;
  /**
   * Resolves when all that was asked for has taken effect: messages are acknowledged or dropped, subscribers in place.
   * Without Redis that takes until it is back.
   */
  flush(): Promise<void>;
  readonly state: BusState;
  /** What went through this bus since it was created, by topic. */
  readonly counts: ReadonlyMap<string, Readonly<TopicCounts>>;
  /** Sends what still waits, if Redis takes it soon, and ends every subscription. */
  close(): Promise<void>;
}

/** The bounds that concern the bus. Tests take smaller ones. */
export type BusLimits = { readonly [L in keyof typeof limits as L extends `bus${string}` ? L : never]: number };

export interface BusOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<BusLimits>;
}
