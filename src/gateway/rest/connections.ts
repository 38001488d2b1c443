/** The open connections of a listener: bounded in number and in the bytes of their requests, in all and for each client. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { ByteBudget, requestBytes } from "../../runtime/byte-budget.ts";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { createCounts } from "../../runtime/counts.ts";
import { limits } from "../../runtime/limits.ts";
import { placeOfSocket } from "../auth/place.ts";
import { restOf, sendRefusal } from "./send-answer.ts";

export type ConnectionRefusal = "address" | "bytes" | "full" | "handshakes" | "pipelined" | "stalled";

/** Of a body that is not read yet, Node reads so much ahead. */
const readAheadBytes = 64 * 1024;

/** For requests without an answer, over REST and gRPC together: what is left of 256 MB when the provider is at work. */
export function createRequestBudget(): ByteBudget {
  return new ByteBudget({
    // The largest manifests of a dozen tenants behind one proxy.
    perClient: 16 * 2 ** 20,
    total: 64 * 2 ** 20,
    // A token with as much beside it: tenants read the status of their leases while others upload.
    assured: 32 * 1024,
  });
}

export const connectionLimits = {
  /** Each costs some 50 KB with its TLS, and there are two listeners: together 200 MB. Enough for a stream of each tenant. */
  secured: 2_048,
  /** From one address: proxies and load balancers stand for many, and still leave room for others. */
  perAddress: 1_024,
  /** Each may cost some milliseconds of signing, so more would be a second of nothing else. */
  handshakes: 512,
  /** Of these from one address, so that one which begins them and goes no further keeps no other client out. */
  handshakesPerAddress: 128,
};

/** What a listener takes: those in their handshake come on top of those that are through it. */
export const listenerConnections = connectionLimits.secured + connectionLimits.handshakes;

interface ConnectionsDeps {
  readonly budget: ByteBudget;
  readonly clock: Clock;
  readonly onRefusal: (reason: ConnectionRefusal) => void;
  /** Ends a connection that has had no request for `gatewayIdleMs`, where HTTP itself does not. */
  readonly onIdle?: (socket: Socket) => void;
}

/** A connection after its handshake. */
interface Held {
  readonly place: string;
  /** Requests without an answer, and their bytes. */
  open: number;
  bytes: number;
  /** To the last of them. */
  answer: ServerResponse | undefined;
  answered: number;
  /** It has become a WebSocket. */
  isHandedOver: boolean;
  /** Since when it has had no request; Infinity once it is being ended for that. */
  idleSinceMs: number;
  /** Since when bytes have waited for the client, and what had been answered then. */
  waiting: { readonly sinceMs: number; readonly answered: number } | undefined;
}

export type Connections = ReturnType<typeof createConnections>;

export function createConnections({ budget, clock, onRefusal, onIdle }: ConnectionsDeps) {
  /** By the place that they come from, with those in their handshake; and those through it alone. */
  const [connected, secured] = [createCounts(), createCounts()];
  const held = new Map<Socket, Held>();
  let all = 0;
  let timer: Timer | undefined;

  /** A client that reads slowly keeps bytes of ours for as long as it likes; one that reads at all is answered in between. */
  function look(): void {
    timer = clock.timer(limits.gatewayLookMs, look);
    const nowMs = clock.monotonicMs();
    for (const [socket, state] of held) {
      const { waiting, answered } = state;
      if (socket.writableLength === 0 || state.isHandedOver) state.waiting = undefined;
      else if (waiting?.answered !== answered) state.waiting = { sinceMs: nowMs, answered };
      else if (nowMs - waiting.sinceMs > limits.gatewayStalledMs) end(socket, "stalled");
      if (onIdle && isIdle(state) && nowMs - state.idleSinceMs > limits.gatewayIdleMs) {
        state.idleSinceMs = Number.POSITIVE_INFINITY;
        onIdle(socket);
      }
    }
  }

  /** Without it, few clients with many connections that do nothing would keep out all others. */
  function makeRoom(): void {
    let found: { socket: Socket; state: Held; ofClient: number } | undefined;
    for (const [socket, state] of held) {
      if (!isIdle(state)) continue;
      const ofClient = secured.of(state.place);
      const isHeavier = !found || ofClient > found.ofClient;
      if (isHeavier || (ofClient === found?.ofClient && state.idleSinceMs < found.state.idleSinceMs))
        found = { socket, state, ofClient };
    }
    if (!found) return;
    drop(found.socket, found.state);
    end(found.socket, "full");
  }

  /** Once, although its socket closes only later where we end it. */
  function drop(socket: Socket, state: Held): void {
    if (!held.delete(socket)) return;
    secured.add(state.place, -1);
    // Node does not close the responses that wait behind another one.
    budget.release(state.place, state.bytes);
  }

  function end(socket: Socket, reason: ConnectionRefusal): void {
    onRefusal(reason);
    socket.destroy();
  }

  /** False where the client holds too much; then the connection is left to the caller. */
  function beginCall(socket: Socket, bytes: number): boolean {
    const state = held.get(socket);
    if (!state) return false;
    if (!budget.reserve(state.place, bytes)) {
      onRefusal("bytes");
      return false;
    }
    state.open += 1;
    state.bytes += bytes;
    return true;
  }

  /** Of a connection that has ended everything is released already. */
  function endCall(socket: Socket, bytes: number): void {
    const state = held.get(socket);
    if (!state) return;
    state.open -= 1;
    state.answered += 1;
    if (state.open === 0) state.idleSinceMs = clock.monotonicMs();
    state.bytes -= bytes;
    budget.release(state.place, bytes);
  }

  /** One for all of them: what is made anew for each request costs more than the rest of this. */
  function leave(this: ServerResponse): void {
    endCall(this.req.socket, bytesOf(this.req));
    const state = held.get(this.req.socket);
    if (state?.answer === this) state.answer = undefined;
  }

  return {
    get count(): number {
      return all;
    },
    /** Whether a new one may stay. */
    admit(socket: Socket): boolean {
      const place = placeOfSocket(socket);
      const ofPlace = connected.of(place);
      const refusal =
        ofPlace >= connectionLimits.perAddress
          ? "address"
          : all - held.size >= connectionLimits.handshakes ||
              ofPlace - secured.of(place) >= connectionLimits.handshakesPerAddress
            ? "handshakes"
            : undefined;
      if (refusal) {
        end(socket, refusal);
        return false;
      }
      all += 1;
      connected.add(place, 1);
      socket.once("close", () => {
        all -= 1;
        connected.add(place, -1);
      });
      return true;
    },
    /** It is through its handshake. When there are too many, another one or this one ends. */
    hold(socket: TLSSocket): void {
      if (held.size >= connectionLimits.secured) makeRoom();
      if (held.size >= connectionLimits.secured) {
        end(socket, "full");
        return;
      }
      const place = placeOfSocket(socket);
      const state: Held = {
        ...{ place, open: 0, bytes: 0, answer: undefined, answered: 0, isHandedOver: false, waiting: undefined },
        idleSinceMs: clock.monotonicMs(),
      };
      held.set(socket, state);
      secured.add(place, 1);
      socket.once("close", () => drop(socket, state));
    },
    /** Whether a request may be answered; `most` are on their way, with this one. */
    begin(request: IncomingMessage, response: ServerResponse, most: number = limits.gatewayPipelined): boolean {
      const { socket } = request;
      const state = held.get(socket);
      if (!state) return false;
      if (state.open >= most) {
        end(socket, "pipelined");
        return false;
      }
      if (!beginCall(socket, bytesOf(request))) {
        sendRefusal(socket, "429 Too Many Requests", clock);
        return false;
      }
      state.answer = response;
      response.on("close", leave);
      return true;
    },
    ...{ beginCall, endCall },
    get handedOver(): number {
      return [...held.values()].filter(({ isHandedOver }) => isHandedOver).length;
    },
    /** It speaks no HTTP any more; how long it may stand still is up to whoever has it now. */
    handOver(socket: Socket): void {
      const state = held.get(socket);
      if (state) state.isHandedOver = true;
    },
    /**
     * Answers that are not through, of each connection the last. Not kept as a set of their own: one that takes and loses
     * thousands a second makes tables that keep each other, and all in them, alive until the whole heap is looked through.
     */
    answering: () => [...held.values()].flatMap(({ answer }) => answer ?? []),
    watch(): void {
      look();
    },
    close(): void {
      timer?.cancel();
    },
  };
}

function isIdle({ open, isHandedOver }: Held): boolean {
  return open === 0 && !isHandedOver;
}

function bytesOf(request: IncomingMessage): number {
  return requestBytes(request.rawHeaders) + Math.min(restOf(request), readAheadBytes);
}
