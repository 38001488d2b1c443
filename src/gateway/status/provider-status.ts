/** The provider's status as REST and gRPC show it, read from memory. */
import type { ClusterSummary, Freshness } from "../../market/cluster-summary.ts";
import { minute } from "../../runtime/durations.ts";

/** How long a response is cached: making one takes a millisecond or two. */
export const gatewayStatusMs = 250;
/** Ten blocks: a chain further behind is stale, whatever its nodes report. */
export const gatewayChainOldMs = minute;

export interface ChainPart {
  readonly status: { readonly mirrorAgeMs: number | undefined; readonly reason: string | undefined };
  readonly mirror: { readonly ready: boolean };
}

export interface StatusParts {
  readonly chain: ChainPart;
  /** Undefined where the provider does not bid, as the next two. */
  readonly cluster?: ClusterSummary | undefined;
  /** Orders under decision or bid on. */
  readonly orders?: () => number;
  /** Deployments with a lease of this provider. */
  readonly deployments?: () => number;
  /** How long before a reclamation tenants are notified; 0 where they are not. */
  readonly reclamationWindowMs: number;
}

const reasons = {
  chain: "no new block of the chain can be read",
  inventory: "the inventory is not confirmed",
  workloads: "the Kubernetes API server does not answer",
} as const;

export type ReportedStatus = ReturnType<ReturnType<typeof createProviderStatus>>;

export function createProviderStatus({ chain, cluster, orders, deployments, reclamationWindowMs }: StatusParts) {
  return () => ({
    ...{ cluster, orders: orders?.(), deployments: deployments?.(), reclamationWindowMs },
    parts: [
      partOf("chain", chainFreshness(chain)),
      ...(cluster ? [partOf("inventory", cluster.inventory), partOf("workloads", cluster.workloads)] : []),
    ],
  });
}

/** Its public reason does not name servers of the operator. */
function partOf(what: keyof typeof reasons, { ageMs, error }: Freshness) {
  const why = ageMs === undefined ? "not read yet" : reasons[what];
  return { what, ageMs, why: error === undefined ? undefined : why };
}

function chainFreshness({ mirror, status }: ChainPart): Freshness {
  if (!mirror.ready) return { ageMs: undefined, error: "not read yet" };
  const { mirrorAgeMs: ageMs, reason: error } = status;
  // Nodes may answer although they or the chain have stopped.
  const isOld = ageMs !== undefined && ageMs > gatewayChainOldMs;
  return { ageMs, error: error ?? (isOld ? reasons.chain : undefined) };
}
