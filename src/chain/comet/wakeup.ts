/**
 * Hears of new blocks over a WebSocket, so that nobody has to wait for the next look at the head. It only ever wakes:
 * a subscription that is dead, late or wrong costs a moment, and never an event.
 */
import { WebSocket } from "ws";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { createPause } from "../../runtime/pause.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import type { Endpoint } from "./endpoint.ts";
import { isOfChain } from "./follower.ts";

export interface WakeupCounts {
  connections: number;
  wakes: number;
  /** Pings that were answered. */
  pongs: number;
  /** Connections that seemed to live and did not. */
  halfOpen: number;
}

export interface Wakeup {
  /** Stays subscribed until the signal. */
  run(signal: AbortSignal): Promise<void>;
  /** Another node may be the one to listen to now. */
  moveOn(): void;
  readonly subscribed: boolean;
  readonly counts: Readonly<WakeupCounts>;
}

export interface WakeupDeps {
  /** The node to listen to; asked before every connection. */
  readonly endpoint: () => Endpoint;
  readonly wake: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const subscription = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "subscribe",
  params: { query: "tm.event='NewBlockHeader'" },
});

export function createWakeup({ endpoint, wake, clock, random, log }: WakeupDeps): Wakeup {
  const counts: WakeupCounts = { connections: 0, wakes: 0, pongs: 0, halfOpen: 0 };
  const pause = createPause(clock);
  let subscribed = false;
  let current: { readonly node: Endpoint; readonly socket: WebSocket } | undefined;

  /** The first message only says that the subscription stands; a block may have been made just before. */
  function hear(socket: WebSocket, message: string): void {
    if (isRefusal(message)) {
      socket.terminate();
      return;
    }
    subscribed = true;
    counts.wakes += 1;
    wake();
  }

  /** Resolves when the connection has ended, for whatever reason; true if it ever worked. */
  async function listen(signal: AbortSignal): Promise<boolean> {
    const node = endpoint();
    const address = socketAddress(node.url);
    const options = { ...node.tls(), maxPayload: limits.rpcWakeMessageBytes, handshakeTimeout: limits.rpcCallMs };
    const socket = new WebSocket(address, options);
    current = { node, socket };
    const end = () => socket.terminate();
    const heartbeat = createHeartbeat(socket, clock, counts);
    signal.addEventListener("abort", end, { once: true });
    await new Promise<void>((resolve) => {
      socket.on("open", () => {
        counts.connections += 1;
        heartbeat.start();
        socket.send(subscription);
      });
      socket.on("message", (data) => hear(socket, data.toString()));
      socket.on("error", (error) => log.debug("the subscription failed", { node: node.name, reason: reasonOf(error) }));
      socket.on("close", resolve);
    });
    current = undefined;
    heartbeat.stop();
    signal.removeEventListener("abort", end);
    const worked = subscribed;
    subscribed = false;
    return worked;
  }

  return {
    async run(signal) {
      let pauseMs: number = limits.rpcWakeReconnectFirstMs;
      while (!signal.aborted) {
        const worked = await listen(signal).catch((thrown) => {
          if (!isOfChain(thrown)) throw thrown;
          log.error("cannot subscribe to new blocks", { error: thrown });
          return false;
        });
        pauseMs = worked ? limits.rpcWakeReconnectFirstMs : Math.min(pauseMs * 2, limits.rpcWakeReconnectMostMs);
        await pause.wait(jitter(random, pauseMs), signal);
      }
    },
    // The pause before the next connection stays: nodes that take turns must not be called at every turn.
    moveOn() {
      if (current && current.node !== endpoint()) current.socket.terminate();
    },
    get subscribed() {
      return subscribed;
    },
    counts,
  };
}

/** The node takes no more subscribers, or ends the subscription of one that reads too slowly. */
function isRefusal(message: string): boolean {
  try {
    return "error" in JSON.parse(message);
  } catch (thrown) {
    if (thrown instanceof SyntaxError || thrown instanceof TypeError) return true;
    throw thrown;
  }
}

/** A peer that is gone without a word does not answer a ping; CometBFT answers, and so does every proxy. */
function createHeartbeat(socket: WebSocket, clock: Clock, counts: WakeupCounts) {
  let timer: Timer | undefined;
  let heard = true;
  socket.on("pong", () => {
    heard = true;
    counts.pongs += 1;
  });
  socket.on("message", () => {
    heard = true;
  });
  function beat(): void {
    if (!heard) {
      counts.halfOpen += 1;
      socket.terminate();
      return;
    }
    heard = false;
    socket.ping();
    timer = clock.timer(limits.rpcWakePingMs, beat);
  }
  return {
    start: beat,
    stop: () => timer?.cancel(),
  };
}

function socketAddress({ protocol, host, username, password, pathname, search }: URL): URL {
  const address = new URL(`${protocol === "https:" ? "wss" : "ws"}://${host}`);
  Object.assign(address, { username, password, search, pathname: `${pathname.replace(/\/$/, "")}/websocket` });
  return address;
}
