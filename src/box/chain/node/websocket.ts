/** WebSocket connections: requests like over HTTP, and events for those who subscribe. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { Clock, Timer } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";
import type { EventFeed } from "./event-feed.ts";
import type { JsonRpc } from "./json-rpc.ts";
import { createSendQueue } from "./send-queue.ts";
import { createSubscriptions } from "./subscriptions.ts";

/** CometBFT's own bounds on requests and clients; a client that fits a real node fits this one. */
export const chainRequestBytes = 1_000_000;
/** A client that does not answer a ping before the next one is gone. */
export const chainPingMs = 27 * second;

export interface Sockets {
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  stop(): void;
  readonly connections: number;
}

interface SocketDeps {
  readonly rpc: JsonRpc;
  readonly feed: EventFeed;
  readonly clock: Clock;
  readonly log: Log;
}

export function createSockets(deps: SocketDeps): Sockets {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: chainRequestBytes,
    perMessageDeflate: false,
  });
  const connections = new Set<Connection>();
  const subscribers = () => [...connections].filter((connection) => connection.subscriptions > 0).length;

  return {
    accept(request, socket, head) {
      server.handleUpgrade(request, socket, head, (webSocket) => {
        const connection = createConnection(webSocket, deps, subscribers);
        connections.add(connection);
        webSocket.on("close", () => {
          connection.end();
          connections.delete(connection);
        });
      });
    },
    stop() {
      for (const connection of connections) connection.end();
      connections.clear();
      server.close();
    },
    get connections() {
      return connections.size;
    },
  };
}

interface Connection {
  readonly subscriptions: number;
  end(): void;
}

function createConnection(socket: WebSocket, deps: SocketDeps, subscribers: () => number): Connection {
  const { rpc, feed, clock, log } = deps;
  const queue = createSendQueue(socket, clock, readOrWait);
  const heartbeat = createHeartbeat(socket, clock);
  const subscriptions = createSubscriptions(feed, queue, subscribers);
  let answered = Promise.resolve();
  let unanswered = 0;

  /** Requests are answered one after the other, and no more are read meanwhile. */
  function readOrWait(): void {
    if (unanswered > 0 || queue.full) socket.pause();
    else socket.resume();
  }

  async function answer(text: string): Promise<void> {
    const reply = await rpc.overSocket(text, subscriptions);
    if (reply !== undefined) queue.send(reply);
    unanswered -= 1;
    readOrWait();
  }

  socket.on("message", (data: RawData) => {
    unanswered += 1;
    readOrWait();
    answered = answered
      .then(() => answer(data.toString()))
      .catch((thrown) => log.error("WebSocket request failed", { error: thrown }));
  });
  socket.on("error", (error) => log.debug("WebSocket failed", { reason: reasonOf(error) }));

  return {
    get subscriptions() {
      return subscriptions.size;
    },
    end() {
      subscriptions.end();
      heartbeat.stop();
      queue.stop();
      socket.terminate();
    },
  };
}

/** Pings a client, and ends a connection that showed no sign of life since the last ping. */
function createHeartbeat(socket: WebSocket, clock: Clock): { stop(): void } {
  let alive = true;
  let timer: Timer = clock.timer(chainPingMs, beat);

  function beat(): void {
    if (!alive) {
      socket.terminate();
      return;
    }
    alive = false;
    socket.ping();
    timer = clock.timer(chainPingMs, beat);
  }

  for (const sign of ["message", "ping", "pong"] as const) {
    socket.on(sign, () => {
      alive = true;
    });
  }
  return { stop: () => timer.cancel() };
}
