/**
 * The bus over Redis, for operators that run as processes of their own. It is there from the start whether Redis is or
 * not: it connects when it can, says when it cannot, and keeps what was published meanwhile, within bounds.
 */
import { withDeadline } from "../runtime/clock.ts";
import { limits as allLimits } from "../runtime/limits.ts";
import type { Random } from "../runtime/random.ts";
import { createBell } from "./bell.ts";
import type { Bus, BusLimits, BusOptions } from "./bus.ts";
import { createDelivery, type Delivery } from "./delivery.ts";
import { writeLetter } from "./message.ts";
import { createOutgoing } from "./outgoing.ts";
import type { RedisSettings } from "./redis-address.ts";
import { createRedisLink } from "./redis-link.ts";
import { createRedisStore } from "./redis-store.ts";
import { createMasterFinder } from "./sentinel.ts";
import { createStreamReader } from "./stream-reader.ts";
import { createStreamWriter } from "./stream-writer.ts";
import { createTopicTally } from "./tally.ts";

export interface RedisOptions extends RedisSettings {
  /** What the name of every key begins with, so that several providers can share a Redis. */
  readonly prefix?: string;
}

export function createRedisBus(options: RedisOptions & BusOptions & { readonly random: Random }): Bus {
  const { clock, log, random, prefix = "akash-provider:" } = options;
  const limits: BusLimits = { ...allLimits, ...options.limits };
  const tally = createTopicTally(limits.busTopics);
  const deliveries = new Set<Delivery>();
  const outgoing = createOutgoing(limits, tally);
  const instance = Buffer.from(random.bytes(8)).toString("hex");
  const store = createRedisStore(prefix, instance, limits);
  const bell = createBell();
  const reader = createStreamReader({ store, tally, limits, log, onSettled: bell.ring });
  const writer = createStreamWriter({ outgoing, store, reader, bell });
  const link = createRedisLink({
    finder: createMasterFinder(options),
    work: (forReading, forWriting) => [reader.run(forReading), writer.run(forWriting)],
    clock,
    random,
    limits,
    log,
  });
  let closed = false;

  return {
    publish(topic, data, { retain = false } = {}) {
      const letter = writeLetter(topic, data, retain, limits.busMessageBytes);
      const counts = tally.own(topic);
      counts.published += 1;
      if (retain) counts.retained = true;
      outgoing.push(letter);
      if (closed) writer.close();
      else bell.ring();
    },

    subscribe(patterns, handler, subscribeOptions = {}) {
      const delivery = createDelivery([patterns].flat(), handler as never, subscribeOptions, {
        clock,
        log,
        limits,
        tally,
        onClose(ended) {
          deliveries.delete(ended);
          reader.leave(ended);
        },
      });
      deliveries.add(delivery);
      reader.join(delivery);
      bell.ring();
      return delivery;
    },

    flush: () => (closed ? Promise.resolve() : writer.idle()),
    get state() {
      return link.state;
    },
    counts: tally.all,

    async close() {
      if (closed) return;
      if (link.state.state === "connected") {
        await withDeadline(clock, limits.busHeartbeatMs, writer.idle(), () => undefined);
      }
      closed = true;
      for (const delivery of deliveries) delivery.close();
      await link.close();
      writer.close();
    },
  };
}
