/** Which connections there are: how many in all, from one address and in their handshake, and which of them stand still. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { createCounts } from "../../runtime/counts.ts";
import { limits } from "../../runtime/limits.ts";
import { placeOf } from "../auth/place.ts";

export type ConnectionRefusal = "address" | "handshakes" | "pipelined" | "stalled";

/** Of one that is through its handshake. */
interface Held {
  /** Requests without an answer. */
  open: number;
  /** To the last of them. */
  answer: ServerResponse | undefined;
  answered: number;
  /** To somebody who looks after it himself. */
  isHandedOver: boolean;
  /** Since when bytes have waited for the client, and what had been answered then. */
  waiting: { readonly sinceMs: number; readonly answered: number } | undefined;
}

export function createConnections(clock: Clock, onRefusal: (reason: ConnectionRefusal) => void) {
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
    }
  }

  function end(socket: Socket, reason: ConnectionRefusal): void {
    onRefusal(reason);
    socket.destroy();
  }

  /** One for all of them: what is made anew for each request costs more than the rest of this. */
  function leave(this: ServerResponse): void {
    const state = held.get(this.req.socket);
    if (!state) return;
    state.open -= 1;
    state.answered += 1;
    if (state.answer === this) state.answer = undefined;
  }

  return {
    get count(): number {
      return all;
    },
    /** Whether a new one may stay. */
    admit(socket: Socket): boolean {
      const place = placeOf(socket.remoteAddress ?? "");
      const ofPlace = connected.of(place);
      const refusal =
        ofPlace >= limits.gatewayConnectionsPerAddress
          ? "address"
          : all - held.size >= limits.gatewayHandshakes ||
              ofPlace - secured.of(place) >= limits.gatewayHandshakesPerAddress
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
    /** It is through its handshake. */
    hold(socket: TLSSocket): void {
      held.set(socket, { open: 0, answer: undefined, answered: 0, isHandedOver: false, waiting: undefined });
      const place = placeOf(socket.remoteAddress ?? "");
      secured.add(place, 1);
      socket.once("close", () => {
        held.delete(socket);
        secured.add(place, -1);
      });
    },
    /** Whether a request may be answered; `most` are on their way, with this one. */
    begin({ socket }: IncomingMessage, response: ServerResponse, most: number = limits.gatewayPipelined): boolean {
      const state = held.get(socket);
      if (!state) return false;
      state.open += 1;
      if (state.open > most) {
        end(socket, "pipelined");
        return false;
      }
      state.answer = response;
      response.on("close", leave);
      return true;
    },
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
