/**
 * Rancher local-path: a volume is a folder on the disk of one node, the same disk that ephemeral storage comes from. What
 * is left of the disk is offered in equal parts, so the class has as much of each node as that shows to be free for pods,
 * and the cluster's room is the sum over its nodes. Where local-path has a disk of its own, nobody tells its size, and the
 * node's disk stands for it.
 */
import type { Condition, NodeInventory, StorageInventory } from "../inventory.ts";
import { inventoryOf } from "./room.ts";
import type { StorageClass } from "./storage-class.ts";
import type { VolumeSums } from "./volumes.ts";

export type NodeDisk = Pick<NodeInventory, "name" | "offered" | "storageClasses" | "ephemeralBytes">;

export function localPathInventory(
  storageClass: StorageClass,
  nodes: Iterable<NodeDisk>,
  volumes: VolumeSums,
): StorageInventory {
  const conditions: Condition[] = [roomShared];
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
      conditions.push({ type: "Overbooked", message: `the disk of ${name} is overbooked; the node tells by whom` });
  }
  return inventoryOf(storageClass, "local-path", volumes, {
    capacity,
    free: free - volumes.onSomeNode,
    replicas: 1,
    conditions,
  });
}

const roomShared: Condition = {
  type: "RoomShared",
  message:
    "its volumes lie on the disks that ephemeral storage comes from, so of each disk both are offered an equal part of " +
    "what is left; exclude.node_storage keeps the class from a node",
};
