/** The inventory operator with all that tells of it: REST, gRPC, and the copy on the bus. */
import type { Bus } from "../../bus/bus.ts";
import type { GroundService, Scope } from "../../runtime/lifecycle.ts";
import type { Opened, OperatorServiceGround, OperatorServiceOptions, SettleOptions } from "../ground.ts";
import { type ClusterView, clusterView } from "./cluster-view.ts";
import { measureInventory } from "./inventory-metrics.ts";
import { createInventoryOperator, type InventoryOperatorOptions } from "./operator.ts";
import { startGrpc } from "./serving/grpc.ts";
import { createPublisher, type Publisher } from "./serving/publisher.ts";
import { startRest } from "./serving/rest.ts";

export interface InventoryServiceOptions extends InventoryOperatorOptions, OperatorServiceOptions {
  readonly apiTimeoutMs: number;
}

interface InventoryGround extends OperatorServiceGround {
  readonly bus: Promise<Bus>;
}

/** What it opens is the publisher, for whoever reads pictures in the same process. */
export function createInventoryService(
  settle: SettleOptions<InventoryServiceOptions>,
  ground: InventoryGround,
): GroundService<Publisher, ClusterView> {
  const { promise: opened, resolve } = Promise.withResolvers<Publisher>();
  let parts: InventoryParts | undefined;
  return {
    name: "inventory",
    opened,
    async start(scope) {
      const [kube, bus] = await Promise.all([ground.kube, ground.bus]);
      const log = ground.log.with({ module: "inventory" });
      parts = await startInventory(await settle(kube, scope), { ...ground, kube, bus, log }, scope);
      resolve(parts.publisher);
    },
    detail() {
      if (!parts) return "";
      const { operator, rest, grpc, host } = parts;
      return operator.waitingFor ?? `http://${host}:${rest.port}/v1/inventory?pretty, gRPC ${host}:${grpc.port}`;
    },
    status: () => clusterView(parts?.operator),
    get queues() {
      return parts?.operator.queues ?? [];
    },
    measure: (metrics) => parts && measureInventory(metrics, parts),
  };
}

type InventoryParts = Awaited<ReturnType<typeof startInventory>>;

/** Resolves when it listens. The first picture comes when the cluster has been read; until then it says what it waits for. */
export async function startInventory(
  options: InventoryServiceOptions,
  { kube, bus, metrics, clock, random, log }: Opened<InventoryGround>,
  scope: Scope,
) {
  const publisher = createPublisher({
    clock,
    log,
    bus,
    waitingFor: () => operator.waitingFor,
    ageMs: () => operator.ageMs,
    volumesAgeMs: () => operator.volumesAgeMs,
  });
  const operator = createInventoryOperator(options, { kube, clock, random, log, onInventory: publisher.show });
  operator.start(scope);
  scope.onStop(publisher.close);
  const { host, apiTimeoutMs, version } = options;
  const rest = await startRest(publisher, { host, port: options.restPort, apiTimeoutMs, version, metrics, clock, log });
  scope.onStop(() => rest.close());
  const grpc = await startGrpc(publisher, { host, port: options.grpcPort, clock, log });
  scope.onStop(grpc.close);
  log.info("inventory API listening", { rest: `${host}:${rest.port}`, grpc: `${host}:${grpc.port}` });
  return { host, operator, publisher, rest, grpc };
}
