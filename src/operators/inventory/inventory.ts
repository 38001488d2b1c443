/**
 * What the cluster has and what of it is taken: the words in which the parts of the inventory operator speak to each
 * other. How it looks on the wire is the business of `serving/`.
 */

import type { Condition } from "../../runtime/condition.ts";
import { invariant } from "../../runtime/invariant.ts";
import type { GpuCard, Hardware } from "./hardware.ts";

/** Whole numbers of one unit: thousandths of a cpu, bytes, or pieces. Never negative. */
export interface Amounts {
  readonly capacity: bigint;
  readonly allocatable: bigint;
  /** May exceed what is allocatable when the cluster really is overbooked; a condition then says by what. */
  readonly allocated: bigint;
}

/** A card with the name that the registry has for it; without one, the line that would name it. */
export interface NamedGpu extends GpuCard {
  /** "nvidia", "amd" */
  readonly vendor: string;
  /** The model, for instance "h200". Absent when the registry does not know the card. */
  readonly name?: string;
  /** As the registry writes it: "PCIe", "SXM5". */
  readonly interface?: string;
  /** "141Gi" */
  readonly memorySize?: string;
  /** Why it is not sold as a card; absent where it is. */
  readonly notSold?: string;
  /** For an unknown card: what to add to the registry. */
  readonly registryLine?: string;
}

/** Why a node is not sold: what decides by it, and the words for people. */
export interface NotOffered {
  /**
   * An excluded node is none of our business, while a cordoned one or one that is not ready is ours and will be back. One
   * that is full of pods can do all that it could; as soon as a pod goes, another may come.
   */
  readonly type: "NotReady" | "Trouble" | "Cordoned" | "Tainted" | "BeingDeleted" | "Excluded" | "Full";
  /** "not ready", "cordoned", "full: it has 110 pods and takes 110", "excluded by the configuration (^gpu-)" */
  readonly message: string;
}

export interface NodeInventory {
  readonly name: string;
  /** Whether it is sold at all. */
  readonly offered: boolean;
  readonly notOffered: readonly NotOffered[];
  readonly cpuMilli: Amounts;
  readonly memoryBytes: Amounts;
  readonly ephemeralBytes: Amounts;
  readonly gpus: Amounts;
  /** The vendors whose device plugin has cards here, unhealthy ones included: "nvidia", "amd". */
  readonly pluginVendors: readonly string[];
  /** Volumes attached to the node, and how many it takes where its drivers tell. */
  readonly volumes: Amounts;
  readonly storageClasses: readonly string[];
  /** Absent until discovery has answered once; afterwards the last good answer. */
  readonly hardware?: Hardware;
  /** When that answer came. */
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
  readonly bytes: Amounts;
  readonly replicas?: number;
  /** "nvme", "ssd", "hdd", where the backend tells. */
  readonly performance?: string;
  readonly conditions: readonly Condition[];
}

/** One moment's picture. */
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

/** Why cards of several models of a vendor are not sold, where a pod may get any of them. */
export const mixedReason = "its device plugin offers other kinds under the same name";

/** A card that is sick, or not sold as a card, cannot be given. */
export function isForSale({ health, notSold }: NamedGpu): boolean {
  return health?.healthy !== false && notSold === undefined;
}

/** Of conditions: these have the evidence of what is missing, or say that nobody knows what there is. */
const explaining = new Set(["Overbooked", "StorageUnreadable"]);

/**
 * What everything that is sold relies on: no amount is negative, and where more is taken than there is, a condition says
 * so. It is checked wherever amounts are made, and nothing that does not hold is bent until it does.
 */
export function assertSound(owner: string, amounts: readonly Amounts[], conditions: readonly Condition[]): void {
  for (const { capacity, allocatable, allocated } of amounts) {
    const details = { owner, capacity, allocatable, allocated };
    invariant(capacity >= 0n && allocatable >= 0n && allocated >= 0n, "an amount is negative", details);
    if (allocated <= allocatable) continue;
    const isExplained = conditions.some(({ type }) => explaining.has(type));
    invariant(isExplained, "more is taken than there is, and no condition says so", details);
  }
}
