/** The manifest service's metrics: the network's by their names, and what became of what was sent. */
import type { Metrics } from "../runtime/metrics.ts";
import type { Standings } from "./standings.ts";

export function measureManifests(metrics: Metrics, standings: Standings): void {
  metrics.read(
    { name: "provider_manifest_manager", help: "Deployments with a lease of ours", kind: "gauge" },
    () => standings.deployments,
  );
  metrics.read(
    {
      name: "provider_order_watchdog",
      help: "Leases that are closed unless their manifest comes in time",
      kind: "gauge",
    },
    () => standings.watched,
  );
  metrics.read(
    {
      name: "akash_provider_manifest_requests_total",
      help: "Manifests sent by tenants, by what came of them",
      kind: "counter",
      labels: ["result"],
    },
    () => {
      const { restored: _, timedOut: __, ...requests } = standings.counts;
      return Object.entries(requests).map(([result, count]) => [{ result }, count]);
    },
  );
  metrics.read(
    { name: "akash_provider_manifest_restored_total", help: "Manifests restored from the cluster", kind: "counter" },
    () => standings.counts.restored,
  );
  metrics.read(
    { name: "akash_provider_manifest_timeouts_total", help: "Leases closed because no manifest came", kind: "counter" },
    () => standings.counts.timedOut,
  );
}
