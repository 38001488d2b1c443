/** The cluster as strangers may see it: how much runs, what is promised, what is free. From memory alone, whoever is down. */

import type { Address } from "../market/address.ts";
import type { ClusterSummary, PromisedAmounts, StatusAmounts } from "../market/cluster-summary.ts";
import { ephemeralClass, storageOf, totalOf } from "../market/group-totals.ts";
import { bidOn, formatLeaseId, parseOrderId } from "../market/ids.ts";
import { formatBytes, formatCount, formatCpuMilli } from "../market/quantity.ts";
import { inventoryV1Cluster } from "../runtime/grpc/akash-proto.ts";
import type { Decoded } from "../runtime/protobuf.ts";
import type { CapacityKeeper } from "./capacity/capacity-keeper.ts";
import type { Amount, ClusterSnapshot, SnapshotNode } from "./capacity/inventory/feed.ts";
import { endless, nodeResources, type Room } from "./capacity/placement/room.ts";
import { type Reservation, unitsOf } from "./capacity/reservations/reservation.ts";
import type { LeaseKeeper } from "./leases/lease-loop.ts";
import type { LeaseStatus } from "./leases/lease-states.ts";

/** In which something of a lease is in the cluster, or on its way there. */
const atWork: ReadonlySet<LeaseStatus["state"]> = new Set(["deploying", "deployed", "refused", "closing", "frozen"]);

interface ViewDeps {
  readonly keeper: Pick<CapacityKeeper, "addresses" | "book" | "inventory" | "pods">;
  readonly leaseKeeper: Pick<LeaseKeeper, "live" | "states" | "trouble">;
  readonly provider: Address;
}

export function createClusterView({ keeper, leaseKeeper, provider }: ViewDeps): ClusterSummary {
  const { book } = keeper;
  const { states } = leaseKeeper;
  // What is promised to an order never changes, and there may be a thousand of them to add up several times a second.
  const promised = new WeakMap<Reservation, PromisedAmounts>();
  const leases = new WeakMap<Reservation, string>();

  function isActive(reservation: Reservation): boolean {
    const lease = leases.get(reservation) ?? formatLeaseId(bidOn(parseOrderId(reservation.orderId), provider));
    leases.set(reservation, lease);
    if (states.get(lease)?.state === "deployed") return true;
    return reservation.replicas.some(({ onNode }) => onNode.carrier !== undefined);
  }

  return {
    /** That have something in the cluster, or on its way there. */
    get leases(): number {
      let count = 0;
      for (const [, { state }] of states.lastKnown()) if (atWork.has(state)) count += 1;
      return count;
    },

    /** Each is the same object for as long as it is promised. */
    *reservations(): Iterable<{ readonly isActive: boolean; readonly promised: PromisedAmounts }> {
      for (const reservation of book.all()) {
        const sums = promised.get(reservation) ?? sumOf(reservation);
        promised.set(reservation, sums);
        yield { isActive: isActive(reservation), promised: sums };
      }
    },

    /** By name. What is free is below zero where a node is overbooked. */
    *nodes(): Iterable<{ readonly name: string; readonly allocatable: StatusAmounts; readonly free: StatusAmounts }> {
      const { room } = book;
      for (const node of book.snapshot?.nodes ?? []) {
        yield { name: node.name, allocatable: allocatableOf(node), free: freeOf(room, node.name) };
      }
    },

    /** Free bytes of each class. */
    *storage(): Iterable<{ readonly class: string; readonly free: bigint }> {
      for (const [name, free] of book.room.classes) yield { class: name, free };
    },

    /** All that is known of nodes and classes, in the network's words. */
    get inventoryMessage() {
      return book.snapshot && inventoryMessage(book.snapshot);
    },

    get addresses() {
      return keeper.addresses;
    },

    /** How far nodes and classes may be believed: by the picture, and by the pods that are not in it yet. */
    get inventory() {
      const { ageMs, error: trouble } = keeper.inventory;
      const podsAgeMs = keeper.pods.cache?.ageMs ?? 0;
      return { ageMs: ageMs === undefined ? undefined : Math.max(ageMs, podsAgeMs), trouble };
    },

    /** How far what is told of leases may be. */
    get workloads() {
      const podsAgeMs = keeper.pods.cache?.ageMs;
      const ageMs = podsAgeMs === undefined ? undefined : Math.max(podsAgeMs, leaseKeeper.live.ageMs);
      return { ageMs, trouble: leaseKeeper.trouble };
    },
  };
}

function sumOf(reservation: Reservation): PromisedAmounts {
  const units = unitsOf(reservation);
  const storage = storageOf(units);
  const ephemeralBytes = storage.get(ephemeralClass) ?? 0n;
  storage.delete(ephemeralClass);
  return {
    cpuMilli: totalOf(units, ({ cpu }) => cpu.milli),
    gpus: totalOf(units, ({ gpu }) => gpu.count),
    memoryBytes: totalOf(units, ({ memory }) => memory.bytes),
    ephemeralBytes,
    storage,
  };
}

const allocatables = new WeakMap<SnapshotNode, StatusAmounts>();

/** Nodes stay the same objects from picture to picture while nothing happens to them. */
function allocatableOf(node: SnapshotNode): StatusAmounts {
  const known = allocatables.get(node) ?? {
    cpuMilli: allocatable(node.cpuMilli),
    gpus: allocatable(node.gpus),
    memoryBytes: allocatable(node.memoryBytes),
    ephemeralBytes: allocatable(node.ephemeralBytes),
  };
  allocatables.set(node, known);
  return known;
}

function allocatable({ allocatable }: Amount): bigint {
  return allocatable === "unlimited" ? endless : allocatable;
}

const at = (name: (typeof nodeResources)[number]) => nodeResources.indexOf(name);
const [cpuAt, memoryAt, ephemeralAt, gpuAt] = [at("cpu"), at("memory"), at("storage-ephemeral"), at("gpu")];

function freeOf(room: Room, name: string): StatusAmounts {
  const free = room.node(name)?.free ?? [];
  return {
    cpuMilli: free[cpuAt] ?? 0n,
    gpus: free[gpuAt] ?? 0n,
    memoryBytes: free[memoryAt] ?? 0n,
    ephemeralBytes: free[ephemeralAt] ?? 0n,
  };
}

/** The cluster's inventory as the network tells it: what the operator said, or what a picture of it holds where that is all there is. */
type Node = Decoded<typeof inventoryV1Cluster>["nodes"][number];

const known = new WeakMap<ClusterSnapshot, Uint8Array>();

function inventoryMessage(picture: ClusterSnapshot): Uint8Array {
  const message = known.get(picture) ?? picture.network?.() ?? ofPicture(picture);
  known.set(picture, message);
  return message;
}

function ofPicture({ nodes, storage }: ClusterSnapshot): Uint8Array {
  return inventoryV1Cluster.encode({
    nodes: nodes.map(nodeOf),
    storage: storage.map(({ class: name, bytes }) => ({
      quantity: pair(bytes, inBytes),
      info: { class: name, iops: "" },
    })),
  });
}

function nodeOf({ name, cpuMilli, memoryBytes, gpus, ephemeralBytes, volumes, storageClasses }: SnapshotNode): Node {
  return {
    name,
    resources: {
      cpu: { quantity: pair(cpuMilli, formatCpuMilli), info: [] },
      memory: { quantity: pair(memoryBytes, inBytes), info: [] },
      gpu: { quantity: pair(gpus, formatCount), info: [] },
      ephemeralStorage: pair(ephemeralBytes, inBytes),
      volumesAttached: pair(volumes, formatCount),
      volumesMounted: pair({ allocatable: 0n, allocated: 0n }, formatCount),
    },
    capabilities: { storageClasses: [...storageClasses] },
  };
}

function inBytes(bytes: bigint): string {
  return formatBytes(bytes, "DecimalSI");
}

/** Without an end is −1 there. How much there is in all is told nowhere else, so it is what may be given. */
function pair({ allocatable, allocated }: Amount, show: (amount: bigint) => string) {
  const there = { string: allocatable === "unlimited" ? "-1" : show(allocatable) };
  return { allocatable: there, allocated: { string: show(allocated) }, attributes: [], capacity: there };
}
