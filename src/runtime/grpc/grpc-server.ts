/** A gRPC server: HTTP/2 in clear text, or behind whatever makes connections safe first. */
import {
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Server, Socket } from "node:net";
import { type Clock, type Timer, withDeadline } from "../clock.ts";
import { ProviderError, reasonOf } from "../errors.ts";
import { limits } from "../limits.ts";
import { type Listener, type ListenOptions, listen } from "../listener.ts";
import type { Log } from "../log.ts";
import { readMessage, readMessages } from "./framing.ts";
import { GrpcRefusal, grpcCodes, statusOfThrown } from "./grpc-status.ts";
import { type GrpcMethods, serviceOf } from "./methods.ts";
import { createReply, type Reply, respondOnly } from "./reply.ts";

interface GrpcServerOptions {
  readonly methods: GrpcMethods;
  readonly bounds: GrpcBounds;
  /** The server that listens, where that is another one; it hands on what speaks HTTP/2. */
  readonly front?: (accept: (socket: Socket) => void) => Server;
  readonly clock: Clock;
  readonly log: Log;
}

interface GrpcBounds {
  readonly connections: number;
  /** At once on one connection; clients queue the rest. */
  readonly calls: number;
  /** Calls with many answers, on all connections together. */
  readonly streams: number;
  readonly requestBytes: number;
}

export interface GrpcServer {
  /** Resolves with the port. */
  listen(options: Omit<ListenOptions, "connections" | "log">): Promise<number>;
  /** Ends every call with a status, for clients that still read. */
  stop(): Promise<void>;
  readonly connections: number;
  readonly streams: number;
}

export function createGrpcServer({ methods, bounds, front, clock, log }: GrpcServerOptions): GrpcServer {
  const server = createServer({ settings: { maxConcurrentStreams: bounds.calls } });
  const sessions = new Set<ServerHttp2Session>();
  const replies = new Set<Reply>();
  let streams = 0;
  let listener: Listener | undefined;
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", (error) => log.debug("gRPC connection failed", { reason: reasonOf(error) }));
    keepHeartbeat(session, clock, limits.grpcPingMs);
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", (error) => log.debug("gRPC call failed", { reason: reasonOf(error) }));
    const reply = createReply(stream, clock);
    replies.add(reply);
    reply.over.addEventListener("abort", () => replies.delete(reply), { once: true });
    serve(stream, headers, reply).catch((thrown) => {
      // Work for somebody who has left may end with any error.
      if (reply.over.aborted) return;
      const foreseen = thrown instanceof GrpcRefusal || thrown instanceof ProviderError;
      if (!foreseen) log.error("gRPC method failed", { error: thrown });
      reply.end(statusOfThrown(thrown), thrown instanceof GrpcRefusal ? thrown.headers : {});
    });
  });

  async function serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, reply: Reply): Promise<void> {
    if (headers[":method"] !== "POST") return respondOnly(stream, { ":status": 405, allow: "POST" });
    if (!headers["content-type"]?.startsWith("application/grpc")) return respondOnly(stream, { ":status": 415 });
    const path = headers[":path"] ?? "";
    const method = methods.find(path);
    if (!method) throw new GrpcRefusal(grpcCodes.Unimplemented, unknown(path));
    const givenMs = timeoutMs(headers);
    if (givenMs !== undefined) endAfter(reply, givenMs, "the time that the client gave is up");
    const call = { path, headers, socket: stream.session?.socket, signal: reply.over };
    if (method.kind === "conversation") {
      await sendAll(method.answers(requestsOf(stream, headers, reply), call), reply);
      return reply.end();
    }
    const request = await requestOf(stream, headers, reply);
    if (method.kind === "stream") await sendAll(method.answers(request, call), reply, method.headers);
    else {
      const answer = await method.answer(request, call);
      await reply.send(answer.message, answer.headers);
    }
    reply.end();
  }

  /** Each of them has the time of a whole request: a conversation that rests is over. */
  async function* requestsOf(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    reply: Reply,
  ): AsyncGenerator<Uint8Array> {
    let timer = endAfter(reply, limits.grpcRequestMs, "no further request arrived in time");
    try {
      for await (const request of readMessages(stream, () => headers, bounds.requestBytes)) {
        timer.cancel();
        yield request;
        timer = endAfter(reply, limits.grpcRequestMs, "no further request arrived in time");
      }
    } finally {
      timer.cancel();
    }
  }

  async function requestOf(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, reply: Reply): Promise<Uint8Array> {
    const timer = endAfter(reply, limits.grpcRequestMs, "the request did not arrive in time");
    try {
      return await readMessage(stream, headers, bounds.requestBytes);
    } finally {
      timer.cancel();
    }
  }

  async function sendAll(
    messages: AsyncIterable<Uint8Array>,
    reply: Reply,
    headers: () => OutgoingHttpHeaders = () => ({}),
  ): Promise<void> {
    if (streams >= bounds.streams) {
      throw new GrpcRefusal(grpcCodes.ResourceExhausted, `${streams} streams are open, and more are not served`);
    }
    streams += 1;
    try {
      for await (const message of messages) {
        await reply.send(message, headers());
        if (reply.over.aborted) return;
      }
    } finally {
      streams -= 1;
    }
  }

  function endAfter(reply: Reply, ms: number, message: string): Timer {
    const timer = clock.timer(ms, () => reply.end({ code: grpcCodes.DeadlineExceeded, message }));
    reply.over.addEventListener("abort", () => timer.cancel(), { once: true });
    return timer;
  }

  function unknown(path: string): string {
    const service = serviceOf(path);
    if (!methods.hasService(service)) return `unknown service ${service}`;
    return `unknown method ${path.slice(service.length + 2)} for service ${service}`;
  }

  return {
    async listen(options) {
      const listening = front?.((socket) => server.emit("connection", socket)) ?? server;
      listener = await listen(listening, { ...options, connections: bounds.connections, log });
      return listener.port;
    },
    async stop() {
      await listener?.close((closed) => {
        for (const reply of replies) reply.end({ code: grpcCodes.Unavailable, message: "the server stops" });
        for (const session of sessions) session.close();
        return withDeadline(clock, limits.grpcStopMs, closed, () => undefined);
      });
    },
    get connections() {
      return sessions.size;
    },
    get streams() {
      return streams;
    },
  };
}

const timeoutUnitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** The time that a client gives its call: "100m" is a hundred milliseconds. Undefined when it has all the time in the world. */
function timeoutMs(headers: IncomingHttpHeaders): number | undefined {
  const text = headers["grpc-timeout"];
  if (text === undefined) return undefined;
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(String(text)) ?? [];
  if (amount === undefined) {
    throw new GrpcRefusal(grpcCodes.InvalidArgument, `grpc-timeout is no time: ${String(text)}`);
  }
  return Number(amount) * (timeoutUnitMs[unit] ?? 0);
}

/** Notices a client that is gone without a word, or never spoke HTTP/2: it does not answer one ping before the next. */
function keepHeartbeat(session: ServerHttp2Session, clock: Clock, periodMs: number): void {
  let answered = true;
  let timer: Timer;
  const beat = () => {
    if (!answered) return session.destroy();
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
