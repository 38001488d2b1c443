/** Writes what is published, a batch at a time, each acknowledged before the next: order survives a lost connection. */
import type { Bell } from "./bell.ts";
import type { Outgoing } from "./outgoing.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { isAfter, type RedisStore } from "./redis-store.ts";
import type { StreamReader } from "./stream-reader.ts";

interface StreamWriter {
  /** Writes until the connection is lost, and rejects with the reason. */
  run(connection: RedisConnection): Promise<never>;
  /** Resolves when nothing waits to be written and no subscriber for its place. */
  idle(): Promise<void>;
  /** Drops what still waits. */
  close(): void;
}

interface StreamWriterContext {
  readonly outgoing: Outgoing;
  readonly store: RedisStore;
  readonly reader: Pick<StreamReader, "settled">;
  /** Rung when something waits to be written, and when a subscriber waits for its place or has found it. */
  readonly bell: Bell;
}

export function createStreamWriter({ outgoing, store, reader, bell }: StreamWriterContext): StreamWriter {
  let waiters: (() => void)[] = [];

  function tellIdle(): void {
    for (const done of waiters) done();
    waiters = [];
  }

  /** A failover or a restart may have cost Redis a retained value that it had acknowledged. */
  async function restore(connection: RedisConnection): Promise<void> {
    for (const [topic, id] of [...outgoing.written]) {
      const present = await store.retainedId(connection, topic);
      if (present === undefined || isAfter(id, present)) outgoing.writeAgain(topic);
    }
  }

  return {
    async run(connection) {
      connection.signal.addEventListener("abort", bell.ring, { once: true });
      try {
        await restore(connection);
        for (;;) {
          connection.signal.throwIfAborted();
          // A subscriber sees all that its own process publishes after it came: it gets its place before anything is sent.
          if (!reader.settled) await store.wakeReader(connection);
          const letters = reader.settled ? outgoing.take() : [];
          if (letters.length > 0) {
            outgoing.acknowledged(await store.append(connection, letters));
          } else {
            if (reader.settled) tellIdle();
            await bell.rung();
          }
        }
      } finally {
        outgoing.putBack();
      }
    },
    idle() {
      bell.ring();
      return new Promise((resolve) => waiters.push(resolve));
    },
    close() {
      outgoing.giveUp();
      tellIdle();
    },
  };
}
