/** The composition root: the services of the provider in the order in which they lean on each other. */
import type { Bus } from "../bus/bus.ts";
import { createBusService, type TopicStatus } from "../bus/bus-service.ts";
import type { RedisOptions } from "../bus/redis.ts";
import type { Chain } from "../chain/chain.ts";
import { type ChainDocument, type ChainServiceOptions, createChainService } from "../chain/chain-service.ts";
import type { Journal } from "../journal/journal.ts";
import { createJournalService } from "../journal/journal-service.ts";
import type { Kube } from "../kube/kube.ts";
import { type Boundary, openBoundary } from "../runtime/boundary.ts";
import type { Clock } from "../runtime/clock.ts";
import { createControlService } from "../runtime/control/control-service.ts";
import type { GroundService, Service } from "../runtime/lifecycle.ts";
import type { ListenAddress } from "../runtime/listener.ts";
import type { Log } from "../runtime/log.ts";
import { createMetrics, type Metrics } from "../runtime/metrics.ts";
import { createMetricsListener } from "../runtime/metrics-listener.ts";
import { createProcess, type Process, type ProcessStatus } from "../runtime/process.ts";
import type { Random } from "../runtime/random.ts";
import { announce } from "./announce.ts";

interface ProviderOptions {
  readonly dataDir: string;
  /** How long the ends of orders are remembered. */
  readonly marketRetentionMs?: number;
  /** Without it the bus stays inside the process. */
  readonly redis?: RedisOptions;
  readonly metricsListener?: ListenAddress;
  /** Whether commands can ask it, over a socket in its data directory. */
  readonly control?: boolean;
  readonly chain: ChainServiceOptions;
  /** `run` has none yet: no service of it needs a cluster. */
  readonly kube?: GroundService<Kube>;
  /** What runs before everything else, for instance the node of the demo. */
  readonly before?: readonly Service[];
  /** What runs on top of everything else, for instance the tenants of the demo. */
  readonly after?: (foundation: Foundation) => readonly Service[];
  readonly shutdownMs?: number;
  /** Where a test may end the provider in mid-air. */
  readonly boundary?: Boundary;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Provider extends Process {
  status(): ProviderStatus;
}

export interface ProviderStatus extends ProcessStatus {
  readonly bus: readonly TopicStatus[] | undefined;
  readonly chain: ChainDocument | undefined;
}

/** What the services stand on. A promise is kept once the service of its name has started, so at once in any later one. */
export interface Foundation {
  readonly chain: Promise<Chain>;
  readonly kube: Promise<Kube> | undefined;
  readonly bus: Promise<Bus>;
  readonly journal: Promise<Journal>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** For who serves them; a service says what is measured of it in `measure`. */
  readonly metrics: Metrics;
}

export function createProvider(options: ProviderOptions): Provider {
  const { dataDir, redis, metricsListener, kube, before = [], after, shutdownMs } = options;
  const { boundary = openBoundary, clock, random, log } = options;
  const metrics = createMetrics();
  const ground = { clock, random, log, metrics };
  const journal = createJournalService(dataDir, { ...ground, boundary }, options.marketRetentionMs);
  const bus = createBusService(redis, ground);
  const tellBus = async (opened: Chain) => announce(opened, await bus.opened);
  const chain = createChainService(options.chain, { ...ground, boundary, journal: journal.opened }, tellBus);
  const foundation = {
    ...ground,
    chain: chain.opened,
    kube: kube?.opened,
    bus: bus.opened,
    journal: journal.opened,
  };
  const ask: Process["ask"] = (...asked) => running.ask(...asked);
  const services: Service[] = [
    ...before,
    // Its lock makes us the only one in the directory, so that the control socket is ours alone.
    journal,
    bus,
    ...(options.control ? [createControlService({ dataDir, ask, clock, log })] : []),
    // Before the chain, so that a start that waits for its nodes can be watched.
    ...(metricsListener ? [createMetricsListener(metrics, metricsListener, log)] : []),
    chain,
    ...(kube ? [kube] : []),
    ...(after?.(foundation) ?? []),
  ];
  const running = createProcess({ services, metrics, clock, log, ...(shutdownMs !== undefined && { shutdownMs }) });
  return {
    ...running,
    status: () => ({ ...running.status(), bus: bus.status?.(), chain: chain.status?.() }),
  };
}
