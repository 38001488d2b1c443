/**
 * What the hostname and the IP operator answer over HTTP: to the network's own provider in the words that it knows from the
 * network's operators, and to probes and Prometheus. It answers from what is known, and never waits for the cluster.
 */
import type { IncomingMessage } from "node:http";
import { type Clock, formatHttpTime } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { jsonWithNumbers } from "../../runtime/json-text.ts";
import type { ListenAddress, Listener } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import { type HttpAnswer, type HttpServerOptions, serveHttp } from "./http-server.ts";

export interface OperatorRestOptions extends ListenAddress {
  /** Who cannot listen where the port is taken: "the hostname operator over REST". */
  readonly what: string;
  readonly version: string;
  readonly metrics: Pick<Metrics, "text" | "contentType">;
  /** How old an answer may be. */
  readonly refreshMs: number;
  /** What is told at each path, as JSON; undefined while there is nothing to tell. */
  readonly routes: Readonly<Record<string, () => unknown>>;
  /** Those of them that are told anew at each question: they cost nothing, and nobody must believe an old one. */
  readonly fresh?: readonly string[];
  /** Of paths that name what they ask for; undefined where it is no such path. */
  readonly asked?: (path: string) => AskedAnswer | undefined;
  /** Why nothing can be told yet, or nothing at this path. */
  readonly waitingFor: (path?: string) => string | undefined;
  readonly http2?: HttpServerOptions["http2"];
  readonly clock: Clock;
  readonly log: Log;
}

export interface AskedAnswer {
  readonly status: number;
  /** As JSON; without it the body is empty. */
  readonly body?: unknown;
}

const plain = { "content-type": "text/plain; charset=utf-8" };

export function startOperatorRest(options: OperatorRestOptions): Promise<Listener> {
  const { asked, waitingFor, metrics, log } = options;
  const version = jsonAnswer(200, versionDocument(options.version));
  /** What the network's operators have. */
  const pages = new Map<string, () => HttpAnswer>([
    ["/health", () => ({ status: 200, headers: plain, body: ["OK"] })],
    ["/version", () => version],
    ...Object.entries(options.routes).map(([path, tell]) => [path, kept(path, tell, options)] as const),
  ]);

  async function answer({ method = "", url = "/" }: IncomingMessage): Promise<HttpAnswer> {
    const [path = "", query] = split(url);
    const clean = cleanPath(path);
    if (clean !== path)
      return { status: 301, headers: { location: query === undefined ? clean : `${clean}?${query}` } };
    const own = ownPages[path];
    if (own) return method === "GET" || method === "HEAD" ? own() : { status: 405, headers: { allow: "GET, HEAD" } };
    const page = pages.get(path) ?? askedPage(path);
    if (!page) {
      return {
        status: 404,
        headers: { ...plain, "x-content-type-options": "nosniff" },
        body: ["404 page not found\n"],
      };
    }
    // As the network's operators do: their provider waits until this is over.
    if (waitingFor(path) !== undefined) return { status: 503 };
    return method === "GET" || path === "/health" ? page() : { status: 405 };
  }

  function askedPage(path: string): (() => HttpAnswer) | undefined {
    const found = asked?.(path);
    return found && (() => jsonAnswer(found.status, found.body));
  }

  /** Beside what the network's operators have. */
  const ownPages: Readonly<Record<string, () => HttpAnswer | Promise<HttpAnswer>>> = {
    "/healthz": () => ({ status: 200, headers: plain, body: ["ok\n"] }),
    "/readyz": () => {
      const why = waitingFor();
      return { status: why === undefined ? 200 : 503, headers: plain, body: [`${why ?? "ready"}\n`] };
    },
    "/metrics": async () => ({
      status: 200,
      headers: { "content-type": metrics.contentType },
      body: [await metrics.text()],
    }),
  };

  const settled = (request: IncomingMessage) =>
    answer(request).catch((thrown): HttpAnswer => {
      const error = ProviderError.from(thrown);
      log.error("failed to answer a request", { error });
      return jsonAnswer(error.entry.http, { Error: error.message, Code: -1 });
    });
  return serveHttp(settled, options);
}

/** Made when it is asked for, and good for a while: what changes all the time is not written out for every question. */
function kept(path: string, tell: () => unknown, options: OperatorRestOptions): () => HttpAnswer {
  const { clock, fresh = [] } = options;
  const refreshMs = fresh.includes(path) ? 0 : options.refreshMs;
  let last: { readonly answer: HttpAnswer; readonly untilMs: number } | undefined;
  return () => {
    if (last && clock.monotonicMs() < last.untilMs) return last.answer;
    const answer = toldAnswer(tell(), clock.now());
    // Of nothing there is no age: what comes first is told at once.
    last = answer.status === 204 ? undefined : { answer, untilMs: clock.monotonicMs() + refreshMs };
    return answer;
  };
}

function toldAnswer(value: unknown, nowMs: number): HttpAnswer {
  const { status, headers, body = [] } = jsonAnswer(value === undefined ? 204 : 200, value);
  const modified = status === 200 && { "last-modified": formatHttpTime(nowMs) };
  return { status, headers: { "cache-control": "no-cache, max-age=0", ...modified, ...headers }, body };
}

/** A deployment's number is a number here, however large it is. */
function jsonAnswer(status: number, value: unknown): HttpAnswer {
  return value === undefined ? { status } : { status, headers: plain, body: [`${jsonWithNumbers(value)}\n`] };
}

/** In the network's fields. */
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

function split(url: string): [path: string, query?: string] {
  const at = url.indexOf("?");
  return at < 0 ? [url] : [url.slice(0, at), url.slice(at + 1)];
}

/** Without empty parts and dots, as the network's servers want it; a slash at the end stays. */
function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}${path.endsWith("/") && parts.length > 0 ? "/" : ""}`;
}
