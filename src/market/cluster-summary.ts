/** What the public status shows of the cluster: the cluster service provides it, the gateway serves it. */

export interface ClusterSummary {
  /** Leases with objects in the cluster. */
  readonly leases: number;
  reservations(): Iterable<{ readonly isActive: boolean; readonly promised: PromisedAmounts }>;
  /** What is free is below zero where a node is overbooked. */
  nodes(): Iterable<{ readonly name: string; readonly allocatable: StatusAmounts; readonly free: StatusAmounts }>;
  /** Free bytes by storage class. */
  storage(): Iterable<{ readonly class: string; readonly free: bigint }>;
  /** As akash.inventory.v1.Cluster; undefined until the inventory is read. */
  readonly inventoryMessage: Uint8Array | undefined;
  /** Of addresses that can be leased. */
  readonly addresses: { readonly total: bigint; readonly left: bigint };
  readonly inventory: Freshness;
  readonly workloads: Freshness;
}

/** The age of what is shown, undefined before it was read, and why it is stale, undefined while it is fresh. */
export interface Freshness {
  readonly ageMs: number | undefined;
  readonly error: string | undefined;
}

export interface StatusAmounts {
  readonly cpuMilli: bigint;
  readonly gpus: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
}

/** The same object for as long as it is promised. */
export interface PromisedAmounts extends StatusAmounts {
  /** Bytes by class, of all other volumes. */
  readonly storage: ReadonlyMap<string, bigint>;
}
