/** The open connections of a listener: bounded in number and in the bytes of their requests, in all and for each client. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { ByteBudget, createCounts, type RequestBudget, requestBytes } from "../../runtime/byte-budget.ts";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { restOf, sendError } from "./answer.ts";
import { rateLimitKeyOf } from "./rate-limit-key.ts";

/** As the network's own gateway gives for headers. */
export const gatewayHeaderMs = 3 * second;
/** A connection without a request: longer than Console's pause between two looks. */
export const gatewayIdleMs = 120 * second;
/** A client that takes nothing of its answer for so long has gone. */
export const gatewayStalledMs = 30 * second;
/** Between two looks at connections: how much later than allowed a slow one ends. */
export const gatewayCheckMs = second / 2;
/** Requests of one connection that have no answer yet. No client that we know sends a second before the first is answered. */
export const gatewayPipelined = 16;

export type ConnectionRejection = "address" | "bytes" | "full" | "handshakes" | "pipelined" | "stalled";

/** Of a body that is not read yet, Node reads so much ahead. */
const readAheadBytes = 64 * 1024;

/** Over REST and gRPC together. */
export function createRequestBudget(): RequestBudget {
  return {
    // Headers, what is read ahead, and bodies where anyone may send one. Assured: the start of a manifest with its token.
    anonymous: new ByteBudget({ perClient: 4 * 2 ** 20, total: 8 * 2 ** 20, assured: readAheadBytes + 32 * 1024 }),
    // Per account: its largest manifests or a large gRPC message.
    accounts: new ByteBudget({ perClient: 6 * 2 ** 20, total: 32 * 2 ** 20, assured: 32 * 1024 }),
  };
}

export const connectionLimits = {
  /** Each costs some 70 KB with its TLS, over gRPC 80 KB: together 90 MB. Streams have one each; gRPC has many calls on one. */
  secured: { rest: 896, grpc: 384 },
  /** From one address: proxies and load balancers stand for many, and still leave room for others. */
  perAddress: 768,
  /** Each may cost some milliseconds of signing, so more would be a second of nothing else. */
  handshakes: 512,
  /** Of these from one address, so that one which begins them and goes no further keeps no other client out. */
  handshakesPerAddress: 128,
};

/** What a listener takes: those through their handshake, those in it, and as many that were ended for others and are not closed yet. */
export function listenerConnections(protocol: Protocol): number {
  return connectionLimits.secured[protocol] + 2 * connectionLimits.handshakes;
}

type Protocol = keyof typeof connectionLimits.secured;

interface ConnectionsDeps {
  readonly protocol: Protocol;
  readonly budget: RequestBudget;
  readonly clock: Clock;
  readonly onRejection: (reason: ConnectionRejection) => void;
  /** Ends a connection that has had no request for `gatewayIdleMs`, where HTTP itself does not. */
  readonly onIdle?: (socket: Socket) => void;
}

interface Pending {
  readonly place: string;
  readonly sinceMs: number;
}

interface Held {
  readonly place: string;
  /** Requests without an answer, and their bytes. */
  open: number;
  bytes: number;
  answer: ServerResponse | undefined;
  answered: number;
  isHandedOver: boolean;
  /** When it last had no request; Infinity once it is being ended for that. */
  sinceMs: number;
  /** Since when bytes have waited for the client, and what had been answered then. */
  waiting: { readonly sinceMs: number; readonly answered: number } | undefined;
}

export type Connections = ReturnType<typeof createConnections>;

export function createConnections({ protocol, budget: { anonymous }, clock, onRejection, onIdle }: ConnectionsDeps) {
  const pending = new Phase<Pending>({ most: connectionLimits.handshakes, reason: "handshakes", rank: () => 0 });
  const held = new Phase<Held>({ most: connectionLimits.secured[protocol], reason: "full", rank: heldRank });
  let timer: Timer | undefined;

  /** A client that reads slowly keeps bytes of ours for as long as it likes; one that reads at all is answered in between. */
  function look(): void {
    timer = clock.timer(gatewayCheckMs, look);
    const nowMs = clock.monotonicMs();
    for (const [socket, state] of held.all) {
      const { waiting, answered } = state;
      if (socket.writableLength === 0 || state.isHandedOver) state.waiting = undefined;
      else if (waiting?.answered !== answered) state.waiting = { sinceMs: nowMs, answered };
      else if (nowMs - waiting.sinceMs > gatewayStalledMs) end(socket, "stalled");
      if (onIdle && isIdle(state) && nowMs - state.sinceMs > gatewayIdleMs) {
        state.sinceMs = Number.POSITIVE_INFINITY;
        onIdle(socket);
      }
    }
  }

  /** False where no other connection may end for one of this client. */
  function makeRoom(phase: Phase<Pending> | Phase<Held>, place: string): boolean {
    if (phase.all.size < phase.most) return true;
    const socket = phase.replaceable(place, clock.monotonicMs());
    if (!socket) return false;
    drop(socket);
    end(socket, phase.reason);
    return true;
  }

  /** Once, although its socket closes only later where we end it. */
  function drop(socket: Socket): void {
    pending.delete(socket);
    const state = held.delete(socket);
    // Node does not close the responses that wait behind another one.
    if (state) anonymous.release(state.place, state.bytes);
  }

  function end(socket: Socket, reason: ConnectionRejection): void {
    onRejection(reason);
    socket.destroy();
  }

  const requests = createRequestCounts(held.all, { anonymous, clock, onRejection, end });

  return {
    get count(): number {
      return pending.all.size + held.all.size;
    },
    /** Whether a new one may stay. When there are too many, another one or this one ends. */
    admit(socket: Socket): boolean {
      const place = rateLimitKeyOf(socket);
      const inHandshake = pending.ofClient(place);
      if (inHandshake + held.ofClient(place) >= connectionLimits.perAddress) end(socket, "address");
      else if (inHandshake >= connectionLimits.handshakesPerAddress || !makeRoom(pending, place))
        end(socket, "handshakes");
      else {
        pending.add(socket, { place, sinceMs: clock.monotonicMs() });
        socket.once("close", () => drop(socket));
        return true;
      }
      return false;
    },
    /** It is through its handshake; `below` is the socket that was admitted. When there are too many, another one or this one ends. */
    hold(socket: TLSSocket, below: Socket | undefined): void {
      const place = rateLimitKeyOf(socket);
      if (below) pending.delete(below);
      if (!makeRoom(held, place)) {
        end(socket, "full");
        return;
      }
      held.add(socket, {
        ...{ place, open: 0, bytes: 0, answer: undefined, answered: 0, isHandedOver: false, waiting: undefined },
        sinceMs: clock.monotonicMs(),
      });
      socket.once("close", () => drop(socket));
    },
    ...requests,
    get handedOver(): number {
      return [...held.all.values()].filter(({ isHandedOver }) => isHandedOver).length;
    },
    /** It speaks no HTTP any more; how long it may stand still is up to whoever has it now. */
    handOver(socket: Socket): void {
      const state = held.all.get(socket);
      if (state) state.isHandedOver = true;
    },
    /** The last unfinished answer of each connection; a set of thousands per second would keep dead entries alive. */
    answering: () => [...held.all.values()].flatMap(({ answer }) => answer ?? []),
    watch(): void {
      look();
    },
    close(): void {
      timer?.cancel();
    },
  };
}

/** Counts the requests of each connection, and their bytes until they are answered. */
function createRequestCounts(
  held: ReadonlyMap<Socket, Held>,
  { anonymous, clock, onRejection, end }: RequestCountDeps,
) {
  /** Requests whose answer is waited for, and whether they are over, as when their client has left. */
  const working = new Map<IncomingMessage, { isOver: boolean }>();

  /** False where the client holds too much; then the connection is left to the caller. */
  function beginCall(socket: Socket, bytes: number): boolean {
    const state = held.get(socket);
    if (!state) return false;
    if (!anonymous.reserve(state.place, bytes)) {
      onRejection("bytes");
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
    if (state.open === 0) state.sinceMs = clock.monotonicMs();
    state.bytes -= bytes;
    anonymous.release(state.place, bytes);
  }

  /** One for all of them: what is made anew for each request costs more than the rest of this. */
  function leave(this: ServerResponse): void {
    const work = working.get(this.req);
    if (work) work.isOver = true;
    endCall(this.req.socket, work ? 0 : bytesOf(this.req));
    const state = held.get(this.req.socket);
    if (state?.answer === this) state.answer = undefined;
  }

  return {
    begin(request: IncomingMessage, response: ServerResponse, most: number = gatewayPipelined): boolean {
      const { socket } = request;
      const state = held.get(socket);
      if (!state) return false;
      if (state.open >= most) {
        end(socket, "pipelined");
        return false;
      }
      if (!beginCall(socket, bytesOf(request))) {
        sendError(socket, "429 Too Many Requests", clock);
        return false;
      }
      state.answer = response;
      response.on("close", leave);
      return true;
    },
    /** What waits for its answer has its request in memory until then, also where its client has left. */
    keepUntil(request: IncomingMessage, answered: Promise<void> | undefined): void {
      const { socket } = request;
      const state = held.get(socket);
      if (!answered || !state) return;
      const [bytes, work] = [bytesOf(request), { isOver: false }];
      state.bytes -= bytes;
      working.set(request, work);
      void answered.then(() => {
        working.delete(request);
        if (work.isOver || !held.has(socket)) anonymous.release(state.place, bytes);
        else state.bytes += bytes;
      });
    },
    /** A call over gRPC. Its bytes count until it is over, also where its connection ended before. */
    beginCall(socket: Socket, bytes: number): (() => void) | undefined {
      const state = held.get(socket);
      if (!state || !beginCall(socket, bytes)) return undefined;
      state.bytes -= bytes;
      return () => {
        anonymous.release(state.place, bytes);
        endCall(socket, 0);
      };
    },
  };
}

interface RequestCountDeps extends Pick<ConnectionsDeps, "clock" | "onRejection"> {
  readonly anonymous: ByteBudget;
  readonly end: (socket: Socket, reason: ConnectionRejection) => void;
}

/** A client that has just connected is about to send its request: it is not idle yet. */
function heldRank(state: Held, nowMs: number): number {
  if (state.isHandedOver) return 2;
  return isIdle(state) && nowMs - state.sinceMs > gatewayHeaderMs ? 0 : 1;
}

interface PhaseOptions<S> {
  readonly most: number;
  readonly reason: ConnectionRejection;
  /** Which end first when another client needs room: 0 before 1. */
  readonly rank: (state: S, nowMs: number) => number;
}

/** The connections that are in their handshake, or through it. */
class Phase<S extends Pick<Pending, "place" | "sinceMs">> {
  readonly all = new Map<Socket, S>();
  readonly most: number;
  readonly reason: ConnectionRejection;
  readonly #rank: (state: S, nowMs: number) => number;
  readonly #ofClients = createCounts();

  constructor({ most, reason, rank }: PhaseOptions<S>) {
    this.most = most;
    this.reason = reason;
    this.#rank = rank;
  }

  ofClient(place: string): number {
    return this.#ofClients.of(place);
  }

  add(socket: Socket, state: S): void {
    this.all.set(socket, state);
    this.#ofClients.add(state.place, 1);
  }

  delete(socket: Socket): S | undefined {
    const state = this.all.get(socket);
    if (state && this.all.delete(socket)) this.#ofClients.add(state.place, -1);
    return state;
  }

  /** Of the lowest rank, of the client that has most, the oldest; none of a client that has fewer than this one. */
  replaceable(place: string, nowMs: number): Socket | undefined {
    const own = this.ofClient(place) + 1;
    let found: { socket: Socket; weight: number; sinceMs: number } | undefined;
    for (const [socket, state] of this.all) {
      const [rank, ofClient] = [this.#rank(state, nowMs), this.ofClient(state.place)];
      if (ofClient < own || (rank > 0 && ofClient === own)) continue;
      const weight = ofClient - rank * connectionLimits.perAddress;
      const { sinceMs } = state;
      if (!found || weight > found.weight || (weight === found.weight && sinceMs < found.sinceMs))
        found = { socket, weight, sinceMs };
    }
    return found?.socket;
  }
}

function isIdle({ open, isHandedOver }: Held): boolean {
  return open === 0 && !isHandedOver;
}

function bytesOf(request: IncomingMessage): number {
  const { url = "", rawHeaders } = request;
  return url.length + requestBytes(rawHeaders) + Math.min(restOf(request), readAheadBytes);
}
