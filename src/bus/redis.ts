/** Connects the buses of several processes over Redis: a topic is a channel and, if it is retained, a key of that name. */
import { createClient, createSentinel } from "redis";
import { sleep, withDeadline } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { keepTrying } from "../runtime/keep-trying.ts";
import type { Random } from "../runtime/random.ts";
import type { Bus, BusOptions } from "./bus.ts";
import { createLocalBus } from "./memory.ts";
import { type Topic, topicNames, topics } from "./topics.ts";

export interface RedisOptions {
  /** redis://user:password@host:port/database, or rediss:// for TLS. With Sentinels only its host does not count. */
  readonly url?: string;
  /** host:port of each Sentinel. */
  readonly sentinels?: readonly string[];
  /** The name under which the Sentinels know the master. */
  readonly sentinelMaster?: string;
  readonly username?: string;
  readonly password?: string;
  /** What the names of keys and channels begin with; providers that share a Redis need different ones. */
  readonly prefix?: string;
}

export type RedisBusOptions = RedisOptions & BusOptions & { readonly random: Random };

type Redis = Pick<typeof template, "on" | "connect" | "ping" | "set" | "publish" | "mGet" | "subscribe" | "destroy">;
/** A connection in use, and how to give it up. */
type Session = { readonly redis: Redis; readonly fail: (reason: unknown) => void };

export function createRedisBus(options: RedisBusOptions): Bus {
  const { random, prefix = "akash-provider:", url = "redis://127.0.0.1", sentinels, clock, log } = options;
  const address = sentinels?.length ? `Sentinels ${sentinels.join(", ")}` : new URL(url).host;
  const start = `{"publisher":"${Buffer.from(random.bytes(8)).toString("hex")}",`;
  const { publish, deliver, kept, countsOf, limits, ...local } = createLocalBus(options, start);
  /** What this process retains. */
  const own = new Map<Topic, string>();
  const nameOf = (topic: Topic) => prefix + topic;
  const open = createOpen(options, limits.answerMs);
  const closing = new AbortController();
  let outgoingChars = 0;
  let session: Session | undefined;
  let state = { connected: false, detail: `${address}: not tried yet` };

  async function send(topic: Topic, text: string): Promise<void> {
    const { retained } = topics[topic];
    const { redis, fail } = session ?? {};
    outgoingChars += text.length;
    try {
      if (!redis) throw new Error("Redis is away");
      if (outgoingChars > limits.outgoingChars) throw new Error("it takes messages too slowly");
      await Promise.all([redis.publish(nameOf(topic), text), retained && redis.set(nameOf(topic), text)]);
    } catch (error) {
      if (!retained) countsOf(topic).dropped += 1;
      fail?.(error);
    }
    outgoingChars -= text.length;
  }

  function receive(text: string, channel: string): void {
    if (!text.startsWith(start)) deliver(channel.slice(prefix.length) as Topic, text, false);
  }

  /** Sends our retained values again, which a restart or a fail-over may have cost Redis, and reads those of others. */
  async function begin(begun: Session): Promise<void> {
    session = begun;
    await begun.redis.subscribe(topicNames.map(nameOf), receive);
    for (const [topic, text] of own) void send(topic, text);
    const others = topicNames.filter((topic) => topics[topic].retained && !own.has(topic));
    const stored = await begun.redis.mGet(others.map(nameOf));
    for (const [at, topic] of others.entries()) {
      const text = stored[at];
      if (text && text !== kept.get(topic)) deliver(topic, text, true);
    }
    state = { connected: true, detail: address };
    log.info("connected to Redis", { address });
  }

  function failed(reason: string): void {
    const detail = `${address}: not connected, ${reason}`;
    if (detail === state.detail) return;
    state = { connected: false, detail };
    const error = new ProviderError("AKP_BUS_UNREACHABLE", { address, reason });
    log.error("Redis unreachable", { error, advice: error.advice });
  }

  const attempt = (well: () => void) =>
    runSession(open(), options, limits.answerMs, closing.signal, (begun) => begin(begun).then(well)).finally(() => {
      session = undefined;
    });
  const pauses = { firstMs: limits.reconnectFirstMs, mostMs: limits.reconnectMostMs };
  const running = keepTrying({ attempt, failed, ...pauses, clock, random }, closing.signal);
  return {
    ...local,
    publish(topic, data) {
      const text = publish(topic, data);
      if (topics[topic].retained) own.set(topic, text);
      void send(topic, text);
    },
    get state() {
      return state;
    },
    async close() {
      await local.close();
      // Commands are answered in order: all that was sent before has arrived by then.
      const sent = Promise.resolve(session?.redis.ping()).catch(() => undefined);
      await withDeadline(clock, limits.answerMs, sent, () => undefined);
      closing.abort();
      await running;
      state = { connected: false, detail: `${address}: the bus is closed` };
    },
  };
}

/** From connecting to the first fault: an error, no answer in time, or the signal. */
async function runSession(
  redis: Redis,
  { clock }: BusOptions,
  answerMs: number,
  signal: AbortSignal,
  begin: (begun: Session) => Promise<void>,
): Promise<never> {
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  const answer = <T>(work: Promise<T>) =>
    withDeadline(clock, answerMs, Promise.race([work, failed]), async () => {
      // If it was this process that hung, the answer has been waiting for us.
      await clock.yield();
      throw new Error(`no answer within ${answerMs} ms`);
    });
  let last: unknown;
  redis.on("error", (error) => {
    last = error;
  });
  signal.addEventListener("abort", fail);
  const connecting = redis.connect().catch((error) => Promise.reject(last ?? error));
  try {
    await answer(connecting);
    // Not before: one Sentinel of several may be gone.
    redis.on("error", fail);
    await answer(begin({ redis, fail }));
    for (;;) {
      await Promise.race([sleep(clock, answerMs, signal), failed]);
      await answer(redis.ping());
    }
  } finally {
    signal.removeEventListener("abort", fail);
    const destroy = async () => redis.destroy();
    // Again once it has connected: the package does not close a socket that was still opening.
    for (const ended of [destroy(), connecting.then(destroy)]) ended.catch(() => undefined);
  }
}

const shared = { RESP: 3, disableOfflineQueue: true, disableClientInfo: true, maintNotifications: "disabled" } as const;

/** The package builds a class of all commands, in 60 ms, for each new set of options; copies of one client share it. */
const template = createClient(shared);

function createOpen({ sentinels, sentinelMaster, ...options }: RedisOptions, connectTimeout: number): () => Redis {
  const url = new URL(options.url ?? "redis://127.0.0.1");
  const { username = decodeURIComponent(url.username), password = decodeURIComponent(url.password) } = options;
  const database = Number(url.pathname.slice(1));
  const login = { name: "akash-provider", password, ...(username && { username }), database };
  const tls = url.protocol === "rediss:" && { tls: true as const };
  const socket = { connectTimeout, reconnectStrategy: false, ...tls } as const;
  if (!sentinels?.length) return () => template.duplicate({ ...login, socket: { ...socket, ...hostOf(url) } }) as never;
  const sentinel = createSentinel({
    name: sentinelMaster ?? "mymaster",
    sentinelRootNodes: sentinels.map((text) => hostOf(new URL(`redis://${text}`))),
    sentinelClientOptions: { ...shared, socket: { connectTimeout } },
    nodeClientOptions: { ...shared, ...login, socket },
    // Without it, commands that are sent one after the other may overtake each other.
    reserveClient: true,
    maxCommandRediscovers: 0,
    passthroughClientErrorEvents: true,
  });
  return () => sentinel.duplicate() as never;
}

const hostOf = ({ hostname: host, port }: URL) => ({ host: host.replace(/^\[|\]$/g, ""), port: Number(port || 6379) });
