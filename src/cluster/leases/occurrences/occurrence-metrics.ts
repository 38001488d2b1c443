/** What is measured of the Events of our leases. */
import type { Metrics } from "../../../runtime/metrics.ts";
import type { OccurrenceKeeper } from "./occurrence-keeper.ts";

export function measureOccurrences(metrics: Metrics, { counts, recorded }: OccurrenceKeeper): void {
  metrics.readEach("counter", "akash_provider_lease_events", [
    ["seen", "Events of our leases' namespaces seen", () => counts.seen],
    ["kept", "Occurrences of leases written to the journal", () => counts.kept],
    ["written", "Events written to the cluster", () => recorded.written],
    ["failed", "Events that could not be written to the cluster", () => recorded.failed],
  ]);
}
