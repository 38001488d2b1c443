/** How operators listen for HTTP: bounded in connections and time, and never held up by one that is slow. */
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type Server } from "node:http";
import type { Socket } from "node:net";
import { second } from "../../runtime/durations.ts";
import { type Listener, type ListenOptions, listen } from "../../runtime/listener.ts";
import { operatorConnections } from "./grpc.ts";

/** A request over HTTP is one line and a few headers. */
const operatorRequestMs = 5 * second;
/** A connection on which nothing moves for so long is closed. */
const operatorIdleMs = 30 * second;

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: readonly (string | Buffer)[];
}

export interface HttpServerOptions extends Omit<ListenOptions, "connections" | "setting"> {
  /** Takes connections that speak HTTP/2, so that gRPC is served on the same port too. */
  readonly http2?: ((socket: Socket) => void) | undefined;
}

/** `answer` never rejects: it has an answer for its own troubles too. */
export function serveHttp(
  answer: (request: IncomingMessage) => Promise<HttpAnswer>,
  { http2, ...options }: HttpServerOptions,
): Promise<Listener> {
  const server = createServer({
    headersTimeout: operatorRequestMs,
    requestTimeout: operatorRequestMs,
    connectionsCheckingInterval: operatorRequestMs / 5,
    keepAliveTimeout: operatorIdleMs,
  });
  server.timeout = operatorIdleMs;
  server.on("request", async (request, response) => {
    const { status, headers, body = [] } = await answer(request);
    const length = body.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    // A status that never has a body has no length of it either.
    response.writeHead(status, { ...(status !== 204 && { "content-length": length }), ...headers });
    for (const part of body) response.write(part);
    response.end();
  });
  if (http2) divertHttp2(server, http2);
  return listen(server, { ...options, setting: "--rest-port", connections: operatorConnections });
}

/** "PRI" is no method of HTTP/1, and the beginning of every HTTP/2 connection. */
const http2Start = "PRI";

function divertHttp2(server: Server, http2: (socket: Socket) => void): void {
  const [http1] = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    socket.setTimeout(operatorRequestMs, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("readable", function peek() {
      // Null until that many are there. Fewer must not be put back: they make the socket readable again at once, in a busy loop.
      const start: Buffer | null = socket.read(http2Start.length);
      if (start === null) return;
      socket.off("readable", peek);
      socket.unshift(start);
      socket.setTimeout(0).removeAllListeners("timeout");
      if (start.toString("latin1", 0, http2Start.length) === http2Start) http2(socket);
      else http1?.call(server, socket);
    });
  });
}
