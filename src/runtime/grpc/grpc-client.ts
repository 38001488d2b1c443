/** A gRPC client on one connection: HTTP/2 in clear text. Failures of a call or the connection are GrpcErrors. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Duplex } from "node:stream";
import { type Clock, withDeadline } from "../clock.ts";
import { second } from "../durations.ts";
import { endedBy } from "../ended-by.ts";
import { reasonOf } from "../errors.ts";
import { httpUrl } from "../listener.ts";
import { framed, readMessages } from "./framing.ts";
import { GrpcError, grpcCodes } from "./grpc-status.ts";

/** A server in the same cluster greets within milliseconds; one that is starting is tried again anyway. */
export const grpcConnectMs = 5 * second;

export interface GrpcAddress {
  readonly host: string;
  readonly port: number;
}

/** Where a server is, or a connection to it. */
export type GrpcTarget = GrpcAddress | Duplex;

interface GrpcClientOptions {
  readonly clock: Clock;
  /** A larger message ends its call. */
  readonly mostBytes: number;
  /** Ends the connection, also while it is being made. */
  readonly signal: AbortSignal;
}

export type GrpcClient = Awaited<ReturnType<typeof connectGrpc>>;

/** Resolves when the server has sent its HTTP/2 settings: accepting the connection is not enough. */
export async function connectGrpc(target: GrpcTarget, { clock, mostBytes, signal }: GrpcClientOptions) {
  signal.throwIfAborted();
  const session =
    "host" in target ? connect(httpUrl(target)) : connect("http://localhost", { createConnection: () => target });
  const close = () => session.destroy();
  signal.addEventListener("abort", close, { once: true });
  session.once("close", () => signal.removeEventListener("abort", close));
  try {
    const late = () => {
      throw new GrpcError(grpcCodes.Unavailable, `no answer within ${grpcConnectMs} ms`);
    };
    await withDeadline(clock, grpcConnectMs, endedBy(settingsReceived(session), signal), late);
  } catch (thrown) {
    close();
    throw thrown;
  }

  function open(path: string, request: Uint8Array, deadlineMs?: number): Call {
    const call = {
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      // So that a late server stops working on it.
      ...(deadlineMs !== undefined && { "grpc-timeout": `${deadlineMs}m` }),
    };
    const opened: Call = { stream: requestOn(session, call), headers: {}, trailers: {} };
    const { stream } = opened;
    // Reported by the iterator; without a reader it must not end the process.
    stream.on("error", () => undefined);
    stream.once("response", (seen) => {
      opened.headers = seen;
    });
    stream.once("trailers", (seen) => {
      opened.trailers = seen;
    });
    stream.end(framed(request));
    return opened;
  }

  async function* answersTo(call: Call): AsyncGenerator<Uint8Array, void> {
    try {
      yield* readMessages(call.stream, { headers: () => call.headers, mostBytes });
      throwUnlessOk(call);
    } catch (thrown) {
      signal.throwIfAborted();
      // A response that is not gRPC breaks its framing too, so the HTTP status is the better reason.
      throwUnlessGrpc(call);
      throw thrown instanceof GrpcError ? thrown : unavailable(thrown);
    } finally {
      call.stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  return {
    /** The one answer to a request. */
    async call(path: string, request: Uint8Array, deadlineMs: number): Promise<Uint8Array> {
      const call = open(path, request, deadlineMs);
      const one = async () => {
        let answer: Uint8Array | undefined;
        for await (const message of answersTo(call)) answer ??= message;
        if (answer) return answer;
        throw new GrpcError(grpcCodes.Internal, "the answer has no message");
      };
      return withDeadline(clock, deadlineMs, one(), () => {
        call.stream.close(constants.NGHTTP2_CANCEL);
        throw new GrpcError(grpcCodes.DeadlineExceeded, `no answer within ${deadlineMs} ms`);
      });
    },
    /** Every answer to a request as it comes; a reader that stops ends the call. */
    stream: (path: string, request: Uint8Array) => answersTo(open(path, request)),
    /** Ends every call with it. */
    close,
  };
}

const ok = 200;

interface Call {
  readonly stream: ClientHttp2Stream;
  headers: IncomingHttpHeaders;
  trailers: IncomingHttpHeaders;
}

/** A closing connection takes no call. */
function requestOn(session: ClientHttp2Session, headers: OutgoingHttpHeaders): ClientHttp2Stream {
  try {
    return session.request(headers);
  } catch (thrown) {
    throw unavailable(thrown);
  }
}

function settingsReceived(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    session.once("remoteSettings", () => resolve());
    // Also for later ones, which the calls see.
    session.on("error", (error) => reject(unavailable(error)));
    session.once("close", () => reject(new GrpcError(grpcCodes.Unavailable, "the connection was closed")));
  });
}

function unavailable(thrown: unknown): GrpcError {
  return new GrpcError(grpcCodes.Unavailable, reasonOf(thrown));
}

/** Without a message the status stands in the headers; without a status the connection broke. */
function throwUnlessOk({ headers, trailers }: Call): void {
  const from = trailers["grpc-status"] === undefined ? headers : trailers;
  const status = from["grpc-status"];
  if (status === "0") return;
  if (status !== undefined) {
    throw new GrpcError(Number(status), decodeMessage(String(from["grpc-message"] ?? "")) || `gRPC status ${status}`);
  }
  throw new GrpcError(grpcCodes.Unavailable, "the connection broke");
}

function throwUnlessGrpc({ headers }: Call): void {
  const http = Number(headers[":status"] ?? ok);
  if (http !== ok) throw new GrpcError(grpcCodes.Unavailable, `the server answered HTTP ${http}`);
}

/** Decodes the grpc-message header; invalid escapes stay as they are. */
function decodeMessage(text: string): string {
  return Buffer.from(
    text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString();
}
