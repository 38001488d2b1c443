/** What is measured of the inventory: the operator's own work, and what the cluster has. */
import { type Condition, countByType } from "../../runtime/condition.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import type { GrpcListener } from "../serving/grpc.ts";
import type { Amounts, Inventory, NodeInventory } from "./inventory.ts";
import type { InventoryOperator } from "./operator.ts";
import type { Publisher } from "./serving/publisher.ts";

interface MeasuredInventory {
  readonly operator: Pick<InventoryOperator, "inventory" | "ageMs" | "counts">;
  readonly publisher: Pick<Publisher, "ready" | "counts">;
  readonly grpc: Pick<GrpcListener, "streams">;
}

const name = "akash_provider_inventory";

export function measureInventory(metrics: Metrics, { operator, publisher, grpc }: MeasuredInventory): void {
  metrics.readEach("gauge", name, [
    ["age_seconds", "Time since the API server was last heard of", () => operator.ageMs / 1_000],
    ["ready", "1 once the whole cluster was read", () => (publisher.ready ? 1 : 0)],
    ["streams", "gRPC streams that receive each change", () => grpc.streams],
    ["pods", "Pods counted", () => operator.counts.allocations.pods],
  ]);
  metrics.readEach("counter", name, [
    ["pictures", "Inventories computed", () => operator.counts.pictures],
    ["published", "Inventories published", () => publisher.counts.published],
    ["drifts", "Nodes whose use a recount found wrong; more than 0 is a bug", () => operator.counts.allocations.drifts],
    ["labelled", "Nodes whose labels were written", () => operator.counts.labelled],
    ["registry_failures", "Failed reads of the GPU registry", () => operator.counts.registryFailures],
    ["ceph_failures", "Failed requests to Ceph", () => operator.counts.cephFailures],
  ]);
  measureCluster(metrics, () => operator.inventory);
}

function measureCluster(metrics: Metrics, inventory: () => Inventory | undefined): void {
  const nodes = () => inventory()?.nodes ?? [];
  const offered = () => nodes().filter((node) => node.offered);
  const gauge = { kind: "gauge" } as const;
  const named = { kind: "gauge", clusterNames: true } as const;
  const nodesHelp = "Nodes by whether they are offered";
  metrics.read({ ...gauge, name: `${name}_nodes`, help: nodesHelp, labels: ["offered"] }, () => [
    [{ offered: "true" }, offered().length],
    [{ offered: "false" }, nodes().length - offered().length],
  ]);
  const sumsHelp = "Allocatable and allocated amounts of all offered nodes: cpus, bytes, GPUs";
  metrics.read({ ...gauge, name: `${name}_resources`, help: sumsHelp, labels: ["resource", "amount"] }, () =>
    resourcesOf(offered()),
  );
  const nodeHelp = "Allocatable and allocated amounts of each node: cpus, bytes, GPUs";
  const nodeLabels = ["node", "resource", "amount"] as const;
  metrics.read({ ...named, name: `${name}_node_resources`, help: nodeHelp, labels: nodeLabels }, () =>
    nodes().flatMap((node) =>
      resourcesOf([node]).map(([labels, value]) => [{ node: node.name, ...labels }, value] as const),
    ),
  );
  const gpusHelp = "Allocatable and allocated GPUs of all offered nodes, by model";
  metrics.read({ ...named, name: `${name}_gpus`, help: gpusHelp, labels: ["model", "amount"] }, () =>
    [...Map.groupBy(offered().filter(hasGpus), modelOf)].flatMap(([model, group]) =>
      amounts.map((amount) => [{ model, amount }, sum(group, "gpus", amount)] as const),
    ),
  );
  const storageHelp = "Allocatable and allocated bytes of each storage class";
  metrics.read({ ...named, name: `${name}_storage_bytes`, help: storageHelp, labels: ["class", "amount"] }, () =>
    (inventory()?.storage ?? []).flatMap(({ class: name, bytes }) =>
      amounts.map((amount) => [{ class: name, amount }, Number(bytes[amount])] as const),
    ),
  );
  const conditionsHelp = "Conditions by type and node; the node is empty for those of the cluster and its storage";
  metrics.read({ ...named, name: `${name}_conditions`, help: conditionsHelp, labels: ["type", "node"] }, () =>
    conditionsOf(inventory()),
  );
}

const amounts = ["allocatable", "allocated"] as const;

/** Metrics are floats; for sums of bytes and cpus that is exact enough. */
function resourcesOf(nodes: readonly NodeInventory[]) {
  const resources = [
    ["cpu", "cpuMilli", 1_000],
    ["memory", "memoryBytes", 1],
    ["ephemeral-storage", "ephemeralBytes", 1],
    ["gpu", "gpus", 1],
  ] as const;
  return resources.flatMap(([resource, field, perUnit]) =>
    amounts.map((amount) => [{ resource, amount }, sum(nodes, field, amount) / perUnit] as const),
  );
}

function sum(
  nodes: readonly NodeInventory[],
  field: "cpuMilli" | "memoryBytes" | "ephemeralBytes" | "gpus",
  amount: keyof Amounts,
): number {
  return Number(nodes.reduce((total, node) => total + node[field][amount], 0n));
}

function hasGpus({ gpus }: NodeInventory): boolean {
  return gpus.allocatable > 0n || gpus.allocated > 0n;
}

/** Kubernetes tells how many cards of a node are taken, and not which; so a node with several models has none. */
function modelOf({ namedGpus }: NodeInventory): string {
  const [model = "unknown", ...others] = new Set(namedGpus.map((card) => card.name ?? "unknown"));
  return others.length > 0 ? "mixed" : model;
}

function conditionsOf(inventory: Inventory | undefined) {
  if (!inventory) return [];
  const { nodes, storage, conditions } = inventory;
  const places: { readonly node: string; readonly conditions: readonly Condition[] }[] = [
    { node: "", conditions: [...conditions, ...storage.flatMap((each) => each.conditions)] },
    ...nodes.map((node) => ({ node: node.name, conditions: node.conditions })),
  ];
  return places.flatMap(({ node, conditions }) => countByType(conditions, { node }));
}
