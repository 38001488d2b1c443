/** Serves this node's hardware until it is told to stop. */
import { serveDiscovery } from "../operators/inventory/discovery/discovery-server.ts";
import { realClock } from "../runtime/clock.ts";
import { ProviderError, systemCodeOf } from "../runtime/errors.ts";
import { createLifecycle, type Service } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import { abortOnSignals } from "./signals.ts";

export interface DiscoveryProcessOptions {
  readonly root: string;
  readonly port: number;
  readonly shutdownMs?: number;
  readonly log: Log;
}

export async function runDiscovery({ root, port, shutdownMs, log }: DiscoveryProcessOptions): Promise<void> {
  const service: Service = {
    name: "discovery",
    async start(scope) {
      const server = await onAnyAddress((host) => serveDiscovery({ root, host, port, clock: realClock, log }));
      scope.onStop(() => server.close());
      log.info("discovery listening", { url: server.url });
    },
  };
  const lifecycle = createLifecycle({ services: [service], clock: realClock, log, ...(shutdownMs && { shutdownMs }) });
  await lifecycle.run(abortOnSignals());
}

/** Where IPv6 is there, "::" takes IPv4 as well: a pod's address may be of either family, and a cluster may have only one. */
const both = "::";
const onlyIpv4 = "0.0.0.0";
/** How a machine says that it has no IPv6. */
const withoutIpv6 = new Set(["EAFNOSUPPORT", "EADDRNOTAVAIL"]);

/** `serve` begins to listen on a host; it is asked again with another one where the machine has no IPv6. */
export async function onAnyAddress<Server>(serve: (host: string) => Promise<Server>): Promise<Server> {
  try {
    return await serve(both);
  } catch (thrown) {
    const { cause } = ProviderError.from(thrown);
    if (!withoutIpv6.has(systemCodeOf(cause) ?? "")) throw thrown;
    return serve(onlyIpv4);
  }
}
