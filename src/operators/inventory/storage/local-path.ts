/**
 * Rancher local-path: a volume is a folder on the disk of one node, the same disk that ephemeral storage comes from. The
 * cluster's room is therefore the sum over its nodes of what neither the pods' requests nor other such volumes have
 * taken. The other way round nothing can be done: the scheduler counts pods' ephemeral storage and knows of no folders,
 * so whoever sells both from one disk should leave some of it. Where local-path has a disk of its own, nobody tells its
 * size, and the node's disk stands for it.
 */
import { formatBytes } from "../../../market/quantity.ts";
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
  const allocated = volumes.ofClass.get(storageClass.name)?.bytes ?? 0n;
  const conditions: Condition[] = [];
  let capacity = 0n;
  let free = 0n;
  for (const { name, offered, storageClasses, ephemeralBytes } of nodes) {
    // The configuration keeps the class from it. A node that is not offered has no class at all, which says nothing.
    if (offered && !storageClasses.includes(storageClass.name)) continue;
    capacity += ephemeralBytes.capacity;
    // What lies on a node that is not offered neither gives room nor takes it from the others.
    if (!offered) continue;
    const room = ephemeralBytes.allocatable - ephemeralBytes.allocated - (volumes.onNode.get(name) ?? 0n);
    if (room > 0n) free += room;
    if (room < 0n) {
      const message = `pods and volumes of ${name} were promised ${formatBytes(-room)} more than its disk has`;
      conditions.push({ type: "Overbooked", message });
    }
  }
  return inventoryOf(storageClass, "local-path", allocated, {
    capacity,
    free: free - volumes.onSomeNode,
    replicas: 1,
    conditions,
  });
}
