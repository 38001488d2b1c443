/** The cluster as a service: what it has, what of it is promised, what is free, and what runs on it for our leases. */
import { z } from "zod";
import type { Bus, Message } from "../bus/bus.ts";
import type { Chain } from "../chain/chain.ts";
import { type CloseReason, closeReasons } from "../chain/closing.ts";
import type { Journal } from "../journal/journal.ts";
import type { Kube } from "../kube/kube.ts";
import { parseControlParams } from "../runtime/control/control-socket.ts";
import type { ControlHandler, ResourceService } from "../runtime/lifecycle.ts";
import type { Queue } from "../runtime/queue.ts";
import { measureCluster } from "./cluster-metrics.ts";
import {
  type Cluster,
  type ClusterDeps,
  type ClusterOptions,
  type ClusterParts,
  createCluster,
  createClusterParts,
} from "./cluster-parts.ts";
import { type ClusterStatus, clusterStatus, createStatusPublisher } from "./cluster-status.ts";
import { clusterConditions } from "./conditions.ts";

export type { Cluster, ClusterOptions } from "./cluster-parts.ts";

interface ClusterServiceDeps extends ClusterDeps {
  readonly chain: Promise<Chain>;
  readonly kube: Promise<Kube>;
  readonly bus: Promise<Bus>;
  readonly journal: Promise<Journal>;
}

export function createClusterService(
  options: ClusterOptions,
  deps: ClusterServiceDeps,
): ResourceService<Cluster, ClusterStatus> {
  const { clock } = deps;
  const log = deps.log.with({ module: "cluster" });
  const { promise: opened, resolve } = Promise.withResolvers<Cluster>();
  let running: ClusterParts | undefined;
  let lastStatus: ClusterStatus | undefined;
  const queues: Queue[] = [];
  const statusNow = () => running && clusterStatus(running);

  return {
    name: "cluster",
    waitsForOthers: true,
    async start(scope) {
      const [chain, journal, bus, kube] = await Promise.all([deps.chain, deps.journal, deps.bus, deps.kube]);
      const ready = { ...deps, chain, journal, kube, log };
      const parts = createClusterParts(options, ready, () => publisher.changed());
      const publisher = createStatusPublisher(() => clusterStatus(parts), bus, clock);
      parts.health.onChange((lease, now, before) => {
        publisher.changed();
        if (now?.state === before?.state) return;
        bus.publish("akash.provider.event.lease", { kind: "LeaseHealthChanged", lease });
      });
      queues.push(...parts.queues);
      scope.onStop(publisher.stop);
      await parts.open(scope);
      const wakeLease = ({ data: { lease } }: Message<"akash.provider.event.manifest">) => {
        if (journal.read.manifests.get(lease)) parts.leaseKeeper.wake(lease, "high");
      };
      scope.onStop(bus.subscribe("akash.provider.event.manifest", wakeLease, "leases").close);
      scope.onStop(bus.subscribe("inventory.*", deps.inventory.wake, "inventory feed").close);
      running = parts;
      const cluster = createCluster(parts, ready);
      scope.onStop(cluster.pods.close);
      resolve(cluster);
      // After the end the journal is closed.
      scope.onStop(() => {
        lastStatus = statusNow();
      });
    },
    opened,
    queues,
    detail() {
      if (!running) return "";
      const { book, leases, inventory } = running.keeper;
      const nodes = book.snapshot?.nodes.length ?? 0;
      const reason = inventory.error ?? running.leaseKeeper.error;
      return reason ?? `${nodes} nodes, ${leases} leases, ${book.size} reservations`;
    },
    status: () => lastStatus ?? statusNow(),
    *conditions() {
      if (running) yield* clusterConditions(running);
    },
    controlHandlers: controlHandlers(opened),
    measure(metrics) {
      if (running) measureCluster(metrics, { ...running, clock });
    },
  };
}

const named = z.object({ id: z.string().max(256) });
const close = named.extend({
  reason: z.enum(Object.keys(closeReasons) as [CloseReason, ...CloseReason[]]),
  dryRun: z.boolean().default(false),
});
const reconcile = z.object({ dryRun: z.boolean().default(false) });

function controlHandlers(opened: Promise<Cluster>): Readonly<Record<string, ControlHandler>> {
  return {
    leases: async () => (await opened).leasesInUse(),
    closeLease: async (params, signal) => (await opened).closeLease(parseControlParams(close, params), signal),
    refreshLease: async (params, signal) => (await opened).refreshLease(parseControlParams(named, params).id, signal),
    reclaimLease: async (params, signal) => (await opened).reclaimLease(parseControlParams(close, params), signal),
    reconcile: async (params, signal) => (await opened).reconcile(parseControlParams(reconcile, params), signal),
  };
}
