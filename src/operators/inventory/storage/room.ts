/**
 * How the three amounts of a class fit together. Whoever reads them takes `allocatable − allocated` for what is still to
 * be had, and volumes are thin: a promise of 100 GiB may hold 1. So `allocated` is what was promised, and `allocatable`
 * is that plus the room the backend has left when it keeps all its promises. Nothing is subtracted twice. Of a room that
 * several draw from each is offered an equal part, since whoever reads them would sell the same room to each of them; the
 * parts are made anew with every volume, so that all of it can be sold.
 */
import { formatBytes } from "../../../market/quantity.ts";
import type { Amounts, Condition, StorageInventory } from "../inventory.ts";
import { assertSound } from "../inventory.ts";
import type { Driver, StorageClass } from "./storage-class.ts";
import type { VolumeSums } from "./volumes.ts";

export interface Room {
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
  room: Room,
): StorageInventory {
  const allocated = promisedOf(volumes, name);
  const { capacity, sharers = [], replicas, performance, conditions = [] } = room;
  // A debt is not shared: each that draws from the room shows what is missing of it.
  const free = room.free > 0n ? room.free / BigInt(1 + sharers.length) : room.free;
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
  return { type: "RoomShared", message };
}

function overbooked(allocated: bigint, missing: bigint): Condition {
  const message = `volumes of ${formatBytes(allocated)} were promised, and ${formatBytes(missing)} are missing to keep all promises`;
  return { type: "Overbooked", message };
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
  return { type: "StorageUnreadable", message };
}
