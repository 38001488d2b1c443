/**
 * How the three amounts of a class fit together. Whoever reads them takes `allocatable − allocated` for what is still to
 * be had, and volumes are thin: a promise of 100 GiB may hold 1. So `allocated` is what was promised, and `allocatable`
 * is that plus the room the backend has left when it keeps all its promises. Nothing is subtracted twice. Classes that
 * share disks each show the same room: it is there once, for whoever takes it first.
 */
import { formatBytes } from "../../../market/quantity.ts";
import type { Amounts, Condition, StorageInventory } from "../inventory.ts";
import type { Driver, StorageClass } from "./storage-class.ts";

export interface Room {
  readonly capacity: bigint;
  /** Negative when more was promised than can ever be kept. */
  readonly free: bigint;
  readonly replicas?: number;
  readonly performance?: string;
  readonly conditions?: readonly Condition[];
}

export function inventoryOf(
  { name, provisioner }: StorageClass,
  driver: Driver,
  allocated: bigint,
  room: Room,
): StorageInventory {
  const { capacity, free, replicas, performance, conditions = [] } = room;
  const allocatable = allocated + free > 0n ? allocated + free : 0n;
  const bytes: Amounts = { capacity, allocatable, allocated };
  return {
    class: name,
    driver,
    provisioner,
    bytes,
    ...(replicas === undefined ? {} : { replicas }),
    ...(performance === undefined ? {} : { performance }),
    conditions: free < 0n ? [...conditions, overbooked(allocated, -free)] : conditions,
  };
}

function overbooked(allocated: bigint, missing: bigint): Condition {
  const message = `volumes of ${formatBytes(allocated)} were promised, and ${formatBytes(missing)} are missing to keep all promises`;
  return { type: "Overbooked", message };
}

/** For a backend that has told nothing yet: the class is shown, and nothing of it is sold. */
export function unreadable(
  storageClass: StorageClass,
  driver: Driver,
  allocated: bigint,
  message: string,
): StorageInventory {
  const { name, provisioner } = storageClass;
  const bytes = { capacity: 0n, allocatable: 0n, allocated };
  return { class: name, driver, provisioner, bytes, conditions: [storageUnreadable(message)] };
}

export function storageUnreadable(message: string): Condition {
  return { type: "StorageUnreadable", message };
}
