/** What is told of the provider, over REST and gRPC: read from memory, where each service has put its part. */
import { minute } from "../../runtime/durations.ts";

/** For so long a status that was made is shown: a change shows within a second, and making one takes a millisecond or two. */
export const gatewayStatusMs = 250;
/** Ten blocks: a chain further behind is not fresh, whatever nodes say. */
export const gatewayChainOldMs = minute;

interface Freshness {
  /** How long ago it was known to be so; undefined where it never was. */
  readonly ageMs: number | undefined;
  /** Why it may not be so any more; undefined while it is fresh. */
  readonly trouble: string | undefined;
}

export interface ClusterPart {
  /** That have something in the cluster. */
  readonly leases: number;
  reservations(): Iterable<{ readonly isActive: boolean; readonly promised: Promised }>;
  nodes(): Iterable<{ readonly name: string; readonly allocatable: StatusAmounts; readonly free: StatusAmounts }>;
  storage(): Iterable<{ readonly class: string; readonly free: bigint }>;
  /** As akash.inventory.v1.Cluster; undefined until something is known of it. */
  readonly inventoryMessage: Uint8Array | undefined;
  /** Of those that can be leased. */
  readonly addresses: { readonly total: bigint; readonly left: bigint };
  readonly inventory: Freshness;
  readonly workloads: Freshness;
}

export interface StatusAmounts {
  readonly cpuMilli: bigint;
  readonly gpus: bigint;
  readonly memoryBytes: bigint;
  readonly ephemeralBytes: bigint;
}

/** The same object for as long as it is promised. */
export interface Promised extends StatusAmounts {
  readonly storage: ReadonlyMap<string, bigint>;
}

export interface ChainPart {
  readonly status: { readonly mirrorAgeMs: number | undefined; readonly trouble: string | undefined };
  readonly mirror: { readonly ready: boolean };
}

/** Each promise resolves when that service has come up. Undefined where there is none. */
export interface StatusParts {
  readonly chain: Promise<ChainPart>;
  readonly cluster: Promise<ClusterPart> | undefined;
  /** Orders that are being decided or bid on. */
  readonly orders: Promise<() => number> | undefined;
  /** Deployments with a lease of ours. */
  readonly deployments: Promise<() => number> | undefined;
  /** How long before a reclamation tenants are told; 0 where they are not. */
  readonly reclamationWindowMs: number;
}

export interface ReportedStatus {
  readonly cluster: ClusterPart | undefined;
  readonly orders: number | undefined;
  readonly deployments: number | undefined;
  readonly reclamationWindowMs: number;
  readonly parts: readonly PartStatus[];
}

interface PartStatus extends Freshness {
  readonly what: keyof typeof reasons;
  /** For strangers: what operators are told in full may name servers of theirs. */
  readonly why: string | undefined;
}

const reasons = {
  chain: "no new block of the chain can be read",
  inventory: "the inventory is not confirmed",
  workloads: "the Kubernetes API server does not answer",
} as const;

const unread: Freshness = { ageMs: undefined, trouble: "not read yet" };

export function createProviderStatus(parts: StatusParts): () => ReportedStatus {
  const [chain, cluster] = [kept(parts.chain), kept(parts.cluster)];
  const [orders, deployments] = [kept(parts.orders), kept(parts.deployments)];
  return () => {
    const { inventory = unread, workloads = unread } = cluster() ?? {};
    return {
      cluster: cluster(),
      orders: orders()?.(),
      deployments: deployments()?.(),
      reclamationWindowMs: parts.reclamationWindowMs,
      parts: [
        partOf("chain", chainFreshness(chain())),
        ...(parts.cluster !== undefined ? [partOf("inventory", inventory), partOf("workloads", workloads)] : []),
      ],
    };
  };
}

function partOf(what: PartStatus["what"], { ageMs, trouble }: Freshness): PartStatus {
  const why = ageMs === undefined ? "not read yet" : reasons[what];
  return { what, ageMs, trouble, why: trouble === undefined ? undefined : why };
}

function chainFreshness(chain: ChainPart | undefined): Freshness {
  if (!chain?.mirror.ready) return unread;
  const { mirrorAgeMs: ageMs, trouble } = chain.status;
  // Nodes may answer well while they or the chain stand still.
  const isOld = ageMs !== undefined && ageMs > gatewayChainOldMs;
  return { ageMs, trouble: trouble ?? (isOld ? reasons.chain : undefined) };
}

function kept<T>(promise: Promise<T> | undefined): () => T | undefined {
  let value: T | undefined;
  void promise?.then((given) => {
    value = given;
  });
  return () => value;
}
