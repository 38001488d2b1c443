/** The composition root: the services of the provider in the order in which they lean on each other. */
import type { Bus } from "../bus/bus.ts";
import { createBusService, type TopicStatus } from "../bus/bus-service.ts";
import type { RedisOptions } from "../bus/redis.ts";
import {
  type ChainDocument,
  type ChainServiceOptions,
  type ChainWithOutbox,
  createChainService,
} from "../chain/chain-service.ts";
import type { Journal } from "../journal/journal.ts";
import { createJournalService } from "../journal/journal-service.ts";
import type { Kube } from "../kube/kube.ts";
import type { ClusterView } from "../operators/inventory/cluster-view.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { ListenAddress } from "../runtime/listener.ts";
import type { Log } from "../runtime/log.ts";
import { createMetrics, type Metrics } from "../runtime/metrics.ts";
import { createMetricsListener } from "../runtime/metrics-listener.ts";
import { createProcess, type Process, type ProcessStatus } from "../runtime/process.ts";
import type { Random } from "../runtime/random.ts";
import { announce } from "./announce.ts";

export interface ProviderOptions {
  readonly dataDir: string;
  /** Without it the bus stays inside the process. */
  readonly redis?: RedisOptions;
  readonly metricsListener?: ListenAddress;
  /** Without it the provider does not take part in any market. */
  readonly chain?: ChainServiceOptions;
  /** What runs before everything else, for instance the node of the demo. */
  readonly before?: readonly Service[];
  /** What runs on top of everything else, for instance the tenants of the demo. */
  readonly after?: (foundation: Foundation) => readonly Service[];
  readonly shutdownMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Provider extends Process {
  status(): ProviderStatus;
}

export interface ProviderStatus extends ProcessStatus {
  readonly documents: Documents;
}

/** What the services tell of themselves, by the name of each. */
export type Documents = {
  readonly bus?: readonly TopicStatus[];
  readonly chain?: ChainDocument;
  readonly inventory?: ClusterView;
};

/** What the services stand on. Each part is there once the service of its name has started, so from `start` on. */
export interface Foundation {
  readonly chain: ChainWithOutbox;
  /** Only where a service of the list connects to a cluster. */
  readonly kube?: Kube;
  readonly bus: Bus;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** For who serves them; a service says what is measured of it in `measure`. */
  readonly metrics: Metrics;
}

export function createProvider(options: ProviderOptions): Provider {
  const { dataDir, redis, metricsListener, clock, random, log, shutdownMs } = options;
  const metrics = createMetrics();
  // Filled from the ground up: a service starts after those above it, so what it reads here is there.
  const foundation = { clock, random, log, metrics } as Foundation;
  const services: Service[] = [
    ...(options.before ?? []),
    createJournalService(dataDir, foundation),
    createBusService(redis, foundation),
    // Before the chain, so that a start that waits for its nodes can be watched.
    ...(metricsListener ? [createMetricsListener(metrics, metricsListener, log)] : []),
    ...(options.chain
      ? [createChainService(options.chain, foundation, (chain) => announce(chain, foundation.bus))]
      : []),
    ...(options.after?.(foundation) ?? []),
  ];
  const running = createProcess({ services, metrics, clock, log, ...(shutdownMs !== undefined && { shutdownMs }) });
  return {
    ...running,
    status() {
      const status = running.status();
      return { ...status, documents: status.documents as Documents };
    },
  };
}
