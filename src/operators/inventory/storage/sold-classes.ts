/**
 * Which classes are sold: those that the configuration lists *and* that carry the label akash.network=true, as on the
 * network. Both are asked for because they are said by different people: the label by whoever runs the storage, the list
 * by whoever sells. An empty list sells nothing. Whoever said only one of the two is told so.
 */
import type { InventoryConfig } from "../configuration/inventory-config.ts";
import type { Condition } from "../inventory.ts";
import { type Driver, driverOf, type StorageClass } from "./storage-class.ts";
import type { VolumeSums } from "./volumes.ts";

export interface SoldClass {
  readonly storageClass: StorageClass;
  readonly driver: Driver;
}

export interface SoldClasses {
  /** By name. */
  readonly sold: readonly SoldClass[];
  readonly conditions: readonly Condition[];
}

export function soldClasses(
  classes: ReadonlyMap<string, StorageClass>,
  { clusterStorage }: Pick<InventoryConfig, "clusterStorage">,
  volumes: VolumeSums,
): SoldClasses {
  const sold: SoldClass[] = [];
  const conditions: Condition[] = [];
  const notSold = (message: string) => conditions.push({ type: "StorageNotSold", message });
  for (const name of clusterStorage) {
    // The network's chart lists "ram", which is shared memory and no class of volumes.
    if (name === "ram") continue;
    const storageClass = classes.get(name);
    const driver = storageClass && driverOf(storageClass);
    if (!storageClass) notSold(`the class ${name} is configured, but not there${leftBehind(volumes, name)}`);
    else if (!storageClass.labelled) notSold(`the class ${name} is configured, but lacks the label akash.network=true`);
    else if (!driver) notSold(`the class ${name} is made by ${storageClass.provisioner}, which we cannot look into`);
    else sold.push({ storageClass, driver });
  }
  for (const { name, labelled } of classes.values()) {
    if (!labelled || clusterStorage.includes(name)) continue;
    notSold(`the class ${name} carries the label akash.network, but cluster_storage of the configuration lacks it`);
  }
  return { sold, conditions };
}

function leftBehind({ ofClass }: VolumeSums, name: string): string {
  const left = ofClass.get(name);
  return left ? `; ${left.count} of its volumes still hold space` : "";
}
