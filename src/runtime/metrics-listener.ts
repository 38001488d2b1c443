/** Serves the metrics on a listener of their own, so that they never share a port with tenants. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ProviderError } from "./errors.ts";
import type { Scope, Service } from "./lifecycle.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** The address that people can open is its detail; a port of 0 takes a free one. */
export function createMetricsListener(metrics: Metrics, address: ListenAddress, log: Log): Service {
  let url = "";
  return {
    name: "metrics",
    async start(scope) {
      url = await listen(metrics, address, scope);
      log.info("metrics listening", { url });
    },
    detail: () => url,
  };
}

async function listen(metrics: Metrics, address: ListenAddress, scope: Scope): Promise<string> {
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
  await new Promise<void>((resolve, reject) => {
    // For as long as it lives: later, a connection that could not be taken must not end the provider.
    server.on("error", (thrown) => reject(cannotListen(address, thrown)));
    server.listen(address.port, address.host, resolve);
  });
  scope.onStop(() => {
    server.close();
    server.closeAllConnections();
  });
  const { address: host, port } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/metrics`;
}

function cannotListen({ host, port }: ListenAddress, thrown: Error): ProviderError {
  const address = `${host}:${port}`;
  const details = { what: "the metrics listener", address, reason: thrown.message, setting: "--metrics-listener" };
  return new ProviderError("AKP_LISTEN_FAILED", details, { cause: thrown });
}
