/** The network's metrics of the inventory and of reservations: its names, its labels, cpu in cores, a gpu as one. */
import { addTo } from "../market/group-totals.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { type ResourceSum, resourceSums } from "./capacity/inventory-status.ts";
import { gpuAt, nodeResources } from "./capacity/placement/room.ts";
import type { Book } from "./capacity/reservations/book.ts";
import type { Reservation } from "./capacity/reservations/reservation.ts";
import type { AddressBook, Reservations } from "./capacity/reservations/reservations.ts";
import { conditionsOf, reservationConditionTypes } from "./capacity/reservations/upkeep.ts";

interface Measured {
  readonly book: Book;
  readonly reservations: Reservations;
  readonly addresses: AddressBook;
}

export function measureCluster(metrics: Metrics, { book, reservations, addresses }: Measured): void {
  const { counts, durations } = reservations;
  metrics.read(
    {
      name: "provider_inventory_requests",
      help: "Requests to the inventory by action and result",
      kind: "counter",
      labels: ["action", "result"],
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
    {
      name: "provider_reservation",
      help: "Reservations opened and closed",
      kind: "counter",
      labels: ["action", "result"],
    },
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
  metrics.read(
    {
      name: "akash_provider_reservation_conditions",
      help: "Replicas that are promised and have no node, and nodes and storage classes that are promised twice, and spare volumes",
      kind: "gauge",
      labels: ["type"],
    },
    () => {
      const types = conditionsOf(book).map(({ type }) => type);
      return reservationConditionTypes.map((type) => [{ type }, types.filter((each) => each === type).length]);
    },
  );
  const quantity = { kind: "gauge", labels: ["quantity"], clusterNames: true } as const;
  metrics.read(
    { name: "provider_inventory_allocatable_total", help: "Capacity: cores, bytes, gpus, nodes", ...quantity },
    () => [
      [{ quantity: "nodes" }, book.picture?.nodes.length ?? 0],
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
    const isActive = reservation.replicas.every(({ onNode }) => onNode.inPicture);
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
