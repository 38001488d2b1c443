/**
 * The cluster as a service: what it has, by the inventory; what of it is promised, by the book of reservations; what is
 * free; and what runs on it for our leases.
 */

import type { Bus } from "../bus/bus.ts";
import type { Chain } from "../chain/chain.ts";
import { mirrorTrouble } from "../chain/mirror-trouble.ts";
import type { Journal } from "../journal/journal.ts";
import type { Kube } from "../kube/kube.ts";
import { formatLeaseId } from "../market/ids.ts";
import type { Overcommit } from "../market/overcommit.ts";
import type { Clock } from "../runtime/clock.ts";
import type { GroundService } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import { createQueue } from "../runtime/queue.ts";
import type { Random } from "../runtime/random.ts";
import { measureAddresses } from "./capacity/addresses/address-pool.ts";
import type { IpOperatorClient } from "./capacity/addresses/ip-operator.ts";
import { type CapacityKeeper, createCapacityKeeper } from "./capacity/capacity-keeper.ts";
import { type InventoryFeed, measureFeed } from "./capacity/inventory/feed.ts";
import type { ClusterCapacity } from "./capacity/reservations/reservations.ts";
import { measureCluster } from "./cluster-metrics.ts";
import { type ClusterDocument, documentOf, inventoryJson, statusJson } from "./cluster-status.ts";
import { type ClusterView, createClusterView } from "./cluster-view.ts";
import { type ClusterParts, clusterConditions } from "./conditions.ts";
import { createHealthKeeper, type HealthKeeper } from "./health/health-keeper.ts";
import { measureHealth } from "./health/health-metrics.ts";
import type { HealthView } from "./health/lease-health.ts";
import { createClusterSide } from "./leases/cluster-side.ts";
import type { HostnameFeed } from "./leases/hostnames/hostname-feed.ts";
import { measureHostnames } from "./leases/hostnames/hostname-metrics.ts";
import { leaseAnswers } from "./leases/lease-answers.ts";
import { type CloseRequest, type Closing, closeLease, reclaimLease, runningLease } from "./leases/lease-closing.ts";
import { createLeaseKeeper, type LeaseKeeper } from "./leases/lease-keeper.ts";
import { type LeaseLine, leaseLines } from "./leases/lease-lines.ts";
import { measureLeases } from "./leases/lease-metrics.ts";
import { type LeaseOptions, leaseDefaults } from "./leases/lease-options.ts";
import type { LeaseOccurrence } from "./leases/occurrences/lease-history.ts";
import { createOccurrenceKeeper, type OccurrenceKeeper } from "./leases/occurrences/occurrence-keeper.ts";
import { measureOccurrences } from "./leases/occurrences/occurrence-metrics.ts";
import { createReclaimer, measureReclaimer, type Reclaimer } from "./leases/reclaimer.ts";
import { measureDrift } from "./leases/reconcile/drift-metrics.ts";
import { reconcileAnswers } from "./leases/reconcile/reconcile-answers.ts";
import { createReconciler, type Reconciler } from "./leases/reconcile/reconciler.ts";
import { createTenantLeases } from "./leases/tenant-leases.ts";
import { createTenantPods } from "./leases/tenant-pods/tenant-pods.ts";
import { usageOf } from "./leases/usage/lease-usage.ts";
import { createUsageReading } from "./leases/usage/usage-reading.ts";
import { createStatusPublisher } from "./status-publisher.ts";

export interface ClusterOptions {
  readonly overcommit: Overcommit;
  readonly leases?: Partial<LeaseOptions>;
}

/** What others need of it. */
export interface Cluster {
  readonly capacity: ClusterCapacity;
  /** What manifests are checked against and rebuilt from. */
  readonly side: ReturnType<typeof createClusterSide>;
  readonly health: HealthView;
  /** What strangers may know of it. */
  readonly view: ClusterView;
  /** What tenants may ask of their leases. */
  readonly tenants: ReturnType<typeof createTenantLeases>;
  /** What tenants may follow of them. */
  readonly pods: ReturnType<typeof createTenantPods>;
  /** Every lease that has something in the cluster or waits for it. */
  leases(): readonly LeaseLine[];
  /** The same with what each uses, as far as that is known. */
  leasesInUse(): Promise<readonly LeaseLine[]>;
  /** By an operator. */
  closeLease(request: CloseRequest, signal: AbortSignal): Promise<Closing>;
  reclaimLease(request: CloseRequest, signal: AbortSignal): Promise<Closing>;
  /** Gives its workloads our newest pod templates. Of the lease, or of the order that it came from. */
  refreshLease(id: string, signal: AbortSignal): Promise<void>;
  /** Compares chain, cluster and journal now. */
  reconcile: Reconciler["reconcile"];
  /** What its tenant may know of what happened to a lease, the newest last; also of one that is gone, for a while. */
  occurrencesOf(leaseKey: string): readonly LeaseOccurrence[];
}

interface ClusterGround {
  readonly chain: Promise<Chain>;
  readonly kube: Promise<Kube>;
  readonly bus: Promise<Bus>;
  readonly journal: Promise<Journal>;
  /** Where pictures of the cluster come from; this service runs it. */
  readonly inventory: InventoryFeed;
  /** Undefined where IP addresses are not leased. */
  readonly ipOperator: IpOperatorClient | undefined;
  /** Who says how host names are doing; this service runs it. */
  readonly hostnameFeed?: HostnameFeed | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

type ClusterService = GroundService<Cluster, ClusterDocument>;

export function createClusterService({ overcommit, leases }: ClusterOptions, ground: ClusterGround): ClusterService {
  const { inventory, ipOperator, hostnameFeed, clock, random } = ground;
  const log = ground.log.with({ module: "cluster" });
  const { promise: opened, resolve } = Promise.withResolvers<Cluster>();
  let running: Running | undefined;
  let lastDocument: ClusterDocument | undefined;
  const queues: ReturnType<typeof createQueue>[] = [];

  const lookNow = () => running && documentOf(running);

  return {
    name: "cluster",
    waitsForOthers: true,
    async start(scope) {
      const [chain, journal, bus, kube] = await Promise.all([ground.chain, ground.journal, ground.bus, ground.kube]);
      const own = createCapacityKeeper({
        ...{ chain, journal, kube, inventory, ipOperator, overcommit, clock, log },
        addressSharing: leases?.addressSharing,
      });
      const queue = createQueue({ name: "reservations", work: own.look, clock, random, log });
      queues.push(queue);
      const hasHosts = () => leaseKeeper.hostnames.trouble === undefined && [...leaseKeeper.states.all()].some(hasHost);
      const hasHost = ([lease]: readonly [string, unknown]) => leaseKeeper.hostnames.hostsOf(lease).length > 0;
      const parts = () => ({ keeper: own, leaseKeeper, health, reconciler, ipOperator, hostnameFeed, hasHosts });
      const publisher = createStatusPublisher({
        read: () => documentOf(parts()),
        publish(document) {
          bus.publish("akash.provider.inventory.status", inventoryJson(document), { retain: true });
          bus.publish("akash.provider.cluster.status", statusJson(document), { retain: true });
        },
        clock,
      });
      const options = { ...leaseDefaults, ...leases, overcommit };
      const leaseKeeper = createLeaseKeeper({
        ...{ chain, journal, kube, clock, random, log, options },
        onChange: publisher.changed,
      });
      const reconciler = createReconciler({
        ...{ chain, journal, kube, clock, log, leases: leaseKeeper, capacity: own },
        manifestNamespace: options.manifestNamespace,
        onChange: publisher.changed,
      });
      const health = createHealthKeeper({
        ...{ chain, journal, kube, clock, random, log, options },
        leases: leaseKeeper,
        pods: own.pods,
        claims: own.claims,
      });
      health.onChange((lease, now, before) => {
        publisher.changed();
        if (now?.state === before?.state) return;
        bus.publish("akash.provider.event.lease", { kind: "LeaseHealthChanged", lease });
      });
      const reclaimer = createReclaimer({ chain, journal, clock, random, log });
      const closing = { chain, journal, hostsOf: leaseKeeper.hostnames.hostsOf, log };
      const occurrences = createOccurrenceKeeper({
        ...{ chain, journal, kube, clock, random, log },
        ...{ live: leaseKeeper.live, leaseIn: leaseKeeper.leaseIn, health },
        trouble: () => mirrorTrouble(chain.mirror) ?? leaseKeeper.trouble,
      });
      queues.push(leaseKeeper.queue, health.queue, reclaimer.queue, ...occurrences.queues);
      own.onChange(publisher.changed);
      scope.onStop(publisher.stop);
      await own.open(scope, queue);
      scope.task("reservations", queue.run);
      leaseKeeper.open(scope);
      health.open(scope);
      reclaimer.open(scope);
      scope.task("reconcile", reconciler.run);
      if (hostnameFeed) scope.task("hostname operator", hostnameFeed.run);
      occurrences.open(scope);
      running = { ...parts(), reclaimer, occurrences };
      const readUsage = createUsageReading({ kube, clock, log });
      const tenants = createTenantLeases({
        ...{ chain, leases: leaseKeeper, health: health.view, clock },
        leasesAddresses: ipOperator !== undefined,
        staticHosts: options.hosts,
        hostHealth: (host) => hostnameFeed?.of(host),
        publicHost: options.clusterPublicHostname,
      });
      const pods = createTenantPods({
        ...{ occurrences, leases: tenants, live: leaseKeeper.live, kube, pods: own.pods, clock, random, log },
      });
      scope.onStop(pods.close);
      const lines = () => leaseLines(leaseKeeper, health, chain, (host) => hostnameFeed?.of(host));
      resolve({
        capacity: own.capacity,
        side: createClusterSide(leaseKeeper),
        health: health.view,
        view: createClusterView({ keeper: own, leaseKeeper, provider: chain.provider }),
        tenants,
        pods,
        leases: lines,
        async leasesInUse() {
          const reading = await readUsage();
          return lines().map((line) => ({ ...line, ...usageOf(line, reading, chain.mirror) }));
        },
        closeLease: (request, signal) => closeLease(request, closing, signal),
        reclaimLease: (request, signal) => reclaimLease(request, closing, signal),
        async refreshLease(given, signal) {
          const { id } = await runningLease(given, chain, signal);
          await leaseKeeper.refresh(formatLeaseId(id), signal);
        },
        reconcile: reconciler.reconcile,
        occurrencesOf: occurrences.of,
      });
      // Whoever asks after the end gets the last word; the journal is closed by then.
      scope.onStop(() => {
        lastDocument = lookNow();
      });
    },
    opened,
    queues,
    detail() {
      if (!running) return "";
      const { book, leases, picture } = running.keeper;
      const nodes = book.picture?.nodes.length ?? 0;
      const wrong = picture.trouble ?? running.leaseKeeper.trouble;
      return wrong ?? `${nodes} nodes, ${leases} leases, ${book.size} reservations`;
    },
    status: () => lastDocument ?? lookNow(),
    *conditions() {
      if (running) yield* clusterConditions(running);
    },
    answers: { ...leaseAnswers(opened), ...reconcileAnswers(opened) },
    measure(metrics) {
      if (!running) return;
      const { keeper, leaseKeeper, health, reclaimer, reconciler, occurrences } = running;
      measureCluster(metrics, keeper);
      measureLeases(metrics, leaseKeeper);
      measureHealth(metrics, health);
      measureReclaimer(metrics, reclaimer);
      measureDrift(metrics, reconciler, clock);
      measureOccurrences(metrics, occurrences);
      measureFeed(metrics, inventory);
      measureAddresses(metrics, keeper.pool);
      measureHostnames(metrics, hostnameFeed);
    },
  };
}

interface Running extends ClusterParts {
  readonly keeper: CapacityKeeper;
  readonly leaseKeeper: LeaseKeeper;
  readonly health: HealthKeeper;
  readonly reclaimer: Reclaimer;
  readonly reconciler: Reconciler;
  readonly occurrences: OccurrenceKeeper;
}
