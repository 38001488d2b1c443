/** A StorageClass: who makes its volumes, with which parameters, and whether its owner wants it sold. */
import { fieldsOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import type { StorageInventory } from "../inventory.ts";
import { wordOf } from "./fields.ts";

export interface StorageClass {
  readonly name: string;
  readonly provisioner: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** It carries the label akash.network=true. */
  readonly labelled: boolean;
}

export type Driver = StorageInventory["driver"];

/** What Go reads as true, and so the network's operator. */
const trueTexts = ["1", "t", "T", "true", "True", "TRUE"];

export function readStorageClass(object: KubeObject): StorageClass {
  const { name, labels } = object.metadata;
  return {
    name,
    provisioner: wordOf(object["provisioner"]) ?? "",
    parameters: fieldsOf(object["parameters"]),
    labelled: trueTexts.includes(labels?.["akash.network"] ?? ""),
  };
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
