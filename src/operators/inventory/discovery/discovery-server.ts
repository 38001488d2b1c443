/** Answers on a node what that node has. It runs in the discovery pod, and only reads. */
import type { ServerResponse } from "node:http";
import { type Clock, withDeadline } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { type ListenAddress, type Listener, listen } from "../../../runtime/listener.ts";
import type { Log } from "../../../runtime/log.ts";
import { type DiscoverOptions, type Survey, survey } from "./discover.ts";
import { networkViews } from "./network-views.ts";

/** Reading everything takes milliseconds; if a driver hangs, whoever asks hears so before he gives up. */
export const discoveryAnswerMs = 4 * second;
/** How old an answer may be, so that many askers cost no more than one. */
export const discoveryFreshMs = second;
/** A request is a line, and the askers are on the same network. */
const discoveryRequestMs = 5 * second;
/** Connections at once: one operator, a probe, and a person with curl. */
const discoveryConnections = 64;

// Not imported, for that would also load what this module only offers, fetch among it: 13 MB on every node.
const { createServer } = process.getBuiltinModule("node:http");

export interface DiscoveryServerOptions extends DiscoverOptions, ListenAddress {
  readonly clock: Clock;
  readonly log: Log;
  /** How the node is read; tests have nodes that hang. */
  readonly look?: (options: DiscoverOptions) => Promise<Survey>;
}

const views: typeof networkViews = {
  "/": ({ hardware }) => hardware,
  "/hardware": ({ hardware }) => hardware,
  ...networkViews,
};

export async function serveDiscovery(options: DiscoveryServerOptions): Promise<Listener> {
  const { host, port, log } = options;
  const latest = createLatest(options);

  async function answer(method: string | undefined, path: string, response: ServerResponse): Promise<void> {
    if (method !== "GET") return send(response, 405, "only GET is answered here\n", { allow: "GET" });
    if (path === "/health") return send(response, 200, "ok\n");
    const view = Object.hasOwn(views, path) ? views[path] : undefined;
    if (!view) return send(response, 404, `here are ${Object.keys(views).join(", ")} and /health\n`);
    const body = JSON.stringify(view(await latest()));
    return send(response, 200, body, { "content-type": "application/json; charset=UTF-8" });
  }

  const server = createServer((request, response) => {
    const [path = "/"] = (request.url ?? "/").split("?");
    answer(request.method, path, response).catch((thrown: unknown) => {
      const error = ProviderError.from(thrown);
      log.error("failed to answer a request", { error });
      send(response, error.entry.http, `${error.message}\n`);
    });
  });
  server.headersTimeout = discoveryRequestMs;
  server.requestTimeout = discoveryRequestMs;
  const names = { what: "discovery", setting: "--api-port" };
  return listen(server, { host, port, ...names, connections: discoveryConnections, log });
}

/** The node is read when somebody asks, not more often than it can change, and once for all who ask meanwhile. */
function createLatest(options: DiscoveryServerOptions): () => Promise<Survey> {
  const { clock, look = survey } = options;
  let reading: Promise<Survey> | undefined;
  let last: { survey: Survey; atMs: number } | undefined;

  async function read(): Promise<Survey> {
    try {
      const found = await look(options);
      last = { survey: found, atMs: clock.monotonicMs() };
      return found;
    } finally {
      reading = undefined;
    }
  }

  return async () => {
    if (last && clock.monotonicMs() - last.atMs < discoveryFreshMs) return last.survey;
    reading ??= read();
    return withDeadline(clock, discoveryAnswerMs, reading, () => {
      throw new ProviderError("AKP_DISCOVERY_LATE", { limitMs: discoveryAnswerMs });
    });
  };
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "text/plain", ...headers }).end(body);
}
