/** A kind of storage that tells us more than Kubernetes itself knows. */
import type { WatchCache } from "../../../kube/kube.ts";
import type { Condition, StorageInventory } from "../inventory.ts";
import type { StorageClass } from "./storage-class.ts";
import type { VolumeSums } from "./volumes.ts";

export interface Backend {
  /** With all classes of this backend that are sold, this one included: some may draw from the same disks. */
  inventory(storageClass: StorageClass, volumes: VolumeSums, sold: readonly StorageClass[]): StorageInventory;
  /** Why what it tells may be out of date. */
  readonly stale: readonly Condition[];
  close(): Promise<void>;
}

/** Why these caches cannot be believed yet; undefined when all were filled. */
export function waitingFor(caches: Readonly<Record<string, WatchCache<unknown>>>): string | undefined {
  for (const [what, cache] of Object.entries(caches)) {
    if (!cache.ready) return `${what} were not seen yet${cache.trouble ? `: ${cache.trouble.message}` : ""}`;
  }
  return undefined;
}
