/** Serves this node's hardware until it is told to stop. */
import { serveDiscovery } from "../operators/inventory/discovery/discovery-server.ts";
import { realClock } from "../runtime/clock.ts";
import { createLifecycle, type Service } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import { onAnyAddress } from "./any-address.ts";
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
      log.info("serving the hardware of this node", { url: server.url });
    },
  };
  const lifecycle = createLifecycle({ services: [service], clock: realClock, log, ...(shutdownMs && { shutdownMs }) });
  await lifecycle.run(abortOnSignals());
}
