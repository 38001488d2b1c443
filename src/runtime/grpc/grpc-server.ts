/** A gRPC server: HTTP/2 in clear text, or behind whatever makes connections safe first. */
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Server, Socket } from "node:net";
import { requestBytes } from "../byte-budget.ts";
import { type Clock, type Timer, withDeadline } from "../clock.ts";
import { createDeadlineList } from "../deadline-list.ts";
import { second } from "../durations.ts";
import { ProviderError, reasonOf } from "../errors.ts";
import { streamFarewellMs } from "../limits.ts";
import { type Listener, type ListenOptions, listen } from "../listener.ts";
import type { Log } from "../log.ts";
import { createTokenBucket } from "../throttle.ts";
import {
  type CallEnds,
  countEnd,
  createCallEnds,
  createUnpacking,
  grpcRequestMs,
  HeldCall,
  readCallHead,
  refuseCall,
  respondOnly,
  tooMuchHeld,
} from "./call.ts";
import { GrpcRefusal, type GrpcStatus, grpcCodes, statusOfThrown } from "./grpc-status.ts";
import { type GrpcMethods, grpcServiceOf } from "./methods.ts";
import { anyClient, createStreamingCalls, type GrpcBounds } from "./streaming-calls.ts";
import { UnaryCall } from "./unary-call.ts";

/** A client that does not answer a ping before the next one is gone. */
export const grpcPingMs = 30 * second;
/** A client takes what it asked for at once; one that keeps it waiting for so long has gone, or means to hold it. */
const grpcStalledMs = 30 * second;
/** Clients are told that the server stops; one that does not listen is not waited for. */
const grpcStopMs = second;

interface GrpcServerOptions {
  readonly methods: GrpcMethods;
  readonly bounds: GrpcBounds;
  /** The server that listens, where that is another one; it hands on what speaks HTTP/2. */
  readonly front?: (accept: (socket: Socket) => void) => Server;
  /** What keeps track of the calls on each connection. */
  readonly connections?: ConnectionCalls;
  /** A connection was ended because nothing but pings came, and many of them. */
  readonly onPingFlood?: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

interface ConnectionCalls {
  /** A call that holds so many bytes of headers. Returns what ends it; undefined where it may not begin. */
  beginCall(socket: Socket, bytes: number): (() => void) | undefined;
}

/** Of the headers of one call: a token has at most half of it. */
const headerListBound = { maxHeaderListSize: 32 * 1024 };

export interface GrpcServer {
  /** Resolves with the port. */
  listen(options: Omit<ListenOptions, "connections" | "log">): Promise<number>;
  /** Takes a connection that came to another server. */
  accept(socket: Socket): void;
  /** Ends a connection without calls; its client need not notice. */
  leave(socket: Socket): void;
  /** Ends every call with a status, for clients that still read. */
  stop(): Promise<void>;
  readonly connections: number;
  readonly streams: number;
  /** How calls ended so far. */
  readonly ends: CallEnds;
}

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { methods, bounds, front, connections, onPingFlood, clock, log } = options;
  const server = createServer({ settings: { maxConcurrentStreams: bounds.calls, ...headerListBound } });
  const sessions = new Map<Socket, ServerHttp2Session>();
  const ends = createCallEnds();
  const answering = new Set<UnaryCall>();
  const asking = createDeadlineList<UnaryCall>(clock, grpcRequestMs, (call) => call.endWith(requestLate));
  const stalled = createDeadlineList<ServerHttp2Stream>(clock, grpcStalledMs, (stream) => {
    log.debug("gRPC client does not read");
    stream.close(constants.NGHTTP2_CANCEL);
  });
  const { clients = anyClient } = bounds;
  const unpack = createUnpacking(bounds.requestBytes);
  const unary = { requestBytes: bounds.requestBytes, unpack, clock, asking, answering, stalled, failed };
  const many = createStreamingCalls({ bounds, unpack, clock, stalled, failed });
  let listener: Listener | undefined;
  // A session keeps its socket from everybody; the event of this one comes while that of its session is still to come.
  let arriving: Socket;
  server.prependListener("connection", (socket: Socket) => {
    arriving = socket;
  });
  server.on("session", (session) => {
    const socket = arriving;
    sessions.set(socket, session);
    session.on("close", () => sessions.delete(socket));
    session.on("stream", (stream, headers, _flags, rawHeaders) => serve(stream, headers, rawHeaders, socket));
    session.on("error", (error) => log.debug("gRPC connection failed", { reason: reasonOf(error) }));
    supervise(session, socket, clock, onPingFlood);
  });

  function serve(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    socket: Socket,
  ) {
    stream.on("error", (error) => log.debug("gRPC call failed", { reason: reasonOf(error) }));
    const head = readCallHead(headers);
    if ("refusal" in head) {
      countEnd(ends.others, head.code);
      return respondOnly(stream, clock, head.refusal);
    }
    const endCall = connections ? connections.beginCall(socket, requestBytes(rawHeaders)) : () => undefined;
    if (!endCall) {
      countEnd(ends.others, tooMuchHeld.code);
      return refuseCall(stream, head, tooMuchHeld, clock);
    }
    const client = clients.of(socket);
    const held = new HeldCall(stream, client, clients.budget, endCall);
    stream.on("close", () => held.close());
    const method = methods.find(head.path);
    if (!method) {
      countEnd(ends.others, grpcCodes.Unimplemented);
      return refuseCall(stream, head, { code: grpcCodes.Unimplemented, message: unknown(head.path, methods) }, clock);
    }
    if (method.kind === "unary") new UnaryCall(held, headers, head, unary, ends.of(head.path)).serve(method);
    else many.serve(held, headers, head, method, ends.of(head.path));
  }

  function failed(thrown: unknown): GrpcStatus {
    const foreseen = thrown instanceof GrpcRefusal || thrown instanceof ProviderError;
    if (!foreseen) log.error("gRPC method failed", { error: thrown });
    return statusOfThrown(thrown);
  }

  const accept = (socket: Socket) => void server.emit("connection", socket);
  return {
    accept,
    async listen(options) {
      const listening = front?.(accept) ?? server;
      listener = await listen(listening, { ...options, connections: bounds.connections, log });
      return listener.port;
    },
    async stop() {
      await listener?.close((closed) => {
        many.stop(stopping);
        for (const call of [...answering, ...asking.all()]) call.endWith(stopping);
        for (const session of sessions.values()) session.close();
        return withDeadline(clock, grpcStopMs, closed, () => undefined);
      });
      asking.close();
      stalled.close();
    },
    // Calls that come in the meantime are answered; clients begin the next ones on another connection.
    leave(socket) {
      sessions.get(socket)?.close();
      destroyLater(socket, clock);
    },
    ends,
    get connections() {
      return sessions.size;
    },
    get streams() {
      return many.streams;
    },
  };
}

function unknown(path: string, methods: GrpcMethods): string {
  if (!/^\/.+\//.test(path)) return `malformed method name: "${path}"`;
  const service = grpcServiceOf(path);
  if (!methods.hasService(service)) return `unknown service ${service}`;
  return `unknown method ${path.slice(service.length + 2)} for service ${service}`;
}

const stopping = { code: grpcCodes.Unavailable, message: "the server stops" };
const requestLate = { code: grpcCodes.DeadlineExceeded, message: "the request did not arrive in time" };

// HTTP/2 keep-alive and the limit on pings, for each connection.

function supervise(session: ServerHttp2Session, socket: Socket, clock: Clock, onPingFlood?: () => void): void {
  keepHeartbeat(session, socket, clock, grpcPingMs);
  boundPings(session, clock, onPingFlood);
}

/** Keepalives are minutes apart; who measures the way pings once per round trip, while it is sent something. */
export const grpcPings = { atOnce: 1_000, perS: 50 };

/** Ends a connection whose client does not answer one ping before the next, or that stays open after its session has ended. */
function keepHeartbeat(session: ServerHttp2Session, socket: Socket, clock: Clock, periodMs: number): void {
  let answered = true;
  let timer: Timer;
  const beat = () => {
    if (!answered || session.destroyed) {
      session.destroy();
      socket.destroy();
      return;
    }
    answered = false;
    // An error only says that the connection is closing.
    session.ping((error) => {
      answered = error === null;
    });
    timer = clock.timer(periodMs, beat);
  };
  timer = clock.timer(periodMs, beat);
  session.once("close", () => timer.cancel());
}

/** Clients that send nothing but many pings or settings get ENHANCE_YOUR_CALM; some measure latency by pings while they receive much. */
function boundPings(session: ServerHttp2Session, clock: Clock, onFlood?: () => void): void {
  const allowsOne = createTokenBucket(grpcPings, clock);
  let isFlood = false;
  const count = () => {
    if (isFlood || session.destroyed || allowsOne()) return;
    isFlood = true;
    onFlood?.();
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from("too_many_pings"));
    // In a later turn: at once it would overtake what it was told.
    clock.timer(0, () => session.destroy());
  };
  session.on("ping", count);
  session.on("remoteSettings", count);
}

function destroyLater(socket: Socket, clock: Clock): void {
  const timer = clock.timer(streamFarewellMs, () => socket.destroy());
  socket.once("close", () => timer.cancel());
}
