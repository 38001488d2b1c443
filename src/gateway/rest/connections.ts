/** Open connections of a listener: limited in number and in the bytes of their requests, in total and per client. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { ByteBudget, createCounts, type RequestBudget, requestBytes } from "../../runtime/byte-budget.ts";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { restOf, sendError } from "./answer.ts";
import { rateLimitKeyOf } from "./rate-limit-key.ts";

/** As the Go provider gives for headers. */
export const gatewayHeaderMs = 3 * second;
/** A connection without a request: longer than Console's polling interval. */
export const gatewayIdleMs = 120 * second;
/** A client that reads nothing of its response for so long is gone. */
export const gatewayStalledMs = 30 * second;
/** Interval of the check for slow connections. */
export const gatewayCheckMs = second / 2;
/** Pending requests per connection. Known clients do not pipeline. */
export const gatewayPipelined = 16;

export type ConnectionRejection = "address" | "bytes" | "full" | "handshakes" | "pipelined" | "stalled";

/** Node reads so much of a body ahead. */
const readAheadBytes = 64 * 1024;

/** For REST and gRPC together. */
export function createRequestBudget(): RequestBudget {
  return {
    // Headers, read-ahead, and bodies of public routes. Assured: the start of a manifest with its token.
    anonymous: new ByteBudget({ perClient: 4 * 2 ** 20, total: 8 * 2 ** 20, assured: readAheadBytes + 32 * 1024 }),
    // Per account: its largest manifests or a large gRPC message.
    accounts: new ByteBudget({ perClient: 6 * 2 ** 20, total: 32 * 2 ** 20, assured: 32 * 1024 }),
  };
}

export const connectionLimits = {
  /** Each costs some 70 KB with its TLS, over gRPC 80 KB: together 90 MB. */
  secured: { rest: 896, grpc: 384 },
  /** Per address; proxies have many clients, and still leave room for others. */
  perAddress: 768,
  /** Each may cost some milliseconds of signing. */
  handshakes: 512,
  /** Per address, so that unfinished handshakes keep no other client out. */
  handshakesPerAddress: 128,
};

/** Limit of the listener: established ones, those in their handshake, and as many that are not closed yet. */
export function listenerConnections(protocol: Protocol): number {
  return connectionLimits.secured[protocol] + 2 * connectionLimits.handshakes;
}

type Protocol = keyof typeof connectionLimits.secured;

interface ConnectionsDeps {
  readonly protocol: Protocol;
  readonly budget: RequestBudget;
  readonly clock: Clock;
  readonly onRejection: (reason: ConnectionRejection) => void;
  /** Ends a connection that had no request for `gatewayIdleMs`, where Node does not. */
  readonly onIdle?: (socket: Socket) => void;
}

interface Pending {
  /** Rate limit key of the client. */
  readonly key: string;
  sinceMs: number;
}

/** `sinceMs` is when it last became idle; Infinity once it is being ended for that. */
interface Held extends Pending {
  /** Pending requests, and their bytes. */
  open: number;
  bytes: number;
  answer: ServerResponse | undefined;
  answered: number;
  isHandedOver: boolean;
  /** Since when bytes have waited for the client, and the number of responses then. */
  waiting: { readonly sinceMs: number; readonly answered: number } | undefined;
}

export type Connections = ReturnType<typeof createConnections>;

export function createConnections({ protocol, budget: { anonymous }, clock, onRejection, onIdle }: ConnectionsDeps) {
  const pending = new Phase<Pending>(connectionLimits.handshakes, "handshakes", () => 0);
  const held = new Phase<Held>(connectionLimits.secured[protocol], "full", heldRank);
  let timer: Timer | undefined;

  /** Ends stalled and idle connections. A client that reads slowly completes responses in between. */
  function check(): void {
    timer = clock.timer(gatewayCheckMs, check);
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

  /** False where no other connection may be ended for this client. */
  function makeRoom(phase: Phase<Pending> | Phase<Held>, key: string): boolean {
    if (phase.all.size < phase.most) return true;
    const socket = phase.replaceable(key, clock.monotonicMs());
    if (!socket) return false;
    drop(socket);
    end(socket, phase.reason);
    return true;
  }

  /** At once where the gateway ends it, although its socket closes later. */
  function drop(socket: Socket): void {
    pending.delete(socket);
    const state = held.delete(socket);
    // Node does not close pipelined responses.
    if (state) anonymous.release(state.key, state.bytes);
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
    /** Whether a new one may stay. Where there are too many, another one or this one is ended. */
    admit(socket: Socket): boolean {
      const key = rateLimitKeyOf(socket);
      const inHandshake = pending.ofClient(key);
      if (inHandshake + held.ofClient(key) >= connectionLimits.perAddress) end(socket, "address");
      else if (inHandshake >= connectionLimits.handshakesPerAddress || !makeRoom(pending, key))
        end(socket, "handshakes");
      else {
        pending.add(socket, { key, sinceMs: clock.monotonicMs() });
        socket.once("close", () => drop(socket));
        return true;
      }
      return false;
    },
    /** After its handshake; `below` is the admitted socket. Where there are too many, another one or this one is ended. */
    hold(socket: TLSSocket, below: Socket | undefined): void {
      const key = rateLimitKeyOf(socket);
      if (below) pending.delete(below);
      if (!makeRoom(held, key)) {
        end(socket, "full");
        return;
      }
      held.add(socket, {
        ...{ key, open: 0, bytes: 0, answer: undefined, answered: 0, isHandedOver: false, waiting: undefined },
        sinceMs: clock.monotonicMs(),
      });
      socket.once("close", () => drop(socket));
    },
    ...requests,
    get handedOver(): number {
      return [...held.all.values()].filter(({ isHandedOver }) => isHandedOver).length;
    },
    /** It has become a WebSocket, which has timeouts of its own. */
    handOver(socket: Socket): void {
      const state = held.all.get(socket);
      if (state) state.isHandedOver = true;
    },
    /** The last pending response of each connection. */
    answering: () => [...held.all.values()].flatMap(({ answer }) => answer ?? []),
    watch: check,
    close(): void {
      timer?.cancel();
    },
  };
}

/** Counts pending requests of each connection, and their bytes. */
function createRequestCounts(
  held: ReadonlyMap<Socket, Held>,
  { anonymous, clock, onRejection, end }: RequestCountDeps,
) {
  /** Requests whose handler runs, and whether their response was closed, as when the client has left. */
  const working = new Map<IncomingMessage, { isOver: boolean }>();

  /** False where the client holds too much. */
  function beginCall(socket: Socket, bytes: number): boolean {
    const state = held.get(socket);
    if (!state) return false;
    if (!anonymous.reserve(state.key, bytes)) {
      onRejection("bytes");
      return false;
    }
    state.open += 1;
    state.bytes += bytes;
    return true;
  }

  /** Does nothing for a closed connection, whose bytes are released already. */
  function endCall(socket: Socket, bytes: number): void {
    const state = held.get(socket);
    if (!state) return;
    state.open -= 1;
    state.answered += 1;
    if (state.open === 0) state.sinceMs = clock.monotonicMs();
    state.bytes -= bytes;
    anonymous.release(state.key, bytes);
  }

  /** One listener for all responses, as a closure for each would be costly. */
  function onClose(this: ServerResponse): void {
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
      response.on("close", onClose);
      return true;
    },
    /** A running handler keeps its request in memory, also after the client has left. */
    keepUntil(request: IncomingMessage, answered: Promise<void> | undefined): void {
      const { socket } = request;
      const state = held.get(socket);
      if (!answered || !state) return;
      const [bytes, work] = [bytesOf(request), { isOver: false }];
      state.bytes -= bytes;
      working.set(request, work);
      void answered.then(() => {
        working.delete(request);
        if (work.isOver || !held.has(socket)) anonymous.release(state.key, bytes);
        else state.bytes += bytes;
      });
    },
    /** A gRPC call. Its bytes count until it ends, also after its connection has closed. */
    beginCall(socket: Socket, bytes: number): (() => void) | undefined {
      const state = held.get(socket);
      if (!state || !beginCall(socket, bytes)) return undefined;
      state.bytes -= bytes;
      return () => {
        anonymous.release(state.key, bytes);
        endCall(socket, 0);
      };
    },
  };
}

interface RequestCountDeps extends Pick<ConnectionsDeps, "clock" | "onRejection"> {
  readonly anonymous: ByteBudget;
  readonly end: (socket: Socket, reason: ConnectionRejection) => void;
}

/** A client that has just connected is not idle yet. */
function heldRank(state: Held, nowMs: number): number {
  if (state.isHandedOver) return 2;
  return isIdle(state) && nowMs - state.sinceMs > gatewayHeaderMs ? 0 : 1;
}

/** Connections in their handshake, or after it. */
class Phase<S extends Pending> {
  readonly all = new Map<Socket, S>();
  readonly most: number;
  readonly reason: ConnectionRejection;
  /** Lower ones are ended first for another client. */
  readonly #rank: (state: S, nowMs: number) => number;
  readonly #ofClients = createCounts();

  constructor(most: number, reason: ConnectionRejection, rank: (state: S, nowMs: number) => number) {
    this.most = most;
    this.reason = reason;
    this.#rank = rank;
  }

  ofClient(key: string): number {
    return this.#ofClients.of(key);
  }

  add(socket: Socket, state: S): void {
    this.all.set(socket, state);
    this.#ofClients.add(state.key, 1);
  }

  delete(socket: Socket): S | undefined {
    const state = this.all.get(socket);
    if (state && this.all.delete(socket)) this.#ofClients.add(state.key, -1);
    return state;
  }

  /** The oldest of the lowest rank, of the client that has most; none of a client that has fewer than this one. */
  replaceable(key: string, nowMs: number): Socket | undefined {
    const own = this.ofClient(key) + 1;
    let found: { socket: Socket; weight: number; sinceMs: number } | undefined;
    for (const [socket, state] of this.all) {
      const [rank, ofClient] = [this.#rank(state, nowMs), this.ofClient(state.key)];
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
