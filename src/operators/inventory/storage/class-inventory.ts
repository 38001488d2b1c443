/**
 * How the three amounts of a class fit together. Whoever reads them takes `allocatable − allocated` for what is still to
 * be had, and volumes are thin: a promise of 100 GiB may hold 1. So `allocated` is what was promised, and `allocatable`
 * is that plus the room the backend has left when it keeps all its promises. Nothing is subtracted twice. Of a room that
 * several draw from each is offered an equal part, since whoever reads them would sell the same room to each of them; the
 * parts are made anew with every volume, so that all of it can be sold.
 */

import { formatBytes } from "../../../market/quantity.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { type Amounts, assertSound, type NodeInventory, type StorageInventory } from "../inventory.ts";
import type { Caches } from "../staleness.ts";
import type { Driver, StorageClass } from "./storage-class.ts";
import type { VolumeSums } from "./volumes.ts";

/** A kind of storage that tells us more than Kubernetes itself knows. */
export interface Backend {
  /** The caches without which nothing can be said, and all of them. */
  readonly needed: Caches;
  readonly caches: Caches;
  /** With all classes of this backend that are sold, this one included: some may draw from the same disks. */
  inventory(storageClass: StorageClass, volumes: VolumeSums, sold: readonly StorageClass[]): StorageInventory;
  close(): Promise<void>;
}

/** What a backend has for a class. */
interface BackendSpace {
  readonly capacity: bigint;
  /** Negative when more was promised than can ever be kept. */
  readonly free: bigint;
  /** The other sold classes that draw from it. */
  readonly sharers?: readonly string[];
  readonly replicas?: number | undefined;
  readonly performance?: string | undefined;
  readonly conditions?: readonly Condition[];
}

export function inventoryOf(
  { name, provisioner }: StorageClass,
  driver: Driver,
  volumes: VolumeSums,
  space: BackendSpace,
): StorageInventory {
  const allocated = promisedOf(volumes, name);
  const { capacity, sharers = [], replicas, performance, conditions = [] } = space;
  // A debt is not shared: each that draws from the room shows what is missing of it.
  const free = space.free > 0n ? space.free / BigInt(1 + sharers.length) : space.free;
  const allocatable = allocated + free > 0n ? allocated + free : 0n;
  const bytes: Amounts = { capacity, allocatable, allocated };
  const told = [
    ...conditions,
    ...(sharers.length > 0 ? [roomShared(sharers)] : []),
    ...(free < 0n ? [overbooked(allocated, -free)] : []),
  ];
  assertSound(name, [bytes], told);
  return {
    class: name,
    driver,
    provisioner,
    bytes,
    ...(replicas === undefined ? {} : { replicas }),
    ...(performance === undefined ? {} : { performance }),
    conditions: told,
  };
}

function roomShared(sharers: readonly string[]): Condition {
  const message =
    `${sharers.join(", ")} ${sharers.length === 1 ? "lies" : "lie"} on the same disks, so each of the ${sharers.length + 1} ` +
    "is offered an equal part of what is left; to offer more of one, take the others from cluster_storage or give them " +
    "disks of their own";
  return condition("RoomShared", message);
}

function overbooked(allocated: bigint, missing: bigint): Condition {
  const message = `volumes of ${formatBytes(allocated)} were promised, and ${formatBytes(missing)} are missing to keep all promises`;
  return condition("Overbooked", message);
}

/** For a backend that has told nothing yet: the class is shown, and nothing of it is sold. */
export function unreadable(
  storageClass: StorageClass,
  driver: Driver,
  volumes: VolumeSums,
  message: string,
): StorageInventory {
  const { name, provisioner } = storageClass;
  const bytes = { capacity: 0n, allocatable: 0n, allocated: promisedOf(volumes, name) };
  return { class: name, driver, provisioner, bytes, conditions: [storageUnreadable(message)] };
}

function promisedOf({ ofClass }: VolumeSums, name: string): bigint {
  return ofClass.get(name)?.bytes ?? 0n;
}

export function storageUnreadable(message: string): Condition {
  return condition("StorageUnreadable", message);
}

export type NodeDisk = Pick<NodeInventory, "name" | "offered" | "storageClasses" | "ephemeralBytes">;

/**
 * Rancher local-path: a volume is a folder on the disk of one node, the same disk that ephemeral storage comes from. What
 * is left of the disk is offered in equal parts, so the class has as much of each node as that shows to be free for pods,
 * and the cluster's room is the sum over its nodes. Where local-path has a disk of its own, nobody tells its size, and the
 * node's disk stands for it.
 */
export function localPathInventory(
  storageClass: StorageClass,
  nodes: Iterable<NodeDisk>,
  volumes: VolumeSums,
): StorageInventory {
  const conditions: Condition[] = [diskShared];
  let capacity = 0n;
  let free = 0n;
  for (const { name, offered, storageClasses, ephemeralBytes } of nodes) {
    // The configuration keeps the class from it. A node that is not offered has no class at all, which says nothing.
    if (offered && !storageClasses.includes(storageClass.name)) continue;
    capacity += ephemeralBytes.capacity;
    // What lies on a node that is not offered neither gives room nor takes it from the others.
    if (!offered) continue;
    const room = ephemeralBytes.allocatable - ephemeralBytes.allocated;
    if (room > 0n) free += room;
    if (room < 0n)
      conditions.push(condition("Overbooked", `the disk of ${name} is overbooked; the node tells by whom`));
  }
  return inventoryOf(storageClass, "local-path", volumes, {
    capacity,
    free: free - volumes.onSomeNode,
    replicas: 1,
    conditions,
  });
}

const diskShared = condition(
  "RoomShared",
  "its volumes lie on the disks that ephemeral storage comes from, so of each disk both are offered an equal part of " +
    "what is left; exclude.node_storage keeps the class from a node",
);
