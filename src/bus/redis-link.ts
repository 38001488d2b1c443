/** Keeps us connected to Redis: finds the master, works with it until it is lost, pauses, and begins again. */
import { growingPauseMs } from "../runtime/back-off.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { ProviderError, reasonOf } from "../runtime/errors.ts";
import { InvariantError } from "../runtime/invariant.ts";
import type { Log } from "../runtime/log.ts";
import { jitter, type Random } from "../runtime/random.ts";
import type { BusLimits, BusState } from "./bus.ts";
import { showAddress } from "./redis-address.ts";
import { openConnection, type RedisConnection } from "./redis-connection.ts";
import { assertMaster, type MasterFinder } from "./sentinel.ts";

interface RedisLink {
  readonly state: BusState;
  close(): Promise<void>;
}

interface RedisLinkOptions {
  readonly finder: MasterFinder;
  /** What to do with a pair of connections until they are lost. A read that waits would hold up everything else. */
  readonly work: (reader: RedisConnection, writer: RedisConnection) => Promise<never>[];
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: BusLimits;
  readonly log: Log;
}

export function createRedisLink(options: RedisLinkOptions): RedisLink {
  const { finder, work, clock, random, limits, log } = options;
  const closing = new AbortController();
  let state: BusState = { state: "connecting", address: finder.description, reason: "not tried yet" };
  let failures = 0;

  function enter(next: BusState): void {
    const unchanged = next.state === "connecting" && state.state === "connecting" && next.reason === state.reason;
    if (unchanged) return;
    state = next;
    if (next.state === "connected") {
      log.info("connected to Redis", { address: next.address });
    } else {
      const error = new ProviderError("AKP_BUS_UNREACHABLE", { address: next.address, reason: next.reason });
      log.error("Redis unreachable", { code: error.code, reason: error.message, advice: error.advice });
    }
  }

  async function session(): Promise<void> {
    const about = (name: string) => ({ name, clock, answerMs: limits.busHeartbeatMs, signal: closing.signal });
    const address = await finder.find(about("akash-provider-finder"));
    const open: RedisConnection[] = [];
    const parts: Promise<never>[] = [];
    try {
      const writer = await openConnection(address, about("akash-provider-writer"));
      open.push(writer);
      const reader = await openConnection(address, about("akash-provider-reader"));
      open.push(reader);
      await assertMaster(writer, address);
      enter({ state: "connected", address: showAddress(address) });
      parts.push(...work(reader, writer), heartbeat(writer));
      await Promise.all(parts);
    } finally {
      for (const connection of open) connection.close();
      // The next session must not begin while a part of this one still ends.
      await Promise.allSettled(parts);
    }
  }

  /** A server that hangs keeps its connections; only silence gives it away. */
  async function heartbeat(connection: RedisConnection): Promise<never> {
    for (;;) {
      await sleep(clock, limits.busHeartbeatMs, connection.signal);
      await connection.send(["PING"]);
      failures = 0;
    }
  }

  async function keepConnected(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        if (failures > 0) await sleep(clock, pauseMs(), closing.signal);
        await session();
      } catch (error) {
        if (closing.signal.aborted) return;
        if (error instanceof InvariantError) throw error;
        failures += 1;
        enter({ state: "connecting", address: finder.description, reason: reasonOf(error) });
      }
    }
  }

  function pauseMs(): number {
    const pause = growingPauseMs(limits.busReconnectFirstMs, limits.busReconnectMostMs, failures);
    return jitter(random, pause);
  }

  const running = keepConnected();
  return {
    get state() {
      return state;
    },
    async close() {
      closing.abort(new Error("the bus is closed"));
      await running;
      state = { state: "connecting", address: finder.description, reason: "the bus is closed" };
    },
  };
}
