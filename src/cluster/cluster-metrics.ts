/** The metrics of the cluster service. Those named provider_* are the network's: its labels, cpu in cores, a GPU as one. */
import { addTo } from "../market/group-totals.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { measureAddresses } from "./capacity/addresses/address-pool.ts";
import { type InventoryFeed, measureFeed } from "./capacity/inventory/feed.ts";
import { type ResourceSum, resourceSums } from "./capacity/inventory-status.ts";
import { gpuAt, nodeResources } from "./capacity/placement/room.ts";
import type { Book } from "./capacity/reservations/book.ts";
import { conditionsOf, reservationConditionTypes } from "./capacity/reservations/upkeep.ts";
import type { ClusterParts } from "./cluster-parts.ts";
import { countEach, countHealth, countStates } from "./cluster-status.ts";
import type { HealthKeeper } from "./health/health-keeper.ts";
import { healthReasons } from "./health/lease-health.ts";
import { hostHealthWords } from "./leases/declarations/hostname-feed.ts";
import { isFailing, type LeaseStatus } from "./leases/lease-states.ts";
import { driftKinds } from "./leases/reconcile/drift.ts";

type Parts = Omit<ClusterParts, "inventory"> & { readonly inventory: InventoryFeed; readonly clock: Clock };

export function measureCluster(metrics: Metrics, parts: Parts): void {
  measureReservations(metrics, parts);
  measureLeases(metrics, parts);
  measureHealth(metrics, parts.health);
  measureDrift(metrics, parts);
  measureFeed(metrics, parts.inventory);
  measureAddresses(metrics, parts.keeper.pool);
  measureHostnames(metrics, parts);
}

/** By its labels' values, which stand before the number. */
type Sample = readonly [...labels: string[], value: number];

function measureTable(
  metrics: Metrics,
  kind: "counter" | "gauge",
  [name, help, ...labels]: readonly [name: string, help: string, ...labels: string[]],
  samples: () => readonly Sample[],
): void {
  metrics.read({ name, help, kind, labels, clusterNames: labels.includes("quantity") }, () =>
    samples().map((sample) => [
      Object.fromEntries(labels.map((label, at) => [label, String(sample[at])])),
      Number(sample.at(-1)),
    ]),
  );
}

function measureReservations(metrics: Metrics, { keeper: { book, reservations, addresses } }: Parts): void {
  const { counts, durations } = reservations;
  const requests = ["provider_inventory_requests", "Requests to the inventory by action and result"] as const;
  measureTable(metrics, "counter", [...requests, "action", "result"], () => [
    ["reserve", "create", counts.created],
    ["reserve", "insufficient-capacity", counts.rejected],
    ["lookup", "found", counts.fitting],
    ["lookup", "not-found", counts.misfitting],
    ["unreserve", "destroyed", counts.released],
    ["unreserve", "not-found", counts.releasedNothing],
  ]);
  const opened = ["provider_reservation", "Reservations opened and closed"] as const;
  measureTable(metrics, "counter", [...opened, "action", "result"], () => [
    ["open", "success", counts.created],
    ["open", "fail", counts.rejected],
    ["close", "success", counts.released],
  ]);
  metrics.readHistogram({ name: "provider_reservation_duration", help: "Time to reserve, in microseconds" }, durations);
  const sums = [
    "provider_inventory_reservations_total",
    "Reservations: how many, and what those take that the inventory counts already (active) or not yet (pending)",
  ] as const;
  measureTable(metrics, "gauge", [...sums, "classification", "quantity"], () => reservationSums(book));
  const conditions = [
    "akash_provider_reservation_conditions",
    "Replicas that are promised and have no node, and nodes and storage classes that are promised twice, and spare volumes",
  ] as const;
  measureTable(metrics, "gauge", [...conditions, "type"], () =>
    Object.entries(countEach(reservationConditionTypes, conditionsOf(book), ({ type }) => type)),
  );
  const allocatable = ["provider_inventory_allocatable_total", "Capacity: cores, bytes, gpus, nodes"] as const;
  measureTable(metrics, "gauge", [...allocatable, "quantity"], () => [
    ["nodes", book.snapshot?.nodes.length ?? 0],
    ...quantities(resourceSums(book), ({ allocatable }) => allocatable),
    ["endpoints", Number(addresses.total)],
  ]);
  const available = ["provider_inventory_available_total", "Capacity left to sell: cores, bytes, gpus"] as const;
  measureTable(metrics, "gauge", [...available, "quantity"], () => [
    ...quantities(resourceSums(book), ({ free }) => free),
    ["endpoints", Number(addresses.left)],
  ]);
}

/** Without the models of gpus: the network has no word for them here, and they would add up to more than there are. */
function quantities(sums: readonly ResourceSum[], amount: (sum: ResourceSum) => bigint): Sample[] {
  const shown = sums.filter(({ resource }) => !resource.startsWith("gpu "));
  return shown.map((sum) => [sum.resource, inUnits(sum.resource, amount(sum))]);
}

function inUnits(resource: string, amount: bigint): number {
  return resource === "cpu" ? Number(amount) / 1_000 : Number(amount);
}

function reservationSums(book: Book): Sample[] {
  const sums = { active: new Map<string, bigint>(), pending: new Map<string, bigint>() };
  let allocated = 0;
  for (const { replicas, addresses } of book.all()) {
    const isActive = replicas.every(({ onNode }) => onNode.inSnapshot);
    if (isActive) allocated += 1;
    const sum = isActive ? sums.active : sums.pending;
    for (const { onNode } of replicas) {
      const amounts = nodeResources.slice(0, gpuAt + 1).entries();
      for (const [at, resource] of amounts) addTo(sum, resource, onNode.claim.amounts[at] ?? 0n);
    }
    addTo(sum, "endpoints", BigInt(addresses));
  }
  return [
    ["none", "quantity", book.size],
    ["none", "allocated", allocated],
    ...Object.entries(sums).flatMap(([classification, sum]) =>
      Array.from(sum, ([quantity, amount]): Sample => [classification, quantity, inUnits(quantity, amount)]),
    ),
  ];
}

function measureLeases(metrics: Metrics, { leaseKeeper, reclaimer, leaseEvents: { counts, recorded } }: Parts): void {
  const { states } = leaseKeeper;
  const count = (of: (state: LeaseStatus) => unknown) => () =>
    [...states.lastKnown()].filter(([, state]) => of(state)).length;
  metrics.readEach("gauge", "provider", [
    ["deployment_manager", "Leases that have something in the cluster or wait for it", () => states.size],
  ]);
  const deployments = ["provider_deployment", "Manifests applied to the cluster, and leases torn down"] as const;
  measureTable(metrics, "counter", [...deployments, "action", "result"], () =>
    Object.entries(states.tally).flatMap(([action, results]) =>
      Object.entries(results).map(([result, times]): Sample => [action, result, times]),
    ),
  );
  measureTable(metrics, "gauge", ["akash_provider_leases", "Leases by state", "state"], () =>
    Object.entries(countStates(leaseKeeper)),
  );
  const withheld =
    "Leases that want a host name or a port of an address that another tenant has, or that is not allowed";
  const failing = "Leases whose manifest cannot be applied to the cluster now, for no fault of their tenants";
  const reclaiming =
    "Leases whose tenants were notified that they end, and that are closed when the agreed time has passed";
  metrics.readEach("gauge", "akash_provider_leases", [
    ["known", "1 if workload caches are synced", () => (leaseKeeper.error === undefined ? 1 : 0)],
    ["withheld", withheld, count(({ heldByOthers }) => heldByOthers)],
    ["without_address", "Leases with an endpoint that has no IP address yet", count(({ addressless }) => addressless)],
    ["failing", failing, count(isFailing)],
    ["reclaiming", reclaiming, () => reclaimer.size],
  ]);
  metrics.readEach("counter", "akash_provider_lease_events", [
    ["seen", "Events of our leases' namespaces seen", () => counts.seen],
    ["kept", "Events of leases written to the journal", () => counts.kept],
    ["written", "Events written to the cluster", () => recorded.written],
    ["failed", "Events that could not be written to the cluster", () => recorded.failed],
  ]);
}

export function measureHealth(metrics: Metrics, health: HealthKeeper): void {
  const name = "akash_provider_lease";
  measureTable(metrics, "gauge", [`${name}_health`, "Leases that run something, by health", "state"], () =>
    Object.entries(countHealth(health)),
  );
  const held = "1 while no unhealthy lease is closed, because leases of many owners are unhealthy at once";
  metrics.readEach("gauge", name, [["closing_held", held, () => (health.circuitBreaker() === undefined ? 0 : 1)]]);
  const reasons = [`${name}_troubles`, "Replicas of leases that are not ready, by reason", "reason"] as const;
  measureTable(metrics, "gauge", reasons, () => {
    const counts = countEach(healthReasons, [], () => "NotReady");
    for (const [, { troubles }] of health.all())
      for (const { reason, replicas } of troubles) counts[reason] += replicas;
    return Object.entries(counts);
  });
}

function measureDrift(metrics: Metrics, { reconciler, clock }: Parts): void {
  const help = "Differences between chain, cluster and journal that the last reconcile found, by kind";
  measureTable(metrics, "gauge", ["akash_provider_drift", help, "kind"], () =>
    Object.entries(countEach(Object.keys(driftKinds), reconciler.drifts(), ({ kind }) => kind)),
  );
  const ageS = () => (reconciler.last ? (clock.now() - reconciler.last.atMs) / 1_000 : []);
  metrics.readEach("gauge", "akash_provider_reconcile", [
    ["age_seconds", "Time since the last reconcile; absent until one was done", ageS],
    ["seconds", "Duration of the last comparison of chain, cluster and journal", () => reconciler.checkMs / 1_000],
  ]);
}

function measureHostnames(metrics: Metrics, { hostnameFeed: feed }: Parts): void {
  const name = "akash_provider_hostnames";
  const help = "Host names of leases, by what the hostname operator says of them; absent while it is not followed";
  measureTable(metrics, "gauge", [name, help, "health"], () =>
    feed?.isConnected ? Object.entries(countEach(hostHealthWords, feed.all(), ({ health }) => health)) : [],
  );
  metrics.readEach("gauge", name, [
    ["unwell", "Host names that have not been served or healthy for five minutes", () => feed?.unhealthy().length ?? 0],
  ]);
}
