/** Serves the metrics on a listener of their own, so that they never share a port with tenants. */
import { createServer } from "node:http";
import type { Service } from "./lifecycle.ts";
import { type ListenAddress, listen } from "./listener.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** A few Prometheus servers, and a person with a browser. */
const metricsConnections = 64;

/** The address that people can open is its detail. */
export function createMetricsListener(metrics: Metrics, address: ListenAddress, log: Log): Service {
  let url = "";
  const server = createServer((request, response) => {
    if (request.url !== "/metrics") {
      response.writeHead(404, { "content-type": "text/plain" }).end("only /metrics is here\n");
      return;
    }
    metrics.text().then(
      (text) => response.writeHead(200, { "content-type": metrics.contentType }).end(text),
      (error) => response.writeHead(500, { "content-type": "text/plain" }).end(`${String(error)}\n`),
    );
  });
  return {
    name: "metrics",
    async start(scope) {
      const names = { what: "the metrics listener", setting: "--metrics-listener" };
      const listener = await listen(server, { ...address, ...names, connections: metricsConnections, log });
      scope.onStop(() => listener.close());
      url = `${listener.url}/metrics`;
      log.info("metrics listening", { url });
    },
    detail: () => url,
  };
}
