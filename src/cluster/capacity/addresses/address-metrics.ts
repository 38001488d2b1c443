/** What is measured of the IP addresses that can be leased. */
import type { Metrics } from "../../../runtime/metrics.ts";
import type { AddressPool } from "./address-pool.ts";

const name = "akash_provider_addresses";

export function measureAddresses(metrics: Metrics, pool: Pick<AddressPool, "usage" | "ageMs" | "counts">): void {
  metrics.readEach("gauge", name, [
    ["available", "IP addresses of the pool", () => Number(pool.usage?.total ?? 0n)],
    ["in_use", "IP addresses in use", () => Number(pool.usage?.inUse ?? 0n)],
    ["age_seconds", "Age of the IP operator's last answer", () => (pool.ageMs === undefined ? [] : pool.ageMs / 1_000)],
  ]);
  metrics.readEach("counter", name, [
    ["answers", "Answers of the IP operator", () => pool.counts.answers],
    ["errors", "Requests to the IP operator that failed", () => pool.counts.errors],
    ["lease_errors", "Leases whose addresses the IP operator did not tell", () => pool.counts.leaseErrors],
  ]);
}
