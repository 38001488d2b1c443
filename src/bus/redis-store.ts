/**
 * How the bus lies in Redis. Each stream of topics.ts is a Redis stream whose entries have the fields t (topic), n (the
 * number of the message within its topic, so that a reader sees how many were trimmed away) and d (the data as JSON).
 * Beside it are a hash with the last number of each topic and, per topic, a hash with the retained value and its entry
 * id. Scripts change and read these together, so that a new subscriber neither misses a message nor goes back.
 */
import type { BusLimits } from "./bus.ts";
import type { Letter } from "./message.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { type StreamName, streamNames, streamOf, streams, type Topic } from "./topics.ts";

/** An entry of a stream, before anyone has looked whether it makes sense. */
export type StreamEntry = readonly [id: string, fields: readonly string[] | null];

/** Where a stream stands, and what it keeps for new subscribers. */
interface Snapshot {
  readonly lastId: string;
  readonly topics: readonly { topic: string; number: number; retained: { id: string; text: string } | undefined }[];
}

export interface RedisStore {
  /** Adds the messages in order; returns the ids of the values that are retained now. */
  append(connection: RedisConnection, letters: readonly Letter[]): Promise<Map<Topic, string>>;
  snapshot(connection: RedisConnection, stream: StreamName): Promise<Snapshot>;
  /** The first of these ids whose entry is still there; without one, the beginning. */
  firstPresent(connection: RedisConnection, stream: StreamName, ids: readonly string[]): Promise<string>;
  /** The id of the retained value of a topic. */
  retainedId(connection: RedisConnection, topic: string): Promise<string | undefined>;
  /** Entries after the given ids, waiting up to `blockMs` for the first one. */
  read(
    connection: RedisConnection,
    after: ReadonlyMap<StreamName, string>,
    blockMs: number,
  ): Promise<[StreamName, StreamEntry[]][]>;
  /** Ends the wait of a `read` of this bus, now or when it comes. */
  wakeReader(connection: RedisConnection): Promise<void>;
}

/** The id before all others. */
export const beginning = "0-0";

/** For each run of messages on one topic: the place of its keys, the bound of its stream, and how many follow. */
const appendScript = `
local ids, i = {}, 1
while i <= #ARGV do
  local at, keep, topic, retain, count = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], tonumber(ARGV[i + 4])
  local last = i + 4 + count
  local n = redis.call('HINCRBY', KEYS[at + 1], topic, count) - count
  local id
  for j = i + 5, last do
    n = n + 1
    id = redis.call('XADD', KEYS[at], 'MAXLEN', '~', keep, '*', 't', topic, 'n', n, 'd', ARGV[j])
  end
  if retain == '1' then redis.call('HSET', KEYS[at + 2], 'id', id, 'd', ARGV[last]) end
  ids[#ids + 1] = id
  i = last + 1
end
return ids`;

const snapshotScript = `
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local numbers = redis.call('HGETALL', KEYS[2])
local topics = {}
for i = 1, #numbers, 2 do
  local kept = redis.call('HMGET', ARGV[1] .. numbers[i], 'id', 'd')
  topics[#topics + 1] = { numbers[i], numbers[i + 1], kept[1], kept[2] }
end
return { last and last[1] or '${beginning}', topics }`;

const firstPresentScript = `
for i = 1, #ARGV do
  if redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1] then return ARGV[i] end
end
return '${beginning}'`;

/** Long enough for any reader to see it, short enough to leave no litter behind. */
const wakeKeepMs = 60_000;

export function createRedisStore(prefix: string, instance: string, limits: BusLimits): RedisStore {
  const streamKey = (stream: StreamName) => `${prefix}stream:${stream}`;
  const numbersKey = (stream: StreamName) => `${prefix}numbers:${stream}`;
  const retainedKey = (topic: string) => `${prefix}retained:${topic}`;
  const wakeKey = `${prefix}wake:${instance}`;
  const streamOfKey = new Map(streamNames.map((stream) => [streamKey(stream), stream]));
  let wakes = 0;
  let wokenBy = beginning;

  return {
    async append(connection, letters) {
      const keys: string[] = [];
      const values: string[] = [];
      const runs = runsOf(letters);
      for (const run of runs) {
        const { topic, retain } = run[0];
        const stream = streamOf(topic) as StreamName;
        const keep = limits[streams[stream].keep];
        values.push(String(keys.length + 1), String(keep), topic, retain ? "1" : "0", String(run.length));
        for (const { text } of run) values.push(text);
        keys.push(streamKey(stream), numbersKey(stream), retainedKey(topic));
      }
      const ids = (await evaluate(connection, appendScript, keys, values)) as string[];
      const retained = new Map<Topic, string>();
      for (const [index, [{ topic, retain }]] of runs.entries()) if (retain) retained.set(topic, ids[index] as string);
      return retained;
    },

    async snapshot(connection, stream) {
      const keys = [streamKey(stream), numbersKey(stream)];
      const [lastId, topics] = (await evaluate(connection, snapshotScript, keys, [retainedKey("")])) as [
        string,
        [topic: string, number: string, id: string | null, text: string | null][],
      ];
      return {
        lastId,
        topics: topics.map(([topic, number, id, text]) => ({
          topic,
          number: Number(number),
          retained: id === null || text === null ? undefined : { id, text },
        })),
      };
    },

    firstPresent: async (connection, stream, ids) =>
      (await evaluate(connection, firstPresentScript, [streamKey(stream)], ids)) as string,

    retainedId: async (connection, topic) =>
      ((await connection.send(["HGET", retainedKey(topic), "id"])) as string | null) ?? undefined,

    async read(connection, after, blockMs) {
      const command = ["XREAD", "BLOCK", String(blockMs), "COUNT", String(limits.busReadEntries), "STREAMS"];
      const keys = [wakeKey, ...[...after.keys()].map(streamKey)];
      const reply = (await connection.send(
        [...command, ...keys, wokenBy, ...after.values()],
        blockMs + limits.busHeartbeatMs,
      )) as [key: string, entries: StreamEntry[]][] | null;
      const found: [StreamName, StreamEntry[]][] = [];
      for (const [key, entries] of reply ?? []) {
        const stream = streamOfKey.get(key);
        if (stream) found.push([stream, entries]);
        else wokenBy = entries.at(-1)?.[0] ?? wokenBy;
      }
      return found;
    },

    async wakeReader(connection) {
      // Ids of our own, so that they grow on whatever server we are.
      wakes += 1;
      await Promise.all([
        connection.send(["XADD", wakeKey, "MAXLEN", "1", `${wakes}-1`, "w", ""]),
        connection.send(["PEXPIRE", wakeKey, String(wakeKeepMs)]),
      ]);
    },
  };
}

/** Neighbours on one topic, of which all or none are retained: told to Redis once, they cost half as much. */
function runsOf(letters: readonly Letter[]): [Letter, ...Letter[]][] {
  const runs: [Letter, ...Letter[]][] = [];
  for (const letter of letters) {
    const run = runs.at(-1);
    if (run && run[0].topic === letter.topic && run[0].retain === letter.retain) run.push(letter);
    else runs.push([letter]);
  }
  return runs;
}

/** The whole script every time: Redis knows it by its hash anyway, and after a failover nothing has to be loaded. */
function evaluate(connection: RedisConnection, script: string, keys: readonly string[], values: readonly string[]) {
  return connection.send(["EVAL", script, String(keys.length), ...keys, ...values]);
}

/** What one of our entries says; nothing when someone else wrote it. */
export function parseEntry(fields: StreamEntry[1]): { topic: string; number: number; text: string } | undefined {
  const [t, topic, n, number, d, text] = fields ?? [];
  const ours = t === "t" && n === "n" && d === "d" && Number.isSafeInteger(Number(number));
  return ours && topic !== undefined && text !== undefined ? { topic, number: Number(number), text } : undefined;
}

/** An id begins with the time at which Redis took the message. */
export function timeOfId(id: string): number {
  return Number.parseInt(id, 10);
}

/** Whether the entry with this id came after the other one. */
export function isAfter(id: string, other: string): boolean {
  const [ms = 0, sequence = 0] = id.split("-").map(Number);
  const [otherMs = 0, otherSequence = 0] = other.split("-").map(Number);
  return ms > otherMs || (ms === otherMs && sequence > otherSequence);
}
