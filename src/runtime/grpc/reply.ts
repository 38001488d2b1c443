/** The server's side of one call: messages out, then a status; whichever comes first of that and the client's leaving. */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "../clock.ts";
import type { Patience } from "../patience.ts";
import { framed, framedGzip } from "./framing.ts";
import { type GrpcStatus, grpcCodes, grpcOk, statusHeaders } from "./grpc-status.ts";
import type { RequestHead } from "./request-head.ts";
import { countEnd, type Ends } from "./request-head.ts";

type AnswerHead = Pick<RequestHead, "contentType" | "gzip">;

export interface Reply {
  /** Resolves when the client's connection had room for all of it; at once when the call is over. */
  send(message: Uint8Array, headers?: OutgoingHttpHeaders): Promise<void>;
  /** Only the first end counts. */
  end(status?: GrpcStatus, headers?: OutgoingHttpHeaders): void;
  /** Aborted when the call is over, for whatever reason. */
  readonly over: AbortSignal;
}

interface ReplyDeps {
  readonly clock: Clock;
  /** Clients that have not taken what they were sent. */
  readonly stalled: Patience<ServerHttp2Stream>;
  /** Of its method. */
  readonly ends: Ends;
}

const left: GrpcStatus = { code: grpcCodes.Canceled, message: "the client left" };

export function createReply(stream: ServerHttp2Stream, head: AnswerHead, { clock, stalled, ends }: ReplyDeps): Reply {
  const abort = new AbortController();
  let status: GrpcStatus | undefined;
  stream.once("close", () => {
    settle(left);
    abort.abort();
  });
  // No sooner than Node asks for them, or they would overtake the messages.
  stream.once("wantTrailers", () => {
    stream.sendTrailers(statusHeaders(status ?? grpcOk));
    hangUp(stream, clock);
  });

  /** Whether it was the first end. */
  function settle(ending: GrpcStatus): boolean {
    if (status) return false;
    status = ending;
    countEnd(ends, ending.code);
    return true;
  }

  return {
    async send(message, headers) {
      if (isGone(stream) || status) return;
      const frame = head.gzip ? await framedGzip(message) : framed(message);
      if (isGone(stream) || status) return;
      if (!stream.headersSent) stream.respond(answerHeaders(head, headers), { waitForTrailers: true });
      const waiting = stalled.begin(stream);
      // Also called, with an error, when the client leaves instead.
      await new Promise<void>((resolve) => stream.write(frame, () => resolve()));
      stalled.end(waiting);
    },
    end(ending = grpcOk, headers) {
      if (!settle(ending)) return;
      if (stream.headersSent) stream.end();
      else refuse(stream, head, ending, clock, headers);
      abort.abort();
    },
    over: abort.signal,
  };
}

const usual: OutgoingHttpHeaders = { ":status": 200, "content-type": "application/grpc" };

export function answerHeaders({ contentType, gzip }: AnswerHead, more?: OutgoingHttpHeaders): OutgoingHttpHeaders {
  if (!gzip && !more && contentType === usual["content-type"]) return usual;
  return { ...usual, "content-type": contentType, ...(gzip && { "grpc-encoding": "gzip" }), ...more };
}

/** Without a message the status stands in the headers already. */
export function refuse(
  stream: ServerHttp2Stream,
  { contentType }: AnswerHead,
  status: GrpcStatus,
  clock: Clock,
  headers?: OutgoingHttpHeaders,
): void {
  respondOnly(stream, clock, { ":status": 200, "content-type": contentType, ...headers, ...statusHeaders(status) });
}

/** An answer of headers alone. */
export function respondOnly(stream: ServerHttp2Stream, clock: Clock, headers: OutgoingHttpHeaders): void {
  if (isGone(stream) || stream.headersSent) return;
  stream.respond(headers, { endStream: true });
  hangUp(stream, clock);
}

/** A stream that was reset is closed some turns before it is destroyed, and to answer it then is an error. */
export function isGone(stream: ServerHttp2Stream): boolean {
  return stream.closed || stream.destroyed;
}

/** Whatever the client still sends is not looked at. Told so at once, it might not see its answer for that. */
function hangUp(stream: ServerHttp2Stream, clock: Clock): void {
  if (stream.readableEnded) return;
  stream.resume();
  void clock.yield().then(() => stream.close(constants.NGHTTP2_NO_ERROR));
}
