/** The inventory operator with REST, gRPC, metrics, its status and the copy on the bus. */
import type { Bus } from "../../bus/bus.ts";
import { formatBytes, formatCount, formatCpuMilli } from "../../market/quantity.ts";
import { countByType } from "../../runtime/condition.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import {
  createOperatorService,
  type Opened,
  type OperatorServiceDeps,
  type OperatorServiceOptions,
  type SettleOptions,
} from "../operator-service.ts";
import type { GrpcListener } from "../serving/grpc.ts";
import type { SoldResources } from "./accounting/resources.ts";
import type { Inventory, NodeInventory, ResourceAmounts } from "./inventory.ts";
import { createInventoryOperator, type InventoryOperator, type InventoryOperatorOptions } from "./operator.ts";
import { startInventoryGrpc, startInventoryRest } from "./serving/listeners.ts";
import { createPublisher, type Publisher } from "./serving/publisher.ts";

export interface InventoryServiceOptions extends InventoryOperatorOptions, OperatorServiceOptions {
  readonly apiTimeoutMs: number;
}

interface InventoryDeps extends OperatorServiceDeps {
  readonly bus: Promise<Bus>;
}

export function createInventoryService(settle: SettleOptions<InventoryServiceOptions>, deps: InventoryDeps) {
  return createOperatorService(
    {
      name: "inventory",
      start: startInventory,
      opens: ({ publisher }) => publisher,
      page: "/v1/inventory?pretty",
      status: (parts) => inventoryView(parts?.operator),
      measure: measureInventory,
    },
    settle,
    deps,
  );
}

export async function startInventory(
  options: InventoryServiceOptions,
  { bus, metrics, ...deps }: Opened<InventoryDeps>,
  scope: Scope,
) {
  const { host } = options;
  const { clock, log } = deps;
  const waitingFor = () => operator.waitingFor;
  const ages = { ageMs: () => operator.ageMs, volumesAgeMs: () => operator.volumesAgeMs };
  const publisher = createPublisher({ clock, log, bus, waitingFor, ...ages });
  const operator = createInventoryOperator(options, { ...deps, onInventory: publisher.show });
  operator.start(scope);
  scope.onStop(publisher.close);
  const rest = await startInventoryRest(publisher, { ...options, ...deps, port: options.restPort, metrics });
  scope.onStop(() => rest.close());
  const grpc = await startInventoryGrpc(publisher, { host, clock, log, port: options.grpcPort });
  scope.onStop(grpc.close);
  log.info("inventory API listening", { rest: `${host}:${rest.port}`, grpc: `${host}:${grpc.port}` });
  return { host, operator, publisher, rest, grpc };
}

export type InventoryView = ReturnType<typeof inventoryView>;

/** The status: the nodes in a few words each. */
function inventoryView(operator?: Pick<InventoryOperator, "inventory" | "waitingFor">) {
  const { inventory, waitingFor = "the first snapshot" } = operator ?? {};
  return {
    nodes: inventory?.nodes.map(nodeView) ?? [],
    /** Why there is no snapshot yet, or its first condition. */
    trouble: inventory ? inventory.conditions[0]?.message : `waiting for ${waitingFor}`,
  };
}

function nodeView({ name, offered, notOffered, cpuMilli, memoryBytes, gpus, namedGpus, conditions }: NodeInventory) {
  const models = namedGpus.map((gpu) => gpu.name ?? `${gpu.vendorId}:${gpu.deviceId}`);
  const counts = [...Map.groupBy(models, (model) => model)].map(([model, all]) => `${all.length} × ${model}`);
  return {
    name,
    state: offered ? "offered" : notOffered.map(({ message }) => message).join(", "),
    cpu: share(cpuMilli, formatCpuMilli),
    memory: share(memoryBytes, formatBytes),
    gpu: share(gpus, formatCount),
    cards: counts.join(", ") || (conditions[0]?.message ?? ""),
  };
}

export type Share = ReturnType<typeof share>;

/** "3.5" of "64", "12Gi" of "256Gi". */
function share({ allocated, allocatable }: ResourceAmounts, format: (amount: bigint) => string) {
  return { allocated: format(allocated), allocatable: format(allocatable) };
}

interface MeasuredInventory {
  readonly operator: Pick<InventoryOperator, "inventory" | "ageMs" | "counts">;
  readonly publisher: Pick<Publisher, "ready" | "publishedCount">;
  readonly grpc: Pick<GrpcListener, "streams">;
}

const prefix = "akash_provider_inventory";

export function measureInventory(metrics: Metrics, { operator, publisher, grpc }: MeasuredInventory): void {
  metrics.readEach("gauge", prefix, [
    ["age_seconds", "Time since the API server was last heard of", () => operator.ageMs / 1_000],
    ["ready", "1 once the whole cluster was read", () => (publisher.ready ? 1 : 0)],
    ["streams", "gRPC streams that receive each change", () => grpc.streams],
    ["pods", "Pods counted", () => operator.counts.pods],
  ]);
  metrics.readEach("counter", prefix, [
    ["pictures", "Inventories computed", () => operator.counts.snapshots],
    ["published", "Inventories published", () => publisher.publishedCount],
    ["drifts", "Nodes whose use a recount found wrong; more than 0 is a bug", () => operator.counts.drifts],
    ["labelled", "Nodes whose labels were written", () => operator.counts.labelled],
    ["registry_failures", "Failed reads of the GPU registry", () => operator.counts.registryFailures],
    ["ceph_failures", "Failed requests to Ceph", () => operator.counts.cephFailures],
  ]);
  measureCluster(metrics, () => operator.inventory);
}

function measureCluster(metrics: Metrics, inventory: () => Inventory | undefined): void {
  const nodes = () => inventory()?.nodes ?? [];
  const offered = () => nodes().filter((node) => node.offered);
  const gauge = (name: string, help: string) => ({ kind: "gauge", name: `${prefix}_${name}`, help }) as const;
  const named = { clusterNames: true } as const;
  metrics.read({ ...gauge("nodes", "Nodes by whether they are offered"), labels: ["offered"] }, () => [
    [{ offered: "true" }, offered().length],
    [{ offered: "false" }, nodes().length - offered().length],
  ]);
  const sums = gauge("resources", "Allocatable and allocated amounts of all offered nodes: cpus, bytes, GPUs");
  metrics.read({ ...sums, labels: ["resource", "amount"] }, () => resourcesOf(offered()));
  const ofNode = gauge("node_resources", "Allocatable and allocated amounts of each node: cpus, bytes, GPUs");
  metrics.read({ ...ofNode, ...named, labels: ["node", "resource", "amount"] }, () =>
    nodes().flatMap((node) =>
      resourcesOf([node]).map(([labels, value]) => [{ node: node.name, ...labels }, value] as const),
    ),
  );
  const gpus = gauge("gpus", "Allocatable and allocated GPUs of all offered nodes, by model");
  metrics.read({ ...gpus, ...named, labels: ["model", "amount"] }, () =>
    [...Map.groupBy(offered().filter(hasGpus), modelOf)].flatMap(([model, group]) =>
      amounts.map((amount) => [{ model, amount }, sum(group, "gpus", amount)] as const),
    ),
  );
  const bytes = gauge("storage_bytes", "Allocatable and allocated bytes of each storage class");
  metrics.read({ ...bytes, ...named, labels: ["class", "amount"] }, () =>
    (inventory()?.storage ?? []).flatMap((each) =>
      amounts.map((amount) => [{ class: each.class, amount }, Number(each.bytes[amount])] as const),
    ),
  );
  const help = "Conditions by type and node; the node is empty for those of the cluster and its storage";
  metrics.read({ ...gauge("conditions", help), ...named, labels: ["type", "node"] }, () => {
    const { storage = [], conditions = [] } = inventory() ?? {};
    const ofCluster = [...conditions, ...storage.flatMap((each) => each.conditions)];
    return [
      ...countByType(ofCluster, { node: "" }),
      ...nodes().flatMap((node) => countByType(node.conditions, { node: node.name })),
    ];
  });
}

const amounts = ["allocatable", "allocated"] as const;

/** Metrics are floats: exact enough for sums of bytes and cpus. */
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

function sum(nodes: readonly NodeInventory[], field: keyof SoldResources, amount: keyof ResourceAmounts): number {
  return Number(nodes.reduce((total, node) => total + node[field][amount], 0n));
}

function hasGpus({ gpus }: NodeInventory): boolean {
  return gpus.allocatable > 0n || gpus.allocated > 0n;
}

/** Kubernetes does not report which GPUs of a node are taken, so a node with several models has none. */
function modelOf({ namedGpus }: NodeInventory): string {
  const [model = "unknown", ...others] = new Set(namedGpus.map((gpu) => gpu.name ?? "unknown"));
  return others.length > 0 ? "mixed" : model;
}
