/** What the cluster has and what is allocated of it, as the parts of the inventory operator see it. */

import type { Condition } from "../../runtime/condition.ts";
import { invariant } from "../../runtime/invariant.ts";
import type { DiscoveredGpu, Hardware } from "./hardware.ts";

/** Whole numbers of one unit: thousandths of a cpu, bytes, or pieces. Never negative. */
export interface ResourceAmounts {
  readonly capacity: bigint;
  readonly allocatable: bigint;
  /** May exceed what is allocatable when the cluster really is overbooked; a condition then says by what. */
  readonly allocated: bigint;
}

/** What the market calls a GPU. */
export interface MarketName {
  /** "h200" */
  readonly name: string;
  /** "PCIe", "SXM5" */
  readonly interface: string;
  /** "141Gi" */
  readonly memorySize?: string;
}

/** Without a name, the registry does not know it. */
export interface NamedGpu extends DiscoveredGpu, Partial<MarketName> {
  /** "nvidia", "amd" */
  readonly vendor: string;
  /** Why it is not sold. */
  readonly notSold?: string;
  /** For an unknown GPU: what to add to the registry. */
  readonly registryLine?: string;
}

/** Why a node is not sold: what decides by it, and the words for people. */
export interface NotOffered {
  /** Excluded nodes are not ours; cordoned or not ready ones will be back, and a full one when a pod ends. */
  readonly type: "NotReady" | "Trouble" | "Cordoned" | "Tainted" | "BeingDeleted" | "Excluded" | "Full";
  /** "not ready", "cordoned", "full: it has 110 pods and takes 110", "excluded by the configuration (^gpu-)" */
  readonly message: string;
}

export interface NodeInventory {
  readonly name: string;
  readonly offered: boolean;
  readonly notOffered: readonly NotOffered[];
  readonly cpuMilli: ResourceAmounts;
  readonly memoryBytes: ResourceAmounts;
  readonly ephemeralBytes: ResourceAmounts;
  readonly gpus: ResourceAmounts;
  /** The vendors whose device plugin has GPUs here, unhealthy ones included: "nvidia", "amd". */
  readonly pluginVendors: readonly string[];
  /** Volumes attached to the node, and how many it takes where its drivers tell. */
  readonly volumes: ResourceAmounts;
  readonly storageClasses: readonly string[];
  /** Absent until discovery has answered once; afterwards the last good answer. */
  readonly hardware?: Hardware;
  readonly hardwareAtMs?: number;
  readonly namedGpus: readonly NamedGpu[];
  /** Measured use, where the cluster has a metrics API. */
  readonly usage?: { readonly cpuMilli: bigint; readonly memoryBytes: bigint };
  readonly conditions: readonly Condition[];
}

export interface StorageInventory {
  readonly class: string;
  readonly driver: "ceph" | "longhorn" | "local-path";
  readonly provisioner: string;
  readonly bytes: ResourceAmounts;
  readonly replicas?: number;
  readonly performance?: string;
  readonly conditions: readonly Condition[];
}

export interface Inventory {
  /** By name. */
  readonly nodes: readonly NodeInventory[];
  /** By class. */
  readonly storage: readonly StorageInventory[];
  readonly atMs: number;
  /** Every pod's change up to this version of the API server is in it. */
  readonly podsVersion?: string;
  /** The same of persistent volumes. */
  readonly volumesVersion?: string;
  /** The storage class of claims that name none. */
  readonly defaultClass?: string;
  readonly conditions: readonly Condition[];
}

/** Why GPUs of several models of a vendor are not sold, where a pod may get any of them. */
export const mixedReason = "its device plugin offers other kinds under the same name";

/** A GPU that is sick, or not sold as a GPU, cannot be given. */
export function isForSale({ health, notSold }: NamedGpu): boolean {
  return health?.healthy !== false && notSold === undefined;
}

/** Of conditions: these have the evidence of what is missing, or say that nobody knows what there is. */
const explaining = new Set(["Overbooked", "StorageUnreadable"]);

/** No amount is negative, and where more is allocated than allocatable, a condition explains it. */
export function assertSound(
  owner: string,
  amounts: readonly ResourceAmounts[],
  conditions: readonly Condition[],
): void {
  for (const { capacity, allocatable, allocated } of amounts) {
    const details = { owner, capacity, allocatable, allocated };
    invariant(capacity >= 0n && allocatable >= 0n && allocated >= 0n, "an amount is negative", details);
    if (allocated <= allocatable) continue;
    const isExplained = conditions.some(({ type }) => explaining.has(type));
    invariant(isExplained, "more is taken than there is, and no condition says so", details);
  }
}
