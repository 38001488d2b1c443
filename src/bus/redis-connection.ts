/**
 * One connection to one Redis server, which lives once. The client library would reconnect by itself, with its own
 * timers and queues; here redis-link.ts decides when and where to, on a clock that tests can drive.
 */
import { createClient } from "redis";
import { type Clock, withDeadline } from "../runtime/clock.ts";
import { type RedisAddress, showAddress } from "./redis-address.ts";

export interface RedisConnection {
  /** The answer to a command. None within `answerMs` is an error, as a refusal is. */
  send(command: readonly string[], answerMs?: number): Promise<unknown>;
  /** Aborted, with the reason, when the connection is lost or closed. */
  readonly signal: AbortSignal;
  close(): void;
}

export interface OpenOptions {
  /** What `CLIENT LIST` calls it. */
  readonly name: string;
  readonly clock: Clock;
  readonly answerMs: number;
  /** Gives up opening, or closes what is open. */
  readonly signal: AbortSignal;
}

/** The library builds a class of all commands, in 60 ms, for each new set of options; copies of one client share it. */
const template = createClient({
  RESP: 2,
  disableOfflineQueue: true,
  disableClientInfo: true,
  maintNotifications: "disabled",
});

export async function openConnection(address: RedisAddress, options: OpenOptions): Promise<RedisConnection> {
  const { clock, answerMs } = options;
  options.signal.throwIfAborted();
  const late = (ms: number) => new Error(`${showAddress(address)} gave no answer within ${ms} ms`);
  const lost = new AbortController();
  const client = template.duplicate({
    name: options.name,
    database: address.database,
    ...(address.username === undefined ? {} : { username: address.username }),
    ...(address.password === undefined ? {} : { password: address.password }),
    socket: {
      host: address.host,
      port: address.port,
      ...(address.tls ? { tls: true } : {}),
      connectTimeout: answerMs,
      reconnectStrategy: false,
    },
  });
  const lose = (reason: unknown) => lost.abort(reason);
  client.on("error", lose);
  const onAbort = () => lose(options.signal.reason);
  options.signal.addEventListener("abort", onAbort);
  const gone = new Promise<never>((_, reject) => {
    lost.signal.addEventListener("abort", () => {
      options.signal.removeEventListener("abort", onAbort);
      client.destroy();
      reject(lost.signal.reason);
    });
  });

  const connected = client.connect().then(() => {
    // The library forgets about a socket that was still opening when it was told to destroy it.
    if (lost.signal.aborted) client.destroy();
  });
  await withDeadline(clock, answerMs, Promise.race([connected, gone]), () => lose(late(answerMs)));
  lost.signal.throwIfAborted();

  return {
    send: (command, limitMs = answerMs) =>
      withDeadline(clock, limitMs, client.sendCommand(command), async () => {
        // If it was this process that hung, the answer has been waiting for us: look before judging.
        await clock.yield();
        throw late(limitMs);
      }),
    signal: lost.signal,
    close: () => lose(new Error("closed")),
  };
}
