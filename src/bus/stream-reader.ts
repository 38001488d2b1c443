/**
 * Reads the streams that somebody subscribed to and hands their messages on. One read at a time over all streams;
 * between two reads new subscribers are let in, so that each begins at a point between two messages.
 */
import { ProviderError } from "../runtime/errors.ts";
import type { Log } from "../runtime/log.ts";
import type { BusLimits } from "./bus.ts";
import type { Delivery } from "./delivery.ts";
import { openForeign } from "./message.ts";
import { createPosition, type Position } from "./position.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { isAfter, parseEntry, type RedisStore, type StreamEntry, timeOfId } from "./redis-store.ts";
import type { TopicTally } from "./tally.ts";
import { type StreamName, streamOf } from "./topics.ts";

export interface StreamReader {
  join(delivery: Delivery): void;
  leave(delivery: Delivery): void;
  /** Reads until the connection is lost, and rejects with the reason. */
  run(connection: RedisConnection): Promise<never>;
  /** Everyone who subscribed has a place in the streams of the server that we read now. */
  readonly settled: boolean;
}

interface StreamReaderContext {
  readonly store: RedisStore;
  readonly tally: TopicTally;
  readonly limits: BusLimits;
  readonly log: Log;
  readonly onSettled: () => void;
}

export function createStreamReader(context: StreamReaderContext): StreamReader {
  const { store, tally, limits, log, onSettled } = context;
  const positions = new Map<StreamName, Position>();
  const waiting = new Set<Delivery>();
  /** Those let in, each with the id after which a stream that was being read already is news to it. */
  const readers = new Map<Delivery, Map<StreamName, string>>();
  const complained = new Set<StreamName>();
  let resumed = false;

  /**
   * Finds our place again. A server that took over may lack the last entries we read, and one that came back empty
   * lacks them all; the ids it gives out next may even be smaller than ours, and waiting for larger ones would be silence.
   */
  async function resume(connection: RedisConnection): Promise<void> {
    for (const [stream, position] of positions) {
      const { cursor, recentIds } = position;
      if ((await store.firstPresent(connection, stream, [cursor])) === cursor) continue;
      const found = await store.firstPresent(connection, stream, recentIds);
      log.info("last entry read is gone from Redis, resuming from an older one", { stream, from: found });
      position.stepBack(found);
      for (const since of readers.values()) since.delete(stream);
    }
  }

  async function letIn(connection: RedisConnection): Promise<void> {
    for (const delivery of waiting) {
      const snapshots = await Promise.all(
        [...delivery.streams].map(async (stream) => ({ stream, ...(await store.snapshot(connection, stream)) })),
      );
      if (!waiting.delete(delivery)) continue;
      const since = new Map<StreamName, string>();
      readers.set(delivery, since);
      for (const { stream, lastId, topics } of snapshots) {
        if (positions.has(stream)) since.set(stream, lastId);
        else positions.set(stream, startAt(lastId, topics));
        for (const { topic, retained } of topics) if (retained) offerRetained(delivery, stream, topic, retained);
      }
    }
  }

  function startAt(lastId: string, topics: readonly { topic: string; number: number }[]): Position {
    const numbers = new Map(topics.map(({ topic, number }) => [topic, number]));
    return createPosition(lastId, numbers, { ids: limits.busRecentIds, topics: limits.busTopics });
  }

  function offerRetained(delivery: Delivery, stream: StreamName, topic: string, kept: { id: string; text: string }) {
    if (!delivery.wants(topic)) return;
    const postmark = { id: kept.id, publishedAtMs: timeOfId(kept.id), retained: true };
    const message = openForeign(topic, kept.text, postmark, limits.busMessageBytes);
    if (typeof message === "string") return complain(stream, topic, message);
    tally.of(topic).retained = true;
    delivery.offer(message, kept.text.length);
  }

  function handOn(stream: StreamName, entries: readonly StreamEntry[]): void {
    const position = positions.get(stream);
    // Everyone left while it was being read.
    if (!position) return;
    const audience = [...readers].filter(([delivery]) => delivery.streams.has(stream));
    for (const [id, fields] of entries) {
      position.pass(id);
      const entry = parseEntry(fields);
      if (!entry || streamOf(entry.topic) !== stream) {
        complain(stream, stream, "it was not written by this program");
        continue;
      }
      const { topic, text } = entry;
      const gone = position.count(topic, entry.number);
      const postmark = { id, publishedAtMs: timeOfId(id), retained: false };
      const message = openForeign(topic, text, postmark, limits.busMessageBytes);
      if (typeof message === "string") {
        complain(stream, topic, message);
        continue;
      }
      for (const [delivery, since] of audience) {
        if (!isNews(since, stream, id) || !delivery.wants(topic)) continue;
        if (gone > 0) delivery.missed(message.topic, gone);
        delivery.offer(message, text.length);
      }
    }
  }

  /** Once per stream: whoever writes nonsense writes a lot of it. */
  function complain(stream: StreamName, topic: string, reason: string): void {
    tally.of(topic).malformed += 1;
    if (complained.has(stream)) return;
    complained.add(stream);
    const error = new ProviderError("AKP_BUS_MESSAGE_MALFORMED", { topic, reason });
    log.error("malformed bus message", { code: error.code, reason: error.message, advice: error.advice });
  }

  return {
    join: (delivery) => waiting.add(delivery),
    leave(delivery) {
      waiting.delete(delivery);
      readers.delete(delivery);
      for (const stream of delivery.streams) {
        if (![...readers.keys()].some((other) => other.streams.has(stream))) positions.delete(stream);
      }
    },
    async run(connection) {
      try {
        await resume(connection);
        resumed = true;
        for (;;) {
          await letIn(connection);
          onSettled();
          const after = new Map([...positions].map(([stream, position]) => [stream, position.cursor]));
          const found = await store.read(connection, after, limits.busHeartbeatMs);
          for (const [stream, entries] of found) handOn(stream, entries);
          // Silence may also mean that somebody emptied the database under us.
          if (found.length === 0) await resume(connection);
        }
      } finally {
        resumed = false;
      }
    },
    get settled() {
      return resumed && waiting.size === 0;
    },
  };
}

function isNews(since: Map<StreamName, string>, stream: StreamName, id: string): boolean {
  const from = since.get(stream);
  if (from === undefined) return true;
  if (!isAfter(id, from)) return false;
  since.delete(stream);
  return true;
}
