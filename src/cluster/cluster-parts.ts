/** What the cluster service consists of, how its parts are wired, and what each of the other services gets of them. */
import { type Chain, mirrorUnavailable } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import { kinds } from "../kube/kinds.ts";
import type { Kube } from "../kube/kube.ts";
import { readManifestResource } from "../kube/objects/read-manifest-resource.ts";
import type { Address } from "../market/address.ts";
import type { Overcommit } from "../market/fit.ts";
import { formatLeaseId, type LeaseId } from "../market/ids.ts";
import { leaseNamespace } from "../market/lease-namespace.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import type { Scope } from "../runtime/lifecycle.ts";
import { createQueue } from "../runtime/queue.ts";
import { checkKnown } from "./cache-error.ts";
import type { IpOperatorClient } from "./capacity/addresses/ip-operator.ts";
import { createCapacityKeeper } from "./capacity/capacity-keeper.ts";
import type { InventoryFeed } from "./capacity/inventory/feed.ts";
import { createClusterView } from "./cluster-view.ts";
import { createHealthKeeper } from "./health/health-keeper.ts";
import type { HostnameFeed } from "./leases/declarations/hostname-feed.ts";
import { createLeaseEventKeeper } from "./leases/events/lease-event-keeper.ts";
import { type CloseRequest, closeLease, createReclaimer, reclaimLease, runningLease } from "./leases/lease-closing.ts";
import { leaseLines } from "./leases/lease-lines.ts";
import { createLeaseKeeper, type LeaseKeeper } from "./leases/lease-loop.ts";
import { type LeaseOptions, leaseDefaults } from "./leases/lease-options.ts";
import { createUsageReading, usageOf } from "./leases/lease-usage.ts";
import { createReconciler } from "./leases/reconcile/reconciler.ts";
import { createTenantLeases } from "./leases/tenant-leases.ts";
import { createLeaseEvents } from "./leases/tenant-pods/lease-events.ts";
import { createLeaseLogs, createPodNews } from "./leases/tenant-pods/lease-logs.ts";
import { createLeaseShell } from "./leases/tenant-pods/lease-shell.ts";

export interface ClusterOptions {
  readonly overcommit: Overcommit;
  readonly leases?: Partial<LeaseOptions>;
}

export interface ClusterDeps extends RuntimeDeps {
  /** Where snapshots of the inventory come from; this service runs it. */
  readonly inventory: InventoryFeed;
  /** Undefined where IP addresses are not leased. */
  readonly ipOperator: IpOperatorClient | undefined;
  /** How host names are doing; this service runs it. */
  readonly hostnameFeed?: HostnameFeed | undefined;
}

interface OpenedDeps extends ClusterDeps {
  readonly chain: Chain;
  readonly kube: Kube;
  readonly journal: Journal;
}

export type ClusterParts = ReturnType<typeof createClusterParts>;

export function createClusterParts({ overcommit, leases }: ClusterOptions, deps: OpenedDeps, onChange: () => void) {
  const { chain, inventory, ipOperator, hostnameFeed } = deps;
  const options: LeaseOptions & ClusterOptions = { ...leaseDefaults, ...leases, overcommit };
  const { manifestNamespace } = options;
  const keeper = createCapacityKeeper({ ...deps, overcommit, addressSharing: leases?.addressSharing });
  const reservations = createQueue({ ...deps, name: "reservations", work: keeper.look });
  const leaseKeeper = createLeaseKeeper({ ...deps, options, onChange });
  const { live, hostnames, leaseIn } = leaseKeeper;
  const reconciler = createReconciler({ ...deps, leases: leaseKeeper, capacity: keeper, manifestNamespace, onChange });
  const { pods, claims } = keeper;
  const health = createHealthKeeper({ ...deps, options, leases: leaseKeeper, pods, claims });
  const reclaimer = createReclaimer(deps);
  const leaseEvents = createLeaseEventKeeper({
    ...{ ...deps, live, leaseIn, health },
    cacheError: () => mirrorUnavailable(chain.mirror) ?? leaseKeeper.error,
  });
  keeper.onChange(onChange);
  return {
    ...{ keeper, leaseKeeper, reconciler, health, reclaimer, leaseEvents },
    ...{ inventory, ipOperator, hostnameFeed, options },
    queues: [reservations, leaseKeeper.queue, health.queue, reclaimer.queue, ...leaseEvents.queues],
    hasHosts(): boolean {
      const hasHost = ([lease]: readonly [string, unknown]) => hostnames.hostsOf(lease).length > 0;
      return hostnames.error === undefined && [...leaseKeeper.states.all()].some(hasHost);
    },
    async open(scope: Scope): Promise<void> {
      await keeper.open(scope, reservations);
      scope.task("reservations", reservations.run);
      for (const part of [leaseKeeper, health, reclaimer]) part.open(scope);
      scope.task("reconcile", reconciler.run);
      if (hostnameFeed) scope.task("hostname operator", hostnameFeed.run);
      leaseEvents.open(scope);
    },
  };
}

/** What other services may ask of the cluster. */
export type Cluster = ReturnType<typeof createCluster>;

export function createCluster(parts: ClusterParts, deps: OpenedDeps) {
  const { keeper, leaseKeeper, health, reconciler, leaseEvents, ipOperator, hostnameFeed, options } = parts;
  const { chain } = deps;
  const { live, hostnames } = leaseKeeper;
  const hostHealth = (host: string) => hostnameFeed?.of(host);
  const closing = { ...deps, hostsOf: hostnames.hostsOf };
  const readUsage = createUsageReading(deps.kube, deps);
  const lines = () => leaseLines(leaseKeeper, health, chain, hostHealth);
  const tenants = createTenantLeases({
    ...{ ...deps, leases: leaseKeeper, health: health.view, hostHealth },
    leasesAddresses: ipOperator !== undefined,
    staticHosts: options.hosts,
    publicHost: options.clusterPublicHostname,
  });
  const { pods } = keeper;
  return {
    capacity: keeper.capacity,
    side: createClusterSide(leaseKeeper),
    health: health.view,
    view: createClusterView(keeper, leaseKeeper, chain.provider),
    tenants,
    pods: {
      events: createLeaseEvents(leaseEvents, tenants, live),
      ...createLeaseLogs(deps.kube, pods, createPodNews(pods)),
      ...createLeaseShell({ ...deps, pods }),
    },
    leases: lines,
    /** With what each uses, as far as that is known. */
    async leasesInUse() {
      const reading = await readUsage();
      return lines().map((line) => ({ ...line, ...usageOf(line, reading, chain.mirror) }));
    },
    closeLease: (request: CloseRequest, signal: AbortSignal) => closeLease(request, closing, signal),
    reclaimLease: (request: CloseRequest, signal: AbortSignal) => reclaimLease(request, closing, signal),
    /** Gives its workloads our newest pod templates. By the id of the lease, or of its order. */
    async refreshLease(given: string, signal: AbortSignal): Promise<void> {
      const { id } = await runningLease(given, chain, signal);
      await leaseKeeper.refresh(formatLeaseId(id), signal);
    },
    reconcile: reconciler.reconcile,
    /** What a tenant may know of what happened to a lease, the newest last; also of one that is gone, for a while. */
    eventsOf: leaseEvents.of,
  };
}

/** What manifests are checked against and rebuilt from: who has which host name, and what the cluster keeps of a lease. */
export function createClusterSide({ hostnames, live }: LeaseKeeper) {
  const checkHostsKnown = () => checkKnown(hostnames.error);
  return {
    checkHostsKnown,
    hostRejection(hosts: readonly string[], owner: Address): string | undefined {
      if (hosts.length > 0) checkHostsKnown();
      return hostnames.rejection(hosts, owner);
    },
    allowHosts: hostnames.allow,
    async recorded(lease: LeaseId) {
      checkKnown(live.errorOf(kinds.manifest));
      const resource = live.manifest(leaseNamespace(lease));
      return resource && readManifestResource(resource);
    },
    hasNamespace(lease: LeaseId): boolean {
      checkKnown(live.errorOf(kinds.namespace));
      return live.namespace(leaseNamespace(lease)) !== undefined;
    },
  };
}
