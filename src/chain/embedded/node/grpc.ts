/**
 * The gRPC server (HTTP/2 in clear text): every query path is a unary method, its bytes passed through as they are. No
 * service descriptors are needed for that, so none are kept.
 */
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { reasonOf } from "../../../runtime/errors.ts";
import { limits } from "../../../runtime/limits.ts";
import type { Log } from "../../../runtime/log.ts";
import { encodeMessage, type GrpcStatus, grpcCodes, statusOf } from "./grpc-status.ts";
import { type Queries, serviceOf } from "./queries.ts";
import { listen } from "./rpc.ts";

export interface GrpcServer {
  listen(host: string, port: number): Promise<number>;
  stop(): Promise<void>;
  readonly connections: number;
}

/** Ends a call with a status other than OK. */
class GrpcRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** In front of each message: whether it is compressed, and its length. */
const frameHeadBytes = 5;

const heightHeader = "x-cosmos-block-height";

export function createGrpcServer(queries: Queries, log: Log): GrpcServer {
  const server = createServer({ settings: { maxConcurrentStreams: limits.chainGrpcStreams } });
  const sessions = new Set<ServerHttp2Session>();
  server.maxConnections = limits.chainConnections;
  server.on("error", (error) => log.debug("the gRPC server failed", { reason: reasonOf(error) }));
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", (error) => log.debug("a gRPC connection failed", { reason: reasonOf(error) }));
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", (error) => log.debug("a gRPC call failed", { reason: reasonOf(error) }));
    answer(queries, stream, headers).catch((thrown) => {
      if (!(thrown instanceof GrpcRefusal)) log.error("a gRPC method failed", { error: thrown });
      const code = thrown instanceof GrpcRefusal ? thrown.code : grpcCodes.Internal;
      refuse(stream, { code, message: reasonOf(thrown) });
    });
  });

  return {
    listen: (host, port) => listen(server, host, port),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const session of sessions) session.destroy();
      await closed;
    },
    get connections() {
      return sessions.size;
    },
  };
}

async function answer(queries: Queries, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
  if (headers[":method"] !== "POST") return finish(stream, { ":status": 405, allow: "POST" });
  if (!headers["content-type"]?.startsWith("application/grpc")) return finish(stream, { ":status": 415 });
  const path = headers[":path"] ?? "";
  if (!queries.has(path)) throw new GrpcRefusal(grpcCodes.Unimplemented, unknown(queries, path));
  const request = await messageOf(stream, headers);
  const result = queries.query(path, request, heightOf(headers));
  const status = statusOf(result);
  if (status.code !== grpcCodes.OK) return refuse(stream, status, `${result.height}`);
  respond(stream, result.value, `${result.height}`);
}

function respond(stream: ServerHttp2Stream, message: Uint8Array, height: string): void {
  if (stream.destroyed) return;
  const head = Buffer.alloc(frameHeadBytes);
  head.writeUInt32BE(message.length, 1);
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", [heightHeader]: height },
    { waitForTrailers: true },
  );
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "grpc-message": "" }));
  stream.end(Buffer.concat([head, message]));
}

/** Without a message the status stands in the headers already. */
function refuse(stream: ServerHttp2Stream, { code, message }: GrpcStatus, height?: string): void {
  const status = { "grpc-status": `${code}`, "grpc-message": encodeMessage(message) };
  const at = height === undefined ? {} : { [heightHeader]: height };
  finish(stream, { ":status": 200, "content-type": "application/grpc", ...at, ...status });
}

function finish(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond(headers, { endStream: true });
  // Whatever the client still wants to send, nobody waits for it.
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}

async function messageOf(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > frameHeadBytes + limits.chainGrpcRequestBytes) {
      const reason = `grpc: received message larger than max (${size} vs. ${limits.chainGrpcRequestBytes})`;
      throw new GrpcRefusal(grpcCodes.ResourceExhausted, reason);
    }
    chunks.push(chunk);
  }
  const frame = Buffer.concat(chunks);
  if (frame.length < frameHeadBytes || frame.readUInt32BE(1) !== frame.length - frameHeadBytes) {
    throw new GrpcRefusal(grpcCodes.Internal, "grpc: the request is not one whole message");
  }
  if (frame[0] !== 0) {
    const encoding = headers["grpc-encoding"] ?? "";
    const reason = `grpc: Decompressor is not installed for grpc-encoding "${String(encoding)}"`;
    throw new GrpcRefusal(grpcCodes.Unimplemented, reason);
  }
  return frame.subarray(frameHeadBytes);
}

function heightOf(headers: IncomingHttpHeaders): bigint {
  const text = headers[heightHeader];
  if (text === undefined) return 0n;
  if (typeof text === "string" && /^\d{1,18}$/.test(text)) return BigInt(text);
  throw new GrpcRefusal(grpcCodes.InvalidArgument, `invalid height header "${heightHeader}": ${String(text)}`);
}

function unknown(queries: Queries, path: string): string {
  const service = serviceOf(path);
  if (!queries.hasService(service)) return `unknown service ${service}`;
  return `unknown method ${path.slice(service.length + 2)} for service ${service}`;
}
