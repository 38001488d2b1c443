/** What the cluster has and what is allocated of it. */
import type { Condition } from "../../runtime/condition.ts";
import { invariant } from "../../runtime/invariant.ts";
import type { DiscoveredGpu, Hardware } from "./hardware.ts";

/** Millicores, bytes or pieces; never negative. */
export interface ResourceAmounts {
  readonly capacity: bigint;
  readonly allocatable: bigint;
  /** Exceeds `allocatable` where the cluster is overbooked; a condition then names the pods. */
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

/** Without a name where the registry does not have it. */
export interface NamedGpu extends DiscoveredGpu, Partial<MarketName> {
  /** "nvidia", "amd" */
  readonly vendor: string;
  /** Why it is not sold. */
  readonly notSold?: string;
  /** What to add to the registry for an unknown GPU. */
  readonly registryLine?: string;
}

export interface NotOffered {
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
  /** Vendors whose device plugin counts GPUs here, unhealthy ones included. */
  readonly pluginVendors: readonly string[];
  /** Attached volumes, and how many it takes where its drivers have a limit. */
  readonly volumes: ResourceAmounts;
  readonly storageClasses: readonly string[];
  /** The last good answer of discovery. */
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
  /** The resource versions up to which changes of pods and of persistent volumes are included. */
  readonly podsVersion?: string;
  readonly volumesVersion?: string;
  /** The storage class of claims that name none. */
  readonly defaultClass?: string;
  readonly conditions: readonly Condition[];
}

/** Why GPUs of several models of a vendor are not sold, where a pod may get any of them. */
export const mixedReason = "its device plugin offers other kinds under the same name";

export function isForSale({ health, notSold }: NamedGpu): boolean {
  return health?.healthy !== false && notSold === undefined;
}

/** Conditions that explain why more is allocated than allocatable. */
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
    invariant(isExplained, "more is allocated than allocatable, without a condition", details);
  }
}
