/** The bus of the settings: over Redis where there is one, else inside the process; its status, metrics and watchers. */
import { z } from "zod";
import { condition } from "../runtime/condition.ts";
import { parseControlParams } from "../runtime/control/control-socket.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { createHandoff } from "../runtime/handoff.ts";
import type { ResourceService } from "../runtime/lifecycle.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { type Bus, busCounts, type Message, type TopicCounts } from "./bus.ts";
import { createMemoryBus } from "./memory.ts";
import type { RedisOptions } from "./redis.ts";
import { type Topic, type TopicPattern, topics, topicsMatching } from "./topics.ts";

export type TopicStatus = Pick<TopicCounts, "published" | "delivered" | "dropped"> & { topic: Topic; retained: string };
type BusService = ResourceService<Bus, readonly TopicStatus[]>;

const pattern = z.string().refine((text) => topicsMatching(text).length > 0, "no topic matches it");
const watch = z.object({ topics: z.array(pattern).default(["*"]) });

export function createBusService(redis: RedisOptions | undefined, deps: RuntimeDeps): BusService {
  const { promise: opened, resolve } = Promise.withResolvers<Bus>();
  let bus: Bus | undefined;
  return {
    name: "bus",
    async start(scope) {
      const own = await openBus(redis, deps);
      scope.onStop(() => own.close());
      bus = own;
      resolve(own);
    },
    opened,
    detail: () => bus?.state.detail ?? "",
    status: () => bus && Array.from(bus.counts, ([topic, counts]) => ({ ...counts, topic, retained: mark(topic) })),
    *conditions() {
      if (bus && !bus.state.connected) yield condition("BusAway", bus.state.detail);
    },
    controlHandlers: {
      watch: async (params, signal) => watchTopics(await opened, parseControlParams(watch, params).topics, signal),
    },
    measure: (metrics) => bus && measureBus(metrics, bus),
  };
}

export async function openBus(
  redis: RedisOptions | undefined,
  { clock, random, log: base }: RuntimeDeps,
): Promise<Bus> {
  const log = base.with({ module: "bus" });
  if (!redis) return createMemoryBus({ clock, log });
  // The client takes memory, which a process without Redis does not spend.
  const { createRedisBus } = await import("./redis.ts");
  return createRedisBus({ ...redis, clock, random, log });
}

const mark = (topic: Topic) => (topics[topic].retained ? "yes" : "");

function measureBus(metrics: Metrics, bus: Bus): void {
  const samples = (count: keyof TopicCounts) => () =>
    Array.from(bus.counts, ([topic, counts]) => [{ topic }, counts[count]] as const);
  const rows = Object.entries(busCounts).map(
    ([count, help]) => [count, help, samples(count as keyof TopicCounts), ["topic"]] as const,
  );
  metrics.readEach("counter", "akash_provider_bus", rows);
  const connected = () => (bus.state.connected ? 1 : 0);
  metrics.readEach("gauge", "akash_provider_bus", [["connected", "1 while the bus is connected", connected]]);
}

/** `missed` are those dropped before this one, because they were not read fast enough. */
export type WatchedMessage = Message & { readonly missed?: number };

/** One message after the other, retained values first. It ends when the signal is aborted, with its reason. */
export async function* watchTopics(bus: Bus, patterns: readonly string[], signal: AbortSignal) {
  const { give, values } = createHandoff<Message>();
  // While one is not read, others wait in the bounded queue of the subscription.
  const subscription = bus.subscribe(patterns as readonly TopicPattern[], (message) => give({ ...message }));
  let dropped = 0;
  try {
    for await (const message of values(signal)) {
      const missed = subscription.dropped - dropped;
      dropped += missed;
      const watched: WatchedMessage = missed > 0 ? { ...message, missed } : message;
      yield watched;
    }
  } finally {
    subscription.close();
  }
}
