/**
 * The operator's HTTP listener, for people, probes and Prometheus. It answers from what is known, and never waits for the
 * cluster.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { withDeadline } from "../../../runtime/clock.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { limits } from "../../../runtime/limits.ts";
import { type ListenAddress, type Listener, listen } from "../../../runtime/listener.ts";
import type { OperatorGround } from "../ground.ts";
import type { Publisher } from "./publisher.ts";

export interface RestOptions extends ListenAddress, Pick<OperatorGround, "clock" | "log"> {
  /** How long a request may take. */
  readonly apiTimeoutMs: number;
  readonly version: string;
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
}

interface Answer {
  readonly contentType: string;
  readonly body: readonly (string | Buffer)[];
}

type Route = (query: URLSearchParams) => Answer | Promise<Answer>;

export async function startRest(publisher: Publisher, options: RestOptions): Promise<Listener> {
  const { apiTimeoutMs, clock, log } = options;
  const routes = routesOf(publisher, options);

  async function answer({ method = "", url = "/" }: IncomingMessage): Promise<Answer> {
    const [path = "", query = ""] = url.split("?", 2);
    const route = routes.get(path);
    if (!route) throw new ProviderError("AKP_HTTP_PATH_UNKNOWN", { path, paths: [...routes.keys()].join(", ") });
    if (method !== "GET" && method !== "HEAD") throw new ProviderError("AKP_HTTP_METHOD_REFUSED", { method, path });
    return withDeadline(clock, apiTimeoutMs, Promise.resolve(route(new URLSearchParams(query))), () => {
      throw new ProviderError("AKP_HTTP_ANSWER_LATE", { path, limitMs: apiTimeoutMs });
    });
  }

  const server = createServer({
    headersTimeout: limits.inventoryRequestMs,
    requestTimeout: limits.inventoryRequestMs,
    connectionsCheckingInterval: limits.inventoryRequestMs / 5,
    keepAliveTimeout: limits.inventoryIdleMs,
  });
  server.timeout = limits.inventoryIdleMs;
  server.on("request", (request, response) => {
    answer(request).then(
      (given) => send(response, 200, given),
      (thrown) => {
        const error = ProviderError.from(thrown);
        if (error.code === "AKP_INTERNAL") log.error("failed to answer a request", { error });
        refuse(response, error);
      },
    );
  });
  const { host, port } = options;
  const names = { what: "the inventory over REST", setting: "--rest-port" };
  return listen(server, { host, port, ...names, connections: limits.inventoryConnections, log });
}

function routesOf(publisher: Publisher, { version, metrics }: RestOptions): ReadonlyMap<string, Route> {
  const health: Route = () => json({ status: "ok" });
  const ready: Route = () => {
    const { inventory, offered } = publisher.picture();
    return json({
      status: "ready",
      nodes: inventory.nodes.length,
      offered: offered.length,
      age_ms: publisher.ageMs,
      conditions: inventory.conditions,
    });
  };
  const inventory: Route = (query) => {
    const body = [publisher.picture().fullJson(), `,"age_ms":${publisher.ageMs}}`];
    if (!query.has("pretty")) return { contentType: "application/json", body };
    return json(JSON.parse(body.join("")));
  };
  return new Map<string, Route>([
    ["/health", health],
    ["/ready", ready],
    ["/version", () => json({ name: "akash-provider", version })],
    ["/v1/inventory", inventory],
    ["/metrics", async () => ({ contentType: metrics.contentType, body: [await metrics.text()] })],
    // Where the network's own operator has them.
    ["/metrics/health", health],
    ["/metrics/ready", ready],
  ]);
}

function json(value: unknown): Answer {
  return { contentType: "application/json", body: [`${JSON.stringify(value, null, 2)}\n`] };
}

function refuse(response: ServerResponse, error: ProviderError): void {
  const { code, message, advice, entry } = error;
  if (code === "AKP_HTTP_METHOD_REFUSED") response.setHeader("allow", "GET, HEAD");
  send(response, entry.http, json({ code, message, advice }));
}

function send(response: ServerResponse, status: number, { contentType, body }: Answer): void {
  const length = body.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  response.writeHead(status, {
    "content-type": contentType,
    "content-length": length,
    "cache-control": "no-cache",
  });
  for (const part of body) response.write(part);
  response.end();
}
