/** How operators listen for HTTP: bounded in connections and time, and never held up by one that is slow. */
import { createServer, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { limits } from "../../runtime/limits.ts";
import { type Listener, type ListenOptions, listen } from "../../runtime/listener.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: readonly (string | Buffer)[];
}

/** `answer` never rejects: it has an answer for its own troubles too. */
export function serveHttp(
  answer: (request: IncomingMessage) => Promise<HttpAnswer>,
  options: Omit<ListenOptions, "connections" | "setting">,
): Promise<Listener> {
  const server = createServer({
    headersTimeout: limits.operatorRequestMs,
    requestTimeout: limits.operatorRequestMs,
    connectionsCheckingInterval: limits.operatorRequestMs / 5,
    keepAliveTimeout: limits.operatorIdleMs,
  });
  server.timeout = limits.operatorIdleMs;
  server.on("request", async (request, response) => {
    const { status, headers, body = [] } = await answer(request);
    const length = body.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    // A status that never has a body has no length of it either.
    response.writeHead(status, { ...(status !== 204 && { "content-length": length }), ...headers });
    for (const part of body) response.write(part);
    response.end();
  });
  return listen(server, { ...options, setting: "--rest-port", connections: limits.operatorConnections });
}
