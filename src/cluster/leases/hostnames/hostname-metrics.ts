/** What is measured of host names, by what the hostname operator says. */
import type { Metrics } from "../../../runtime/metrics.ts";
import { type HostnameFeed, hostHealthWords } from "./hostname-feed.ts";

export function measureHostnames(metrics: Metrics, feed: HostnameFeed | undefined): void {
  metrics.read(
    {
      name: "akash_provider_hostnames",
      help: "Host names of leases, by what the hostname operator says of them; absent while it is not followed",
      kind: "gauge",
      labels: ["health"],
    },
    () => {
      if (!feed?.isConnected) return [];
      const counts = new Map<string, number>(hostHealthWords.map((word) => [word, 0]));
      for (const { health } of feed.all()) counts.set(health, (counts.get(health) ?? 0) + 1);
      return Array.from(counts, ([health, count]) => [{ health }, count] as const);
    },
  );
  metrics.read(
    {
      name: "akash_provider_hostnames_unwell",
      help: "Host names that have not been served or healthy for five minutes",
      kind: "gauge",
    },
    () => feed?.unwell().length ?? 0,
  );
}
