/** CometBFT's RPC server: JSON-RPC in POSTs, methods as paths, and a WebSocket for those who want to hear of events. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { second } from "../../../runtime/durations.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import { type ListenAddress, type Listener, listen } from "../../../runtime/listener.ts";
import type { Log } from "../../../runtime/log.ts";
import { chainConnections } from "./grpc.ts";
import { failure, type HttpAnswer, type JsonRpc } from "./json-rpc.ts";
import { chainWriteMs } from "./send-queue.ts";
import type { Sockets } from "./websocket.ts";
import { chainRequestBytes } from "./websocket.ts";

/** An idle HTTP connection is closed; the Keep-Alive header announces it. */
const chainIdleMs = 10 * second;

interface RpcServer {
  /** Resolves with the port. */
  listen(address: ListenAddress): Promise<number>;
  stop(): Promise<void>;
}

class BodyTooLarge extends Error {}

export function createRpcServer(rpc: JsonRpc, sockets: Sockets, log: Log): RpcServer {
  const server = createServer({ keepAliveTimeout: chainIdleMs, requestTimeout: chainWriteMs });
  let listener: Listener | undefined;
  server.on("request", (request, response) => {
    answer(rpc, request)
      .catch((thrown): HttpAnswer => {
        if (!(thrown instanceof BodyTooLarge)) log.debug("unreadable RPC request", { reason: reasonOf(thrown) });
        const reason = `error reading request body: ${reasonOf(thrown)}`;
        return { status: 400, body: JSON.stringify(failure(undefined, -32600, "Invalid Request", reason)) };
      })
      .then((given) => send(response, given))
      .catch((thrown) => response.destroy(thrown instanceof Error ? thrown : undefined));
  });
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    if (pathOf(request) === "/websocket") sockets.accept(request, socket, head);
    else socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n", () => socket.destroy());
  });

  return {
    async listen(address) {
      const names = { what: "the embedded node", setting: "--rpc-port" };
      listener = await listen(server, { ...address, ...names, connections: chainConnections, log });
      return listener.port;
    },
    async stop() {
      await listener?.close();
    },
  };
}

async function answer(rpc: JsonRpc, request: IncomingMessage): Promise<HttpAnswer> {
  const body = await bodyOf(request);
  const path = pathOf(request);
  if (path === "/") return body === "" ? listOf(rpc) : rpc.overHttp(body);
  const search = new URLSearchParams(request.url?.split("?").slice(1).join("?"));
  return (await rpc.overUri(path.slice(1), search)) ?? { status: 404, body: "404 page not found\n" };
}

/** Lists the methods for a browser. */
function listOf(rpc: JsonRpc): HttpAnswer {
  const links = rpc.names.map((name) => `<a href="/${name}">${name}</a><br>`).join("");
  return { status: 200, body: `<html><body>Available endpoints:<br>${links}</body></html>` };
}

function pathOf(request: IncomingMessage): string {
  return request.url?.split("?", 1)[0] ?? "";
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // The connection outlives a body that is not read to its end, so that its sender receives the error.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > chainRequestBytes) throw new BodyTooLarge("http: request body too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

const contentTypes: Record<string, string> = { "{": "application/json", "[": "application/json", "<": "text/html" };

function send(response: ServerResponse, { status, body }: HttpAnswer): void {
  // The rest of a body that was too large is not waited for.
  if (status === 400) response.setHeader("connection", "close");
  response.writeHead(status, { "content-type": contentTypes[body.charAt(0)] ?? "text/plain; charset=utf-8" });
  response.end(body);
}
