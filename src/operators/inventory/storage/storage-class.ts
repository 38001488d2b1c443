/** A StorageClass: who makes its volumes, with which parameters, and whether its owner wants it sold. */

import { fieldsOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import type { InventoryConfig } from "../configuration/inventory-config.ts";
import type { StorageInventory } from "../inventory.ts";
import { wordOf } from "./fields.ts";
import type { VolumeSums } from "./volumes.ts";

export type Driver = StorageInventory["driver"];

/** What Go reads as true, and so the network's operator. */
const trueTexts = ["1", "t", "T", "true", "True", "TRUE"];

export type StorageClass = ReturnType<typeof readStorageClass>;

export function readStorageClass(object: KubeObject) {
  const { name, labels, annotations, creationTimestamp } = object.metadata;
  return {
    name,
    provisioner: wordOf(object["provisioner"]) ?? "",
    parameters: fieldsOf(object["parameters"]),
    /** It carries the label akash.network=true. */
    labelled: trueTexts.includes(labels?.["akash.network"] ?? ""),
    isDefault: defaultMarks.some((mark) => fieldsOf(annotations)[mark] === "true"),
    madeAt: creationTimestamp ?? "",
  };
}

/** The API server still reads the second one. */
const defaultMarks = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** Of several, the API server takes the newest, and of those made in the same second the first by name. */
export function defaultClassOf(classes: Iterable<StorageClass>): string | undefined {
  const [first, ...others] = [...classes].filter(({ isDefault }) => isDefault);
  const isBefore = (one: StorageClass, other: StorageClass) =>
    one.madeAt === other.madeAt ? one.name < other.name : one.madeAt > other.madeAt;
  return first && others.reduce((best, each) => (isBefore(each, best) ? each : best), first).name;
}

/** The backend that we can look into; undefined for all others. */
export function driverOf({ provisioner }: Pick<StorageClass, "provisioner">): Driver | undefined {
  if (provisioner === "rancher.io/local-path") return "local-path";
  if (provisioner === "driver.longhorn.io") return "longhorn";
  return provisioner.endsWith(".csi.ceph.com") ? "ceph" : undefined;
}

/** The pool that the data goes to. With erasure coding `pool` holds only the names, and `dataPool` the data. */
export function poolOf(parameters: Readonly<Record<string, unknown>>): string | undefined {
  return wordOf(parameters["dataPool"]) ?? wordOf(parameters["pool"]);
}

export interface SoldClass {
  readonly storageClass: StorageClass;
  readonly driver: Driver;
}

/**
 * Which classes are sold, by name: those that the configuration lists *and* that carry the label akash.network=true, as on
 * the network. Both are asked for because they are said by different people: the label by whoever runs the storage, the
 * list by whoever sells. An empty list sells nothing. Whoever said only one of the two is told so.
 */
export function soldClasses(
  classes: ReadonlyMap<string, StorageClass>,
  { clusterStorage }: Pick<InventoryConfig, "clusterStorage">,
  volumes: VolumeSums,
): { readonly sold: readonly SoldClass[]; readonly conditions: readonly Condition[] } {
  const sold: SoldClass[] = [];
  const conditions: Condition[] = [];
  const notSold = (message: string) => conditions.push(condition("StorageNotSold", message));
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
