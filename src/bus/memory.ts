/** The bus inside one process: for the demo, for tests, and for a provider that runs its operators itself. */
import { limits as allLimits } from "../runtime/limits.ts";
import type { Bus, BusLimits, BusOptions } from "./bus.ts";
import { createDelivery, type Delivery } from "./delivery.ts";
import { type Letter, openLetter, type Postmark, writeLetter } from "./message.ts";
import { createTopicTally } from "./tally.ts";
import type { Topic } from "./topics.ts";

export function createMemoryBus(options: BusOptions): Bus {
  const { clock, log } = options;
  const limits: BusLimits = { ...allLimits, ...options.limits };
  const tally = createTopicTally(limits.busTopics);
  const deliveries = new Set<Delivery>();
  const kept = new Map<Topic, { letter: Letter; postmark: Postmark }>();
  let sequence = 0;
  let closed = false;

  return {
    publish(topic, data, { retain = false } = {}) {
      const letter = writeLetter(topic, data, retain, limits.busMessageBytes);
      const counts = tally.own(topic);
      counts.published += 1;
      if (closed) {
        counts.dropped += 1;
        return;
      }
      const nowMs = clock.now();
      sequence += 1;
      const postmark = { id: `${nowMs}-${sequence}`, publishedAtMs: nowMs, retained: false };
      if (retain) {
        counts.retained = true;
        kept.set(topic, { letter, postmark: { ...postmark, retained: true } });
      }
      const audience = [...deliveries].filter((delivery) => delivery.wants(topic));
      if (audience.length === 0) return;
      const message = openLetter(letter, postmark);
      for (const delivery of audience) delivery.offer(message, letter.bytes);
    },

    subscribe(patterns, handler, subscribeOptions = {}) {
      const delivery = createDelivery([patterns].flat(), handler as never, subscribeOptions, {
        clock,
        log,
        limits,
        tally,
        onClose: (ended) => deliveries.delete(ended),
      });
      deliveries.add(delivery);
      for (const [topic, { letter, postmark }] of kept) {
        if (delivery.wants(topic)) delivery.offer(openLetter(letter, postmark), letter.bytes);
      }
      return delivery;
    },

    flush: () => Promise.resolve(),
    state: { state: "connected", address: "memory" },
    counts: tally.all,

    close() {
      closed = true;
      for (const delivery of deliveries) delivery.close();
      return Promise.resolve();
    },
  };
}
