/** The bus that the settings ask for: Redis where there is one, else inside the process. */

import type { Clock } from "../runtime/clock.ts";
import { condition } from "../runtime/condition.ts";
import type { GroundService } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Random } from "../runtime/random.ts";
import type { Bus } from "./bus.ts";
import { createMemoryBus } from "./memory.ts";
import type { RedisOptions } from "./redis.ts";
import type { TopicCounts } from "./tally.ts";

interface BusGround {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export function createBusService(
  redis: RedisOptions | undefined,
  ground: BusGround,
): GroundService<Bus, readonly TopicStatus[]> {
  const { promise: opened, resolve } = Promise.withResolvers<Bus>();
  let bus: Bus | undefined;
  return {
    name: "bus",
    async start(scope) {
      const own = await openBus(redis, ground);
      scope.onStop(() => own.close());
      bus = own;
      resolve(own);
    },
    opened,
    detail: () => (bus ? describe(bus) : ""),
    status: () => bus && topicsOf(bus),
    *conditions() {
      if (bus && bus.state.state !== "connected") yield condition("BusAway", describe(bus));
    },
    measure: (metrics) => bus && measureBus(metrics, bus),
  };
}

async function openBus(redis: RedisOptions | undefined, { clock, random, log }: BusGround): Promise<Bus> {
  const busLog = log.with({ module: "bus" });
  if (!redis) return createMemoryBus({ clock, log: busLog });
  // The client takes its share of memory; whoever does without Redis does without it too.
  const { createRedisBus } = await import("./redis.ts");
  return createRedisBus({ ...redis, clock, random, log: busLog });
}

function describe({ state }: Bus): string {
  return state.state === "connected" ? state.address : `${state.address}: not connected, ${state.reason}`;
}

export type TopicStatus = Pick<TopicCounts, "published" | "delivered" | "dropped"> & {
  topic: string;
  retained: string;
};

function topicsOf(bus: Bus): TopicStatus[] {
  return [...bus.counts].map(([topic, { published, delivered, dropped, retained }]) => {
    return { topic, published, delivered, dropped, retained: retained ? "yes" : "" };
  });
}

function measureBus(metrics: Metrics, bus: Bus): void {
  const counters: [Exclude<keyof TopicCounts, "retained">, string][] = [
    ["published", "Messages published"],
    ["delivered", "Messages handed to subscribers"],
    ["dropped", "Messages dropped because a bound was reached"],
    ["failed", "Messages whose handler failed"],
    ["malformed", "Messages received that could not be parsed"],
  ];
  for (const [count, help] of counters) {
    const name = `akash_provider_bus_${count}_total`;
    metrics.read({ name, help, kind: "counter", labels: ["topic"] }, () =>
      [...bus.counts].map(([topic, counts]) => [{ topic }, counts[count]]),
    );
  }
  const help = "1 while the bus is connected";
  metrics.read({ name: "akash_provider_bus_connected", help, kind: "gauge" }, () =>
    bus.state.state === "connected" ? 1 : 0,
  );
}
