/** The bus: hints between services, operators and other programs. A loop that misses one finds out at its next recheck. */
import type { Clock } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";
import type { Log } from "../runtime/log.ts";
import type { Payload, Topic, TopicPattern, TopicsMatching } from "./topics.ts";

/** Each subscriber has a copy of its own, parsed and validated when it is read. */
export interface Message<T extends Topic = Topic> {
  readonly topic: T;
  readonly data: Payload<T>;
  readonly publishedAtMs: number;
  /** The value that was kept for new subscribers, rather than news. */
  readonly retained: boolean;
}

export interface Subscription {
  /** No handler starts after this; one that is running ends by itself. */
  close(): void;
  /** Messages that were dropped because this subscriber was too slow. */
  readonly dropped: number;
}

/** What is counted by topic, with the help texts of its metrics. */
export const busCounts = {
  published: "Messages published",
  delivered: "Messages handed to subscribers",
  dropped: "Messages dropped: a subscriber was too slow, or Redis was away",
  failed: "Messages whose handler failed",
  malformed: "Messages received that could not be parsed",
};

export type TopicCounts = Record<keyof typeof busCounts, number>;

export interface Bus {
  /** Returns at once. While Redis is away other processes miss events; retained values are sent again when it is back. */
  publish<T extends Topic>(topic: T, data: Payload<T>): void;
  /** Retained values come first. A handler runs one message at a time, and when it throws gets the next all the same. */
  subscribe<const P extends TopicPattern>(
    patterns: P | readonly P[],
    handler: (message: Message<TopicsMatching<P>>) => void | Promise<void>,
    name?: string,
  ): Subscription;
  /** In words where it is, and why it is not connected. */
  readonly state: { readonly connected: boolean; readonly detail: string };
  readonly counts: ReadonlyMap<Topic, Readonly<TopicCounts>>;
  /** Sends what is on its way, if Redis takes it soon, and ends every subscription. */
  close(): Promise<void>;
}

/** Tests take smaller ones. */
export const busLimits = {
  /** One message: a cluster snapshot of 1,000 nodes is about 1 MB. */
  messageBytes: 8 * 1024 * 1024,
  /** Messages that wait for one slow subscriber; beyond that the oldest is dropped. */
  subscriberMessages: 1_000,
  /** The same in characters, since a thousand cluster snapshots would be a gigabyte. */
  subscriberChars: 64 * 1024 * 1024,
  /** Characters on their way to a slow Redis; beyond that the connection is given up. */
  outgoingChars: 64 * 1024 * 1024,
  /** A Redis that does not answer in this time is left, and looked for again. */
  answerMs: 2 * second,
  reconnectFirstMs: 100,
  reconnectMostMs: 5 * second,
};

export interface BusOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<typeof busLimits>;
}
