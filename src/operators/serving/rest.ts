/** REST of the hostname and IP operators in the Go operators' fields, with probes and Prometheus. */
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type Server } from "node:http";
import type { Socket } from "node:net";
import type { LeaseId } from "../../market/ids.ts";
import { type Clock, formatHttpTime } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { jsonWithNumbers } from "../../runtime/json-text.ts";
import { type ListenAddress, type Listener, type ListenOptions, listen } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import { operatorConnections } from "./grpc.ts";

export interface OperatorRestOptions extends ListenAddress {
  /** For the error where the port is in use: "the hostname operator over REST". */
  readonly what: string;
  readonly version: string;
  readonly metrics: Pick<Metrics, "text" | "contentType">;
  readonly refreshMs: number;
  /** The content of each path, as JSON; undefined is 204. */
  readonly routes: Readonly<Record<string, () => unknown>>;
  /** Those of them that are never cached. */
  readonly fresh?: readonly string[];
  /** For paths with parameters; undefined where the path does not match. */
  readonly matchPath?: (path: string) => PathAnswer | undefined;
  /** Why there is nothing to serve yet, or nothing at this path. */
  readonly waitingFor: (path?: string) => string | undefined;
  readonly http2?: HttpServerOptions["http2"];
  readonly clock: Clock;
  readonly log: Log;
}

export interface PathAnswer {
  readonly status: number;
  /** As JSON; without it the body is empty. */
  readonly body?: unknown;
}

function textAnswer(status: number, body: string, headers: OutgoingHttpHeaders = {}): HttpAnswer {
  return { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers }, body: [body] };
}

export function startOperatorRest(options: OperatorRestOptions): Promise<Listener> {
  const { matchPath, waitingFor, metrics, log } = options;
  const version = jsonAnswer(200, versionDocument(options.version));
  /** As in the network's operators. */
  const pages = new Map<string, () => HttpAnswer>([
    ["/health", () => textAnswer(200, "OK")],
    ["/version", () => version],
    ...Object.entries(options.routes).map(([path, read]) => [path, cached(path, read, options)] as const),
  ]);

  async function answer({ method = "", url = "/" }: IncomingMessage): Promise<HttpAnswer> {
    const [path = "", ...query] = url.split("?");
    const clean = cleanPath(path);
    if (clean !== path) return { status: 301, headers: { location: [clean, ...query].join("?") } };
    const own = ownPages[path];
    if (own) return method === "GET" || method === "HEAD" ? own() : { status: 405, headers: { allow: "GET, HEAD" } };
    const page = pages.get(path) ?? pageWithParameters(path);
    if (!page) return textAnswer(404, "404 page not found\n", { "x-content-type-options": "nosniff" });
    // As the network's operators do: their provider waits until this is over.
    if (waitingFor(path) !== undefined) return { status: 503 };
    return method === "GET" || path === "/health" ? page() : { status: 405 };
  }

  function pageWithParameters(path: string): (() => HttpAnswer) | undefined {
    const found = matchPath?.(path);
    return found && (() => jsonAnswer(found.status, found.body));
  }

  /** Beside what the network's operators have. */
  const ownPages: Readonly<Record<string, () => HttpAnswer | Promise<HttpAnswer>>> = {
    "/healthz": () => textAnswer(200, "ok\n"),
    "/readyz": () => textAnswer(waitingFor() === undefined ? 200 : 503, `${waitingFor() ?? "ready"}\n`),
    "/metrics": async () => textAnswer(200, await metrics.text(), { "content-type": metrics.contentType }),
  };

  const answerOrError = (request: IncomingMessage) =>
    answer(request).catch((thrown): HttpAnswer => {
      const error = ProviderError.from(thrown);
      log.error("failed to answer a request", { error });
      return jsonAnswer(error.entry.http, { Error: error.message, Code: -1 });
    });
  return serveHttp(answerOrError, options);
}

function cached(path: string, read: () => unknown, options: OperatorRestOptions): () => HttpAnswer {
  const { clock, fresh = [] } = options;
  const refreshMs = fresh.includes(path) ? 0 : options.refreshMs;
  const cacheControl = { "cache-control": "no-cache, max-age=0" };
  let last: { readonly answer: HttpAnswer; readonly untilMs: number } | undefined;
  return () => {
    if (last && clock.monotonicMs() < last.untilMs) return last.answer;
    const value = read();
    // Not cached: the first content is served at once.
    if (value === undefined) return { status: 204, headers: cacheControl };
    const json = jsonAnswer(200, value);
    const headers = { ...cacheControl, "last-modified": formatHttpTime(clock.now()), ...json.headers };
    last = { answer: { ...json, headers }, untilMs: clock.monotonicMs() + refreshMs };
    return last.answer;
  };
}

/** A 64-bit dseq is written as a number. */
function jsonAnswer(status: number, value: unknown): HttpAnswer {
  return value === undefined ? { status } : textAnswer(status, `${jsonWithNumbers(value)}\n`);
}

function versionDocument(version: string) {
  return {
    name: "akash-provider",
    server_name: "akash-provider",
    version,
    commit: "",
    build_tags: "",
    go: `node ${process.version} ${process.platform}/${process.arch}`,
    build_deps: [],
    cosmos_sdk_version: "",
  };
}

/** Without empty parts and dots, as in Go's ServeMux; a slash at the end stays. */
function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}${path.endsWith("/") && parts.length > 0 ? "/" : ""}`;
}

const operatorRequestMs = 5 * second;
/** A connection on which nothing moves for so long is closed. */
const operatorIdleMs = 30 * second;

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: readonly (string | Buffer)[];
}

interface HttpServerOptions extends Omit<ListenOptions, "connections" | "setting"> {
  /** Takes connections that speak HTTP/2, so that gRPC is served on the same port too. */
  readonly http2?: ((socket: Socket) => void) | undefined;
}

/** `answer` never rejects. */
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

export function leaseFields({ owner, dseq, gseq, oseq, provider }: LeaseId): object {
  return { owner, dseq, gseq, oseq, provider, bseq: 0 };
}
