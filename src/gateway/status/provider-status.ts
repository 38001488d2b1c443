/** What `/status` is made of, and where each part comes from. All of it answers at once, from memory. */
import { minute } from "../../runtime/durations.ts";

/** How far something may be believed. */
export interface Freshness {
  /** How long ago it was known to be so; undefined where it never was. */
  readonly ageMs: number | undefined;
  /** Why it may not be so any more; undefined while it is fresh. */
  readonly trouble: string | undefined;
}

export interface ClusterPart {
  /** That have something in the cluster. */
  readonly leases: number;
  reservations(): Iterable<{ readonly isActive: boolean; readonly promised: Promised }>;
  /** By name. */
  nodes(): Iterable<{ readonly name: string; readonly allocatable: Amounts; readonly free: Amounts }>;
  storage(): Iterable<{ readonly class: string; readonly free: bigint }>;
  /** All of it as the network tells it: akash.inventory.v1.Cluster; undefined until something is known of it. */
  readonly inventoryMessage: Uint8Array | undefined;
  /** Of those that can be leased. */
  readonly addresses: { readonly total: bigint; readonly left: bigint };
  readonly inventory: Freshness;
  readonly workloads: Freshness;
}

export interface Amounts {
  readonly cpuMilli: bigint;
  readonly gpus: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
}

/** The same object for as long as it is promised. */
export interface Promised extends Amounts {
  readonly storage: ReadonlyMap<string, bigint>;
}

export interface ChainPart {
  readonly status: { readonly mirrorAgeMs: number | undefined; readonly trouble: string | undefined };
  readonly mirror: { readonly ready: boolean };
}

/** Each promise is kept when that part has come up; until then it is told of as not fresh. Undefined where there is none. */
export interface StatusParts {
  readonly chain: Promise<ChainPart>;
  readonly cluster: Promise<ClusterPart> | undefined;
  /** Orders that we are at. */
  readonly orders: Promise<() => number> | undefined;
  /** Deployments with a lease of ours. */
  readonly deployments: Promise<() => number> | undefined;
  /** How long before a reclamation tenants are told; 0 where they are not. */
  readonly reclamationWindowMs: number;
}

/** Ten blocks. What is further behind is told of as not fresh, whatever nodes say. */
export const gatewayChainOldMs = minute;

/** In full it is told to operators: it may name servers of theirs, which are nothing to strangers. */
const reasons = {
  chain: "no new block of the chain can be read",
  inventory: "the inventory is not confirmed",
  workloads: "the Kubernetes API server does not answer",
} as const;

export type Part = keyof typeof reasons;

export function toldReason(what: Part, ageMs: number | undefined): string {
  return ageMs === undefined ? "not read yet" : reasons[what];
}

export const unread: Freshness = { ageMs: undefined, trouble: "not read yet" };

export function chainFreshness(chain: ChainPart | undefined): Freshness {
  if (!chain?.mirror.ready) return unread;
  const { mirrorAgeMs: ageMs, trouble } = chain.status;
  // Nodes may answer well and have nothing new to tell, for as long as they or the chain stand still.
  const isOld = ageMs !== undefined && ageMs > gatewayChainOldMs;
  return { ageMs, trouble: trouble ?? (isOld ? reasons.chain : undefined) };
}
