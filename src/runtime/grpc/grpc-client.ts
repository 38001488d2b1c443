/** A gRPC client on one connection: HTTP/2 in clear text. What is wrong with a call or the connection is a GrpcRefusal. */
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
import { GrpcRefusal, grpcCodes } from "./grpc-status.ts";

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

export interface GrpcClient {
  /** The one answer to a request. */
  call(path: string, request: Uint8Array, deadlineMs: number): Promise<Uint8Array>;
  /** Every answer to a request as it comes; whoever stops reading ends the call. */
  stream(path: string, request: Uint8Array): AsyncGenerator<Uint8Array, void>;
  /** Ends every call with it. */
  close(): void;
}

/** Resolves when the other side has spoken HTTP/2: one that only takes connections is no server. */
export async function connectGrpc(target: GrpcTarget, options: GrpcClientOptions): Promise<GrpcClient> {
  const { clock, mostBytes, signal } = options;
  signal.throwIfAborted();
  const session =
    "host" in target ? connect(httpUrl(target)) : connect("http://localhost", { createConnection: () => target });
  const close = () => session.destroy();
  signal.addEventListener("abort", close, { once: true });
  session.once("close", () => signal.removeEventListener("abort", close));
  try {
    const late = () => {
      throw new GrpcRefusal(grpcCodes.Unavailable, `no answer within ${grpcConnectMs} ms`);
    };
    await withDeadline(clock, grpcConnectMs, endedBy(spoken(session), signal), late);
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
      // So that a server that is late does not go on working for nobody.
      ...(deadlineMs !== undefined && { "grpc-timeout": `${deadlineMs}m` }),
    };
    const opened: Call = { stream: requestOn(session, call), headers: {}, trailers: {} };
    const { stream } = opened;
    // Whoever reads it sees it; once nobody does, it concerns nobody.
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
      // What is not gRPC at all also breaks every rule of it.
      throwUnlessGrpc(call);
      throw thrown instanceof GrpcRefusal ? thrown : unavailable(thrown);
    } finally {
      call.stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  return {
    async call(path, request, deadlineMs) {
      const call = open(path, request, deadlineMs);
      const one = async () => {
        let answer: Uint8Array | undefined;
        for await (const message of answersTo(call)) answer ??= message;
        if (answer) return answer;
        throw new GrpcRefusal(grpcCodes.Internal, "the answer has no message");
      };
      return withDeadline(clock, deadlineMs, one(), () => {
        call.stream.close(constants.NGHTTP2_CANCEL);
        throw new GrpcRefusal(grpcCodes.DeadlineExceeded, `no answer within ${deadlineMs} ms`);
      });
    },
    stream: (path, request) => answersTo(open(path, request)),
    close,
  };
}

const ok = 200;

interface Call {
  readonly stream: ClientHttp2Stream;
  headers: IncomingHttpHeaders;
  trailers: IncomingHttpHeaders;
}

/** A connection that is gone, or says that it goes, takes no call. */
function requestOn(session: ClientHttp2Session, headers: OutgoingHttpHeaders): ClientHttp2Stream {
  try {
    return session.request(headers);
  } catch (thrown) {
    throw unavailable(thrown);
  }
}

function spoken(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    session.once("remoteSettings", () => resolve());
    // Also for later ones, which the calls see.
    session.on("error", (error) => reject(unavailable(error)));
    session.once("close", () => reject(new GrpcRefusal(grpcCodes.Unavailable, "the connection was closed")));
  });
}

function unavailable(thrown: unknown): GrpcRefusal {
  return new GrpcRefusal(grpcCodes.Unavailable, reasonOf(thrown));
}

/** Without a message the status stands in the headers; without a status the connection broke. */
function throwUnlessOk({ headers, trailers }: Call): void {
  const from = trailers["grpc-status"] === undefined ? headers : trailers;
  const status = from["grpc-status"];
  if (status === "0") return;
  if (status !== undefined) {
    throw new GrpcRefusal(Number(status), wordsOf(String(from["grpc-message"] ?? "")) || `gRPC status ${status}`);
  }
  throw new GrpcRefusal(grpcCodes.Unavailable, "the connection broke");
}

function throwUnlessGrpc({ headers }: Call): void {
  const http = Number(headers[":status"] ?? ok);
  if (http !== ok) throw new GrpcRefusal(grpcCodes.Unavailable, `the server answered HTTP ${http}`);
}

/** Text from the grpc-message header, whatever somebody put there. */
function wordsOf(text: string): string {
  return Buffer.from(
    text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString();
}
