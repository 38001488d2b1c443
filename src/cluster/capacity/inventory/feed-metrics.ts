/** What is measured of the way from the inventory operator to us. */
import type { Metrics } from "../../../runtime/metrics.ts";
import type { InventoryFeed } from "./feed.ts";

const name = "akash_provider_inventory_feed";

export function measureFeed(
  metrics: Metrics,
  feed: Pick<InventoryFeed, "ageMs" | "trouble" | "counts" | "picture">,
): void {
  metrics.readEach("gauge", name, [
    ["age_seconds", "Age of the inventory", () => (feed.ageMs === undefined ? [] : feed.ageMs / 1_000)],
    ["usable", "1 while bids may rely on the inventory", () => (feed.trouble === undefined ? 1 : 0)],
    ["conditions", "Nodes and storage classes left out as nonsense", () => feed.picture?.conditions.length ?? 0],
  ]);
  metrics.readEach("counter", name, [
    ["pictures", "Inventories received", () => feed.counts.pictures],
    ["proofs", "Answers of a silent inventory operator that was asked", () => feed.counts.proofs],
    ["reconnects", "Connections to the inventory operator after the first", () => feed.counts.reconnects],
    ["errors", "Failures of the inventory operator or its connection", () => feed.counts.errors],
  ]);
}
