/** The network's metrics of leases under its names, and in which state how many are. */
import type { Metrics } from "../../runtime/metrics.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import { isFailing, type LeaseState, leaseStates } from "./lease-states.ts";

export function measureLeases(metrics: Metrics, keeper: LeaseKeeper): void {
  const { states, tally } = keeper;
  measureAwaited(metrics, keeper);
  metrics.read(
    {
      name: "provider_deployment_manager",
      help: "Leases that have something in the cluster or wait for it",
      kind: "gauge",
    },
    () => states.size,
  );
  metrics.read(
    {
      name: "provider_deployment",
      help: "Manifests brought to the cluster, and leases torn down",
      kind: "counter",
      labels: ["action", "result"],
    },
    () =>
      (["deploy", "teardown"] as const).flatMap((action) =>
        (["success", "fail"] as const).map((result) => [{ action, result }, tally[action][result]] as const),
      ),
  );
  metrics.read({ name: "akash_provider_leases", help: "Leases by state", kind: "gauge", labels: ["state"] }, () => {
    const counts = countStates(keeper);
    return leaseStates.map((state) => [{ state }, counts[state]] as const);
  });
  metrics.read(
    { name: "akash_provider_leases_known", help: "1 while what leases have in the cluster is known", kind: "gauge" },
    () => (keeper.trouble === undefined ? 1 : 0),
  );
}

/** Of leases that wait for something that others give, or for the cluster to take what they need. */
function measureAwaited(metrics: Metrics, { states }: Pick<LeaseKeeper, "states">): void {
  const count = (of: (state: LeaseState) => unknown) => () =>
    [...states.lastKnown()].filter(([, state]) => of(state)).length;
  metrics.read(
    {
      name: "akash_provider_leases_withheld",
      help: "Leases that want a host name or a port of an address that another tenant has, or that they may not have",
      kind: "gauge",
    },
    count(({ heldByOthers }) => heldByOthers),
  );
  metrics.read(
    {
      name: "akash_provider_leases_without_address",
      help: "Leases with an endpoint that has no IP address yet",
      kind: "gauge",
    },
    count(({ addressless }) => addressless),
  );
  metrics.read(
    {
      name: "akash_provider_leases_failing",
      help: "Leases whose manifest cannot be brought to the cluster now, for no fault of their tenants",
      kind: "gauge",
    },
    count(isFailing),
  );
}

export function countStates({ states }: Pick<LeaseKeeper, "states">): Record<(typeof leaseStates)[number], number> {
  const counts = Object.fromEntries(leaseStates.map((state) => [state, 0])) as ReturnType<typeof countStates>;
  for (const [, { state }] of states.all()) counts[state] += 1;
  return counts;
}
