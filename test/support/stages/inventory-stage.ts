/** The inventory operator on a simulated cluster of two nodes, under the virtual clock. */
import { createSimulatedCluster, type SimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import type { ObjectReference } from "../../../src/kube/event-recorder.ts";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import type { Hardware } from "../../../src/operators/inventory/hardware.ts";
import type { Inventory, NodeInventory } from "../../../src/operators/inventory/inventory.ts";
import { discoverySelector } from "../../../src/operators/inventory/nodes/discovery-pod.ts";
import { createInventoryOperator, type InventoryOperator } from "../../../src/operators/inventory/operator.ts";
import { createLifecycle } from "../../../src/runtime/lifecycle.ts";
import { type Log, silentLog } from "../../../src/runtime/log.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";

const gi = 2n ** 30n;
export const namespace = "akash-services";
export const discoveryImage = "discovery:1";

export interface Stage {
  readonly cluster: SimulatedCluster;
  readonly clock: VirtualClock;
  readonly operator: InventoryOperator;
  readonly pictures: readonly Inventory[];
  node(name: string): NodeInventory | undefined;
  until(what: string, condition: () => unknown): Promise<void>;
  discoveryPods(): readonly KubeObject[];
  labels(node: string): Readonly<Record<string, string>>;
}

export interface StageOptions {
  /** What discovery answers, by the version that its image has; undefined for a pod that answers nonsense. */
  readonly hardware?: (image: string) => Hardware | undefined;
  readonly nodes?: readonly string[];
  readonly config?: string;
  /** What is known of the image of discovery pods. */
  readonly image?: () => string | undefined;
  /** Done to the cluster before the operator sees it. */
  readonly prepare?: (cluster: SimulatedCluster, clock: VirtualClock) => void | Promise<void>;
  /** What the operator is given of the cluster instead of all of it. */
  readonly through?: (kube: Kube) => Kube;
  readonly log?: Log;
  /** Told of every snapshot. */
  readonly onInventory?: (inventory: Inventory) => void;
  /** The operator's own pod; with it, conditions become Events. */
  readonly self?: ObjectReference;
}

export async function stage(t: Owner, options: StageOptions = {}): Promise<Stage> {
  const clock = createVirtualClock();
  const deps = { clock, random: createSeededRandom(1), log: options.log ?? silentLog };
  const answer = options.hardware ?? (() => hardware);
  const cluster = createSimulatedCluster(
    {
      nodes: (options.nodes ?? ["one", "two"]).map((name) => ({
        name,
        cpuMilli: 8_000n,
        memoryBytes: 32n * gi,
        ephemeralBytes: 100n * gi,
        gpus: { "nvidia.com/gpu": 2 },
        labels: { "example.com/theirs": "yes" },
      })),
      behaviour: (image) =>
        image.startsWith("discovery:")
          ? {
              http: ({ path }) => ({
                status: 200,
                body: path === "/health" ? "ok" : JSON.stringify(answer(image) ?? "?"),
              }),
            }
          : undefined,
    },
    deps,
  );
  cluster.server.create(kinds.namespace, { metadata: { name: namespace } }, "test");
  cluster.server.create(kinds.namespace, { metadata: { name: "tenants" } }, "test");
  await options.prepare?.(cluster, clock);
  const through = options.through ?? ((kube) => kube);
  const kube = through(cluster.connect("akash-operator-inventory"));
  const pictures: Inventory[] = [];
  const discovery = { namespace, image: options.image ?? (() => discoveryImage), port: 8081, privileged: true };
  const operator = createInventoryOperator(
    {
      config: options.config,
      registry: undefined,
      registryPeriodMs: 300_000,
      discovery,
      ...(options.self && { events: { instance: "test", self: () => options.self } }),
    },
    {
      ...deps,
      kube,
      onInventory(inventory) {
        pictures.push(inventory);
        options.onInventory?.(inventory);
      },
    },
  );
  const stopping = new AbortController();
  const running = createLifecycle({ services: [operator], clock, log: silentLog }).run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
    await cluster.close();
  });
  const { server } = cluster;
  return {
    cluster,
    clock,
    operator,
    pictures,
    node: (name) => operator.inventory?.nodes.find((each) => each.name === name),
    until: async (what, condition) => {
      await clock
        .advanceUntil(() => Boolean(condition()), 600_000)
        .catch((thrown) => {
          throw new Error(`waited in vain for ${what}`, { cause: thrown });
        });
    },
    discoveryPods: () => server.list(kinds.pod, { namespace, labelSelector: discoverySelector }),
    labels: (node) => server.get(kinds.node, { name: node })?.metadata.labels ?? {},
  };
}

export const hardware: Hardware = {
  architecture: "amd64",
  cpus: [{ id: "0", vendor: "AuthenticAMD", model: "EPYC", vcores: 8 }],
  memory: { totalBytes: Number(32n * gi) },
  gpus: ["01", "02"].map((slot) => ({ address: `0000:${slot}:00.0`, vendorId: "10de", deviceId: "2335" })),
  disks: [{ name: "nvme0n1", type: "nvme", sizeBytes: 10 ** 12 }],
  interfaces: [{ name: "eth0", up: true, speedMbps: 10_000 }],
  problems: [],
};

export function pod(name: string, parts: { cpu?: string; gpus?: string; spec?: object } = {}): KubeObject {
  const requests = { cpu: parts.cpu ?? "1500m", memory: "1Gi", ...(parts.gpus && { "nvidia.com/gpu": parts.gpus }) };
  const resources = { requests, ...(parts.gpus && { limits: { "nvidia.com/gpu": parts.gpus } }) };
  return {
    metadata: { name, namespace: "tenants" },
    spec: { containers: [{ name: "main", image: "web", resources }], ...parts.spec },
  };
}
