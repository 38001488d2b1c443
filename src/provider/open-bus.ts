/** The bus that the settings ask for: Redis where there is one, else inside the process. */
import type { Bus } from "../bus/bus.ts";
import { createMemoryBus } from "../bus/memory.ts";
import type { RedisOptions } from "../bus/redis.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { Random } from "../runtime/random.ts";

export interface BusOptions {
  readonly redis?: RedisOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export async function openBus({ redis, clock, random, log }: BusOptions): Promise<Bus> {
  const busLog = log.with({ module: "bus" });
  if (!redis) return createMemoryBus({ clock, log: busLog });
  // The client takes its share of memory; whoever does without Redis does without it too.
  const { createRedisBus } = await import("../bus/redis.ts");
  return createRedisBus({ ...redis, clock, random, log: busLog });
}
