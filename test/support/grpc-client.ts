/** A client that shows all of an answer, its headers among it, and may itself send what it should not. */
import { type ClientHttp2Stream, connect, type IncomingHttpHeaders, type SecureClientSessionOptions } from "node:http2";
import { createCutter, headBytes } from "../../src/runtime/grpc/framing.ts";
import type { Owner } from "./owner.ts";

interface GrpcReply {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly messages: readonly Buffer[];
  /** The bytes of the first message, without its frame. */
  readonly message: Buffer;
  readonly status: number;
  /** What the status says to people. */
  readonly words: string;
}

/** A call whose answers are looked at while they come. */
interface OpenCall {
  readonly stream: ClientHttp2Stream;
  /** The messages so far. */
  readonly messages: readonly Buffer[];
  /** Resolves when the call is over. */
  readonly ended: Promise<GrpcReply>;
}

export function openGrpcClient(owner: Owner, url: string, options: SecureClientSessionOptions = {}) {
  const session = connect(url, options);
  // A server that drops the connection is seen by the calls on it.
  session.on("error", () => undefined);
  owner.after(() => session.destroy());

  function open(path: string, body: Uint8Array | undefined, headers: Record<string, string> = {}): OpenCall {
    const request = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
    const stream = session.request({ ...request, ...headers });
    const messages: Buffer[] = [];
    const ended = new Promise<GrpcReply>((resolve, reject) => {
      let head: IncomingHttpHeaders = {};
      let trailers: IncomingHttpHeaders = {};
      const cut = createCutter(Number.POSITIVE_INFINITY);
      stream.on("response", (seen) => {
        head = seen;
      });
      stream.on("trailers", (seen) => {
        trailers = seen;
      });
      stream.on("data", (chunk: Buffer) => {
        for (const whole of cut.take(chunk)) messages.push(Buffer.from(whole.subarray(headBytes)));
      });
      stream.on("error", reject);
      stream.on("end", () => {
        const from = trailers["grpc-status"] === undefined ? head : trailers;
        const message = messages[0] ?? Buffer.alloc(0);
        const words = decodeURIComponent(String(from["grpc-message"] ?? ""));
        resolve({ headers: head, trailers, messages, message, status: Number(from["grpc-status"]), words });
      });
    });
    // A caller that does not look at the end of a call does not have to.
    ended.catch(() => undefined);
    if (body) stream.end(body);
    return { stream, messages, ended };
  }

  const send = (path: string, body: Uint8Array, headers?: Record<string, string>) => open(path, body, headers).ended;
  return {
    session,
    /** A body as it is; without one the request stays unfinished. */
    open,
    send,
    call: (path: string, request: Uint8Array = new Uint8Array(), headers?: Record<string, string>) =>
      send(path, frame(request), headers),
    stream: (path: string, headers?: Record<string, string>) => open(path, frame(new Uint8Array()), headers),
  };
}

export function frame(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
