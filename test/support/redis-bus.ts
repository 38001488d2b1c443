/** A bus over Redis as tests open it: quick to come back, with its log lines kept, closed when the test ends. */
import type { Bus, BusOptions } from "../../src/bus/bus.ts";
import { createRedisBus, type RedisOptions } from "../../src/bus/redis.ts";
import { realClock } from "../../src/runtime/clock.ts";
import type { Fields, Log } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import type { Owner } from "./owner.ts";

/** Quick to come back, so that no test waits for seconds. */
const quick: BusOptions["limits"] = { reconnectFirstMs: 10, reconnectMostMs: 50 };

export interface OpenBus {
  readonly bus: Bus;
  readonly lines: [message: string, fields: Fields | undefined][];
}

export function openBus(owner: Owner, redis: RedisOptions, limits: BusOptions["limits"] = {}): OpenBus {
  const lines: OpenBus["lines"] = [];
  const write = (message: string, fields?: Fields) => void lines.push([message, fields]);
  const log: Log = { debug: write, info: write, warn: write, error: write, with: () => log };
  const bus = createRedisBus({ ...redis, clock: realClock, random: realRandom, log, limits: { ...quick, ...limits } });
  owner.after(() => bus.close());
  return { bus, lines };
}
