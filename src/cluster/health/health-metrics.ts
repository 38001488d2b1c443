/** How leases are doing, as numbers. */
import type { Metrics } from "../../runtime/metrics.ts";
import type { HealthKeeper } from "./health-keeper.ts";
import { type LeaseHealth, troubleReasons } from "./lease-health.ts";

export type HealthCounts = Readonly<Record<LeaseHealth["state"], number>>;

export function countHealth({ all }: Pick<HealthKeeper, "all">): HealthCounts {
  const counts = { healthy: 0, unhealthy: 0, unknown: 0 };
  for (const [, { state }] of all()) counts[state] += 1;
  return counts;
}

export function measureHealth(metrics: Metrics, health: HealthKeeper): void {
  metrics.read(
    {
      name: "akash_provider_lease_health",
      help: "Leases that run something, by health",
      kind: "gauge",
      labels: ["state"],
    },
    () => Object.entries(countHealth(health)).map(([state, count]) => [{ state }, count] as const),
  );
  metrics.read(
    {
      name: "akash_provider_lease_closing_held",
      help: "1 while no unhealthy lease is closed, because leases of many owners are unhealthy at once",
      kind: "gauge",
    },
    () => (health.brake() === undefined ? 0 : 1),
  );
  metrics.read(
    {
      name: "akash_provider_lease_troubles",
      help: "Replicas of leases that are not ready, by reason",
      kind: "gauge",
      labels: ["reason"],
    },
    () => {
      const counts = new Map<string, number>(troubleReasons.map((reason) => [reason, 0]));
      for (const [, { troubles }] of health.all()) {
        for (const { reason, replicas } of troubles) counts.set(reason, (counts.get(reason) ?? 0) + replicas);
      }
      return Array.from(counts, ([reason, count]) => [{ reason }, count] as const);
    },
  );
}
