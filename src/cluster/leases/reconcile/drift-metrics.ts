/** What the last comparison of chain, cluster and journal found, how long ago it was, and how long it took. */
import type { Clock } from "../../../runtime/clock.ts";
import type { Metrics } from "../../../runtime/metrics.ts";
import type { Reconciler } from "./reconciler.ts";

export function measureDrift(metrics: Metrics, reconciler: Reconciler, clock: Clock): void {
  metrics.read(
    {
      name: "akash_provider_drift",
      help: "Differences between chain, cluster and journal that the last reconcile found, by kind",
      kind: "gauge",
      labels: ["kind"],
    },
    () => [...reconciler.counts()].map(([kind, count]) => [{ kind }, count] as const),
  );
  metrics.read(
    {
      name: "akash_provider_reconcile_age_seconds",
      help: "Time since the last reconcile; absent until one was done",
      kind: "gauge",
    },
    () => (reconciler.last ? [[{}, (clock.now() - reconciler.last.atMs) / 1_000]] : []),
  );
  metrics.read(
    {
      name: "akash_provider_reconcile_seconds",
      help: "Duration of the last look at chain, cluster and journal",
      kind: "gauge",
    },
    () => reconciler.lookMs / 1_000,
  );
}
