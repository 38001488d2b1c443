/** The metrics of the cluster service. Those named provider_* are the network's: its labels, cpu in cores, a GPU as one. */
import { addTo } from "../market/group-totals.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { measureAddresses } from "./capacity/addresses/address-pool.ts";
import type { CapacityKeeper } from "./capacity/capacity-keeper.ts";
import { type InventoryFeed, measureFeed } from "./capacity/inventory/feed.ts";
import { type ResourceSum, resourceSums } from "./capacity/inventory-status.ts";
import { gpuAt, nodeResources } from "./capacity/placement/room.ts";
import type { Book } from "./capacity/reservations/book.ts";
import type { Reservation } from "./capacity/reservations/reservation.ts";
import { conditionsOf, reservationConditionTypes } from "./capacity/reservations/upkeep.ts";
import type { ClusterParts } from "./cluster-parts.ts";
import { countEach, countHealth, countStates } from "./cluster-status.ts";
import type { HealthKeeper } from "./health/health-keeper.ts";
import { troubleReasons } from "./health/lease-health.ts";
import { type HostnameFeed, hostHealthWords } from "./leases/declarations/hostname-feed.ts";
import type { LeaseKeeper } from "./leases/lease-loop.ts";
import { isFailing, type LeaseStatus } from "./leases/lease-states.ts";
import type { OccurrenceKeeper } from "./leases/occurrences/occurrence-keeper.ts";
import { driftKinds } from "./leases/reconcile/drift.ts";
import type { Reconciler } from "./leases/reconcile/reconciler.ts";

type ClusterMetricsDeps = Omit<ClusterParts, "inventory"> & {
  readonly inventory: InventoryFeed;
  readonly clock: Clock;
};

export function measureCluster(metrics: Metrics, parts: ClusterMetricsDeps): void {
  const { keeper, leaseKeeper, health, reconciler, reclaimer, occurrences, inventory, hostnameFeed, clock } = parts;
  measureReservations(metrics, keeper);
  measureCapacity(metrics, keeper);
  measureLeases(metrics, leaseKeeper);
  measureHealth(metrics, health);
  metrics.readEach("gauge", "akash_provider_leases", [
    [
      "reclaiming",
      "Leases whose tenants were told that they end, and that are closed when the agreed time has passed",
      () => reclaimer.size,
    ],
  ]);
  measureDrift(metrics, reconciler, clock);
  measureOccurrences(metrics, occurrences);
  measureFeed(metrics, inventory);
  measureAddresses(metrics, keeper.pool);
  measureHostnames(metrics, hostnameFeed);
}

/** A gauge with one label: how many there are of each of its values. */
function measureCounts(
  metrics: Metrics,
  name: string,
  help: string,
  label: string,
  counts: () => Readonly<Record<string, number>>,
): void {
  metrics.read({ name, help, kind: "gauge", labels: [label] }, () =>
    Object.entries(counts()).map(([value, count]) => [{ [label]: value }, count] as const),
  );
}

function measureReservations(metrics: Metrics, { book, reservations }: CapacityKeeper): void {
  const { counts, durations } = reservations;
  const labels = ["action", "result"] as const;
  metrics.read(
    {
      name: "provider_inventory_requests",
      help: "Requests to the inventory by action and result",
      kind: "counter",
      labels,
    },
    () => [
      [{ action: "reserve", result: "create" }, counts.created],
      [{ action: "reserve", result: "insufficient-capacity" }, counts.refused],
      [{ action: "lookup", result: "found" }, counts.fitting],
      [{ action: "lookup", result: "not-found" }, counts.misfitting],
      [{ action: "unreserve", result: "destroyed" }, counts.released],
      [{ action: "unreserve", result: "not-found" }, counts.releasedNothing],
    ],
  );
  metrics.read(
    { name: "provider_reservation", help: "Reservations opened and closed", kind: "counter", labels },
    () => [
      [{ action: "open", result: "success" }, counts.created],
      [{ action: "open", result: "fail" }, counts.refused],
      [{ action: "close", result: "success" }, counts.released],
    ],
  );
  metrics.readHistogram({ name: "provider_reservation_duration", help: "Time to reserve, in microseconds" }, durations);
  metrics.read(
    {
      name: "provider_inventory_reservations_total",
      help: "Reservations: how many, and what those take that the inventory counts already (active) or not yet (pending)",
      kind: "gauge",
      labels: ["classification", "quantity"],
    },
    () => reservationSums(book),
  );
  const conditionHelp =
    "Replicas that are promised and have no node, and nodes and storage classes that are promised twice, and spare volumes";
  measureCounts(metrics, "akash_provider_reservation_conditions", conditionHelp, "type", () =>
    countEach(reservationConditionTypes, conditionsOf(book), ({ type }) => type),
  );
}

function measureCapacity(metrics: Metrics, { book, addresses }: CapacityKeeper): void {
  const quantity = { kind: "gauge", labels: ["quantity"], clusterNames: true } as const;
  metrics.read(
    { name: "provider_inventory_allocatable_total", help: "Capacity: cores, bytes, gpus, nodes", ...quantity },
    () => [
      [{ quantity: "nodes" }, book.snapshot?.nodes.length ?? 0],
      ...quantities(resourceSums(book), ({ allocatable }) => allocatable),
      [{ quantity: "endpoints" }, Number(addresses.total)],
    ],
  );
  metrics.read(
    { name: "provider_inventory_available_total", help: "Capacity left to sell: cores, bytes, gpus", ...quantity },
    () => [...quantities(resourceSums(book), ({ free }) => free), [{ quantity: "endpoints" }, Number(addresses.left)]],
  );
}

/** Without the models of gpus: the network has no word for them here, and they would add up to more than there are. */
function quantities(sums: readonly ResourceSum[], amount: (sum: ResourceSum) => bigint) {
  return sums
    .filter(({ resource }) => !resource.startsWith("gpu "))
    .map((sum) => [{ quantity: sum.resource }, inUnits(sum.resource, amount(sum))] as const);
}

function inUnits(resource: string, amount: bigint): number {
  return resource === "cpu" ? Number(amount) / 1_000 : Number(amount);
}

function reservationSums(book: Book) {
  const sums = { active: new Map<string, bigint>(), pending: new Map<string, bigint>() };
  let allocated = 0;
  for (const reservation of book.all()) {
    const isActive = reservation.replicas.every(({ onNode }) => onNode.inSnapshot);
    if (isActive) allocated += 1;
    addReservation(isActive ? sums.active : sums.pending, reservation);
  }
  return [
    [{ classification: "none", quantity: "quantity" }, book.size] as const,
    [{ classification: "none", quantity: "allocated" }, allocated] as const,
    ...(["active", "pending"] as const).flatMap((classification) =>
      [...sums[classification]].map(
        ([quantity, amount]) => [{ classification, quantity }, inUnits(quantity, amount)] as const,
      ),
    ),
  ];
}

function addReservation(sum: Map<string, bigint>, { replicas, addresses }: Reservation): void {
  for (const { onNode } of replicas) {
    for (const [at, resource] of nodeResources.entries()) {
      if (at <= gpuAt) addTo(sum, resource, onNode.claim.amounts[at] ?? 0n);
    }
  }
  addTo(sum, "endpoints", BigInt(addresses));
}

function measureLeases(metrics: Metrics, keeper: LeaseKeeper): void {
  const { states } = keeper;
  const count = (of: (state: LeaseStatus) => unknown) => () =>
    [...states.lastKnown()].filter(([, state]) => of(state)).length;
  metrics.readEach("gauge", "provider", [
    ["deployment_manager", "Leases that have something in the cluster or wait for it", () => states.size],
  ]);
  metrics.read(
    {
      name: "provider_deployment",
      help: "Manifests brought to the cluster, and leases torn down",
      kind: "counter",
      labels: ["action", "result"],
    },
    () =>
      Object.entries(states.tally).flatMap(([action, results]) =>
        Object.entries(results).map(([result, times]) => [{ action, result }, times] as const),
      ),
  );
  measureCounts(metrics, "akash_provider_leases", "Leases by state", "state", () => countStates(keeper));
  metrics.readEach("gauge", "akash_provider_leases", [
    ["known", "1 if workload caches are synced", () => (keeper.trouble === undefined ? 1 : 0)],
    [
      "withheld",
      "Leases that want a host name or a port of an address that another tenant has, or that they may not have",
      count(({ heldByOthers }) => heldByOthers),
    ],
    ["without_address", "Leases with an endpoint that has no IP address yet", count(({ addressless }) => addressless)],
    [
      "failing",
      "Leases whose manifest cannot be brought to the cluster now, for no fault of their tenants",
      count(isFailing),
    ],
  ]);
}

export function measureHealth(metrics: Metrics, health: HealthKeeper): void {
  const name = "akash_provider_lease";
  measureCounts(metrics, `${name}_health`, "Leases that run something, by health", "state", () => countHealth(health));
  metrics.readEach("gauge", name, [
    [
      "closing_held",
      "1 while no unhealthy lease is closed, because leases of many owners are unhealthy at once",
      () => (health.brake() === undefined ? 0 : 1),
    ],
  ]);
  measureCounts(metrics, `${name}_troubles`, "Replicas of leases that are not ready, by reason", "reason", () => {
    const counts = countEach(troubleReasons, [], () => "NotReady");
    for (const [, { troubles }] of health.all())
      for (const { reason, replicas } of troubles) counts[reason] += replicas;
    return counts;
  });
}

function measureDrift(metrics: Metrics, reconciler: Reconciler, clock: Clock): void {
  const help = "Differences between chain, cluster and journal that the last reconcile found, by kind";
  measureCounts(metrics, "akash_provider_drift", help, "kind", () =>
    countEach(Object.keys(driftKinds), reconciler.drifts(), ({ kind }) => kind),
  );
  metrics.readEach("gauge", "akash_provider_reconcile", [
    [
      "age_seconds",
      "Time since the last reconcile; absent until one was done",
      () => (reconciler.last ? (clock.now() - reconciler.last.atMs) / 1_000 : []),
    ],
    ["seconds", "Duration of the last comparison of chain, cluster and journal", () => reconciler.checkMs / 1_000],
  ]);
}

function measureHostnames(metrics: Metrics, feed: HostnameFeed | undefined): void {
  const help = "Host names of leases, by what the hostname operator says of them; absent while it is not followed";
  measureCounts(metrics, "akash_provider_hostnames", help, "health", () =>
    feed?.isConnected ? countEach(hostHealthWords, feed.all(), ({ health }) => health) : {},
  );
  metrics.readEach("gauge", "akash_provider_hostnames", [
    ["unwell", "Host names that have not been served or healthy for five minutes", () => feed?.unwell().length ?? 0],
  ]);
}

function measureOccurrences(metrics: Metrics, { counts, recorded }: OccurrenceKeeper): void {
  metrics.readEach("counter", "akash_provider_lease_events", [
    ["seen", "Events of our leases' namespaces seen", () => counts.seen],
    ["kept", "Occurrences of leases written to the journal", () => counts.kept],
    ["written", "Events written to the cluster", () => recorded.written],
    ["failed", "Events that could not be written to the cluster", () => recorded.failed],
  ]);
}
