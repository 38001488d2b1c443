/** What is measured of the inventory. */
import type { Metrics } from "../../runtime/metrics.ts";
import type { NodeInventory } from "./inventory.ts";
import type { InventoryParts } from "./inventory-service.ts";

export function measureInventory(metrics: Metrics, { operator, publisher, grpc }: InventoryParts): void {
  const name = "akash_provider_inventory";
  const nodes = () => operator.inventory?.nodes ?? [];
  const gauges = [
    ["age_seconds", "How long ago the cluster was last heard of", () => operator.ageMs / 1_000],
    ["ready", "1 once there was a whole picture", () => (publisher.ready ? 1 : 0)],
    ["streams", "gRPC calls that are told of each change", () => grpc.streams],
    ["pods", "Pods that are counted", () => operator.counts.tally.pods],
  ] as const;
  for (const [gauge, help, value] of gauges) metrics.read({ name: `${name}_${gauge}`, help, kind: "gauge" }, value);
  const counters = [
    ["pictures", "Pictures made of the cluster", () => operator.counts.pictures],
    ["published", "Changes that were published", () => publisher.counts.published],
    ["drifts", "Nodes whose use a recount found wrong", () => operator.counts.tally.drifts],
    ["labelled", "Writes of a node's labels", () => operator.counts.labels.written],
    ["registry_failures", "Failed reads of the GPU registry", () => operator.counts.registry.failures],
    ["ceph_failures", "Failed questions to Ceph", () => operator.counts.storage.cephFailed],
  ] as const;
  for (const [counter, help, value] of counters) {
    metrics.read({ name: `${name}_${counter}_total`, help, kind: "counter" }, value);
  }
  const nodesHelp = "Nodes by whether they are offered";
  metrics.read({ name: `${name}_nodes`, help: nodesHelp, kind: "gauge", labels: ["offered"] }, () =>
    [true, false].map((offered) => [
      { offered: String(offered) },
      nodes().filter((node) => node.offered === offered).length,
    ]),
  );
  const amountsHelp = "What the offered nodes have and what of it is taken: cpus, bytes, pieces";
  const labels = ["resource", "amount"] as const;
  metrics.read({ name: `${name}_resources`, help: amountsHelp, kind: "gauge", labels }, () =>
    resourceSums(nodes().filter(({ offered }) => offered)),
  );
}

/** Metrics are floats; for sums of bytes and cpus that is exact enough. */
function resourceSums(nodes: readonly NodeInventory[]) {
  const resources = [
    ["cpu", "cpuMilli", 1_000],
    ["memory", "memoryBytes", 1],
    ["ephemeral-storage", "ephemeralBytes", 1],
    ["gpu", "gpus", 1],
  ] as const;
  return resources.flatMap(([resource, field, perUnit]) =>
    (["allocatable", "allocated"] as const).map((amount) => {
      const sum = nodes.reduce((total, node) => total + node[field][amount], 0n);
      return [{ resource, amount }, Number(sum) / perUnit] as const;
    }),
  );
}
