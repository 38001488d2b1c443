/** The server's side of one call: messages out, then a status; whichever comes first of that and the client's leaving. */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "../clock.ts";
import { messageHead } from "./framing.ts";
import { type GrpcStatus, grpcOk, statusHeaders } from "./grpc-status.ts";

const contentType = { ":status": 200, "content-type": "application/grpc" };

export interface Reply {
  /** Resolves when the client's connection had room for all of it; at once when the call is over. */
  send(message: Uint8Array, headers?: OutgoingHttpHeaders): Promise<void>;
  /** Only the first end counts. */
  end(status?: GrpcStatus, headers?: OutgoingHttpHeaders): void;
  /** Aborted when the call is over, for whatever reason. */
  readonly over: AbortSignal;
}

export function createReply(stream: ServerHttp2Stream, clock: Clock): Reply {
  const abort = new AbortController();
  let status: GrpcStatus | undefined;
  stream.once("close", () => abort.abort());
  // No sooner than Node asks for them, or they would overtake the messages.
  stream.once("wantTrailers", () => {
    stream.sendTrailers(statusHeaders(status ?? grpcOk));
    // In a later turn: at once it would overtake them.
    if (!stream.readableEnded) clock.timer(0, () => hangUp(stream));
  });

  return {
    async send(message, headers = {}) {
      if (stream.destroyed || status) return;
      if (!stream.headersSent) stream.respond({ ...contentType, ...headers }, { waitForTrailers: true });
      await new Promise<void>((resolve) => {
        stream.cork();
        stream.write(messageHead(message));
        // Also called, with an error, when the client leaves instead.
        stream.write(message, () => resolve());
        stream.uncork();
      });
    },
    end(ending = grpcOk, headers = {}) {
      if (status) return;
      status = ending;
      if (stream.headersSent) stream.end();
      // Without a message the status stands in the headers already.
      else respondOnly(stream, { ...contentType, ...headers, ...statusHeaders(status) });
      abort.abort();
    },
    over: abort.signal,
  };
}

/** An answer of headers alone. */
export function respondOnly(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond(headers, { endStream: true });
  hangUp(stream);
}

/** Whatever the client still wants to send, nobody waits for it. */
function hangUp(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}
