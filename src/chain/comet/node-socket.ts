/** A WebSocket to a node that stays open, and is noticed when it only seems to. */
import { type ClientOptions, WebSocket } from "ws";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { rpcCallMs } from "./rpc-call.ts";

/** A subscription that is silent this long is asked whether it still lives. */
export const rpcWakePingMs = 10 * second;
/** A header is under 2 KB. */
const rpcWakeMessageBytes = 1024 * 1024;

export interface SocketCounts {
  connections: number;
  /** Pings that were answered. */
  pongs: number;
  /** Connections that seemed to live and did not. */
  halfOpen: number;
}

interface SocketDeps {
  readonly url: URL;
  readonly tls: ClientOptions;
  readonly clock: Clock;
  readonly counts: SocketCounts;
}

/** As `listen` of a transport, but rejects with whatever the socket says. */
export function listenOverSocket(
  { url, tls, clock, counts }: SocketDeps,
  text: string,
  heard: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const options = { ...tls, maxPayload: rpcWakeMessageBytes, handshakeTimeout: rpcCallMs };
  const socket = new WebSocket(socketAddress(url), options);
  const end = () => socket.terminate();
  const heartbeat = createHeartbeat(socket, clock, counts);
  signal.addEventListener("abort", end, { once: true });
  let failure: Error | undefined;
  return new Promise((resolve, reject) => {
    socket.on("open", () => {
      counts.connections += 1;
      heartbeat.start();
      socket.send(text);
    });
    socket.on("message", (data) => heard(data.toString()));
    socket.on("error", (error) => {
      failure = error;
    });
    socket.on("close", () => {
      heartbeat.stop();
      signal.removeEventListener("abort", end);
      if (failure && !signal.aborted) reject(failure);
      else resolve();
    });
  });
}

/** A peer that is gone without a word does not answer a ping; CometBFT answers, and so does every proxy. */
function createHeartbeat(socket: WebSocket, clock: Clock, counts: SocketCounts) {
  let timer: Timer | undefined;
  let isAlive = true;
  socket.on("pong", () => {
    isAlive = true;
    counts.pongs += 1;
  });
  socket.on("message", () => {
    isAlive = true;
  });
  function beat(): void {
    if (!isAlive) {
      counts.halfOpen += 1;
      socket.terminate();
      return;
    }
    isAlive = false;
    socket.ping();
    timer = clock.timer(rpcWakePingMs, beat);
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
