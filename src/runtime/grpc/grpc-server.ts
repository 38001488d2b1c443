/** A gRPC server: HTTP/2 in clear text, or behind a TLS server. */
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
  countEnd,
  createCallEnds,
  createUnpacking,
  grpcRequestMs,
  readCallHead,
  rejectCall,
  respondOnly,
  ServerCall,
  tooMuchHeld,
} from "./call.ts";
import { GrpcError, type GrpcStatus, grpcCodes, statusOfThrown } from "./grpc-status.ts";
import { type GrpcMethods, grpcServiceOf } from "./methods.ts";
import { anyClient, createStreamingCalls, type GrpcBounds } from "./streaming-calls.ts";
import { createUnaryCalls } from "./unary-call.ts";

/** Interval of keep-alive pings; a client that does not answer before the next one is disconnected. */
export const grpcPingMs = 30 * second;
/** Time for a client to read what it was sent. */
const grpcStalledMs = 30 * second;
/** Time for clients to end their calls when the server stops. */
const grpcStopMs = second;

interface GrpcServerOptions {
  readonly methods: GrpcMethods;
  readonly bounds: GrpcBounds;
  /** Another server that listens, and hands over HTTP/2 connections. */
  readonly front?: (accept: (socket: Socket) => void) => Server;
  readonly connections?: {
    /** Registers a call with the size of its headers. Returns what ends it; undefined where it is rejected. */
    beginCall(socket: Socket, bytes: number): (() => void) | undefined;
  };
  /** A connection was ended because of too many pings. */
  readonly onPingFlood?: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Bytes of the headers of one call; a token has at most half of it. */
const headerListBound = { maxHeaderListSize: 32 * 1024 };

export type GrpcServer = ReturnType<typeof createGrpcServer>;

export function createGrpcServer(options: GrpcServerOptions) {
  const { bounds, front, onPingFlood, clock, log } = options;
  const server = createServer({ settings: { maxConcurrentStreams: bounds.calls, ...headerListBound } });
  const sessions = new Map<Socket, ServerHttp2Session>();
  const calls = createCalls(options);
  let listener: Listener | undefined;
  // A session hides its socket; the event of the socket comes while that of its session is still to come.
  let arriving: Socket;
  server.prependListener("connection", (socket: Socket) => {
    arriving = socket;
  });
  server.on("session", (session) => {
    const socket = arriving;
    sessions.set(socket, session);
    session.on("close", () => sessions.delete(socket));
    session.on("stream", (stream, headers, _flags, rawHeaders) => calls.serve(stream, headers, rawHeaders, socket));
    session.on("error", (error) => log.debug("gRPC connection failed", { reason: reasonOf(error) }));
    keepHeartbeat(session, socket, clock);
    boundPings(session, clock, onPingFlood);
  });

  /** Takes a connection that came to another server. */
  const accept = (socket: Socket) => void server.emit("connection", socket);
  return {
    accept,
    /** Resolves with the port. */
    async listen(options: Omit<ListenOptions, "connections" | "log">): Promise<number> {
      const listening: Server = front?.(accept) ?? server;
      listener = await listen(listening, { ...options, connections: bounds.connections, log });
      return listener.port;
    },
    /** Ends every call with a status, for clients that still read. */
    async stop(): Promise<void> {
      await listener?.close((closed) => {
        calls.stop(stopping);
        for (const session of sessions.values()) session.close();
        return withDeadline(clock, grpcStopMs, closed, () => undefined);
      });
      calls.close();
    },
    /** Ends a connection without calls. Calls that come in the meantime are answered; the next ones use another connection. */
    leave(socket: Socket): void {
      sessions.get(socket)?.close();
      const timer = clock.timer(streamFarewellMs, () => socket.destroy());
      socket.once("close", () => timer.cancel());
    },
    /** How calls ended so far. */
    ends: calls.ends,
    get connections(): number {
      return sessions.size;
    },
    get streams(): number {
      return calls.streams;
    },
  };
}

function createCalls({ methods, bounds, connections, clock, log }: GrpcServerOptions) {
  const { clients = anyClient, requestBytes: mostBytes } = bounds;
  const { budget } = clients;
  const ends = createCallEnds();
  const answering = new Set<ServerCall>();
  const receiving = createDeadlineList<ServerCall>(clock, grpcRequestMs, (call) => call.endWith(requestLate));
  const stalled = createDeadlineList<ServerHttp2Stream>(clock, grpcStalledMs, (stream) => {
    log.debug("gRPC client does not read");
    stream.close(constants.NGHTTP2_CANCEL);
  });
  const unpack = createUnpacking(mostBytes);
  const unary = createUnaryCalls({ requestBytes: mostBytes, unpack, clock, receiving, answering });
  const streaming = createStreamingCalls({ bounds, unpack, clock });

  function failed(thrown: unknown): GrpcStatus {
    const isExpected = thrown instanceof GrpcError || thrown instanceof ProviderError;
    if (!isExpected) log.error("gRPC method failed", { error: thrown });
    return statusOfThrown(thrown);
  }

  return {
    ends,
    get streams(): number {
      return streaming.streams;
    },
    serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[], socket: Socket) {
      stream.on("error", (error) => log.debug("gRPC call failed", { reason: reasonOf(error) }));
      const head = readCallHead(headers);
      if ("rejection" in head) {
        countEnd(ends.others, head.code);
        return respondOnly(stream, clock, head.rejection);
      }
      const release = connections ? connections.beginCall(socket, requestBytes(rawHeaders)) : () => undefined;
      if (!release) {
        countEnd(ends.others, tooMuchHeld.code);
        return rejectCall(stream, head, tooMuchHeld, clock);
      }
      const method = methods.find(head.path);
      const options = { client: clients.of(socket), budget, release, ends: method ? ends.of(head.path) : ends.others };
      const call = new ServerCall(stream, headers, head, options, { clock, stalled, failed });
      if (!method) call.endWith({ code: grpcCodes.Unimplemented, message: unknown(head.path, methods) });
      else if (method.kind === "unary") unary.serve(call, method);
      else streaming.serve(call, method);
    },
    stop(status: GrpcStatus): void {
      streaming.stop(status);
      for (const call of [...answering, ...receiving.all()]) call.endWith(status);
    },
    close(): void {
      receiving.close();
      stalled.close();
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

/** Keep-alive pings are minutes apart; clients that measure bandwidth ping once per round trip. */
export const grpcPings = { atOnce: 1_000, perS: 50 };

/** Ends a connection whose client does not answer a ping, or that stays open after its session. */
function keepHeartbeat(session: ServerHttp2Session, socket: Socket, clock: Clock): void {
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
    timer = clock.timer(grpcPingMs, beat);
  };
  timer = clock.timer(grpcPingMs, beat);
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
    // Later, so that the GOAWAY frame is sent first.
    clock.timer(0, () => session.destroy());
  };
  session.on("ping", count);
  session.on("remoteSettings", count);
}
