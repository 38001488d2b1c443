/** The cluster as unauthenticated clients may see it: how much runs, what is promised, what is free. From memory alone. */

import type { Address } from "../market/address.ts";
import type { ClusterSummary } from "../market/cluster-summary.ts";
import { ephemeralClass, storageOf, totalOf } from "../market/group-totals.ts";
import { bidOn, formatLeaseId, parseOrderId } from "../market/ids.ts";
import type { CapacityKeeper } from "./capacity/capacity-keeper.ts";
import type { Amount, ClusterSnapshot, SnapshotNode } from "./capacity/inventory/feed.ts";
import { endless, nodeResources, type Room } from "./capacity/placement/room.ts";
import { type Reservation, unitsOf } from "./capacity/reservations/reservation.ts";
import type { LeaseKeeper } from "./leases/lease-loop.ts";
import type { LeaseStatus } from "./leases/lease-states.ts";

/** In which something of a lease is in the cluster, or on its way there. */
const atWork: ReadonlySet<LeaseStatus["state"]> = new Set(["deploying", "deployed", "refused", "closing", "frozen"]);

export function createClusterView(keeper: CapacityKeeper, leaseKeeper: LeaseKeeper, provider: Address): ClusterSummary {
  const { book } = keeper;
  const { states } = leaseKeeper;
  // What is promised to an order never changes, and there may be a thousand of them to add up several times a second.
  const known = new WeakMap<Reservation, { readonly lease: string; readonly promised: ReturnType<typeof sumOf> }>();

  function summed(reservation: Reservation) {
    const lease = () => formatLeaseId(bidOn(parseOrderId(reservation.orderId), provider));
    const sums = known.get(reservation) ?? { lease: lease(), promised: sumOf(reservation) };
    known.set(reservation, sums);
    return sums;
  }

  return {
    /** That have something in the cluster, or on its way there. */
    get leases(): number {
      let count = 0;
      for (const [, { state }] of states.lastKnown()) if (atWork.has(state)) count += 1;
      return count;
    },

    /** Each is the same object for as long as it is promised. */
    *reservations() {
      for (const reservation of book.all()) {
        const { lease, promised } = summed(reservation);
        const isBound = reservation.replicas.some(({ onNode }) => onNode.carrier !== undefined);
        yield { isActive: isBound || states.get(lease)?.state === "deployed", promised };
      }
    },

    /** By name. What is free is below zero where a node is overbooked. */
    *nodes() {
      for (const node of book.snapshot?.nodes ?? []) {
        yield { name: node.name, allocatable: allocatableOf(node), free: freeOf(book.room, node.name) };
      }
    },

    /** Free bytes of each class. */
    *storage() {
      for (const [name, free] of book.room.classes) yield { class: name, free };
    },

    /** All that is known of nodes and classes, in the network's words. */
    get inventoryMessage() {
      const { snapshot } = book;
      const message = snapshot && (messages.get(snapshot) ?? snapshot.network?.());
      if (message) messages.set(snapshot, message);
      return message;
    },

    get addresses() {
      return keeper.addresses;
    },

    /** How current nodes and classes are: by the snapshot, and by the pods that are not in it yet. */
    get inventory() {
      const { ageMs, error } = keeper.inventory;
      const podsAgeMs = keeper.pods.cache?.ageMs ?? 0;
      return { ageMs: ageMs === undefined ? undefined : Math.max(ageMs, podsAgeMs), error };
    },

    /** The same of leases. */
    get workloads() {
      const podsAgeMs = keeper.pods.cache?.ageMs;
      const ageMs = podsAgeMs === undefined ? undefined : Math.max(podsAgeMs, leaseKeeper.live.ageMs);
      return { ageMs, error: leaseKeeper.error };
    },
  };
}

function sumOf(reservation: Reservation) {
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

const messages = new WeakMap<ClusterSnapshot, Uint8Array>();

function allocatableOf({ cpuMilli, gpus, memoryBytes, ephemeralBytes }: SnapshotNode) {
  return {
    cpuMilli: allocatable(cpuMilli),
    gpus: allocatable(gpus),
    memoryBytes: allocatable(memoryBytes),
    ephemeralBytes: allocatable(ephemeralBytes),
  };
}

function allocatable({ allocatable }: Amount): bigint {
  return allocatable === "unlimited" ? endless : allocatable;
}

function freeOf(room: Room, name: string) {
  const { free } = room.node(name) ?? {};
  const of = (resource: (typeof nodeResources)[number]) => free?.[nodeResources.indexOf(resource)] ?? 0n;
  return { cpuMilli: of("cpu"), gpus: of("gpu"), memoryBytes: of("memory"), ephemeralBytes: of("storage-ephemeral") };
}
