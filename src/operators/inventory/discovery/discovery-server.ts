/** Serves the hardware of its node. It runs in the discovery pod, and only reads. */
import type { ServerResponse } from "node:http";
import { type Clock, withDeadline } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { type ListenAddress, type Listener, listen } from "../../../runtime/listener.ts";
import type { Log } from "../../../runtime/log.ts";
import { type DiscoverOptions, discover } from "./discover.ts";

/** Reading takes milliseconds, unless a driver hangs. */
export const discoveryAnswerMs = 4 * second;
const discoveryRequestMs = 5 * second;
/** The operator, a probe, and a person with curl. */
const discoveryConnections = 64;

// An import would also load the rest of the module, fetch among it: 13 MB on every node.
const { createServer } = process.getBuiltinModule("node:http");

export interface DiscoveryServerOptions extends DiscoverOptions, ListenAddress {
  readonly clock: Clock;
  readonly log: Log;
  /** Replaced by tests. */
  readonly read?: typeof discover;
}

export async function serveDiscovery(options: DiscoveryServerOptions): Promise<Listener> {
  const { host, port, clock, log, read = discover } = options;
  /** Concurrent requests share one. */
  let reading: ReturnType<typeof discover> | undefined;

  async function answer(method: string | undefined, path: string, response: ServerResponse): Promise<void> {
    if (method !== "GET") return send(response, 405, "only GET is allowed\n", { allow: "GET" });
    if (path === "/health") return send(response, 200, "ok\n");
    if (path !== "/" && path !== "/hardware") return send(response, 404, "paths are /hardware and /health\n");
    reading ??= read(options).finally(() => {
      reading = undefined;
    });
    const hardware = await withDeadline(clock, discoveryAnswerMs, reading, () => {
      throw new ProviderError("AKP_DISCOVERY_LATE", { limitMs: discoveryAnswerMs });
    });
    return send(response, 200, JSON.stringify(hardware), { "content-type": "application/json; charset=UTF-8" });
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

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "text/plain", ...headers }).end(body);
}
