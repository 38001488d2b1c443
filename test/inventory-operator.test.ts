/** The whole inventory operator on the simulated cluster, under the virtual clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../src/kube/kinds.ts";
import type { KubeObject } from "../src/kube/kube.ts";
import { createSimulatedCluster, type SimulatedCluster } from "../src/kube/simulated/simulated-kube.ts";
import type { Hardware, Inventory, NodeInventory } from "../src/operators/inventory/inventory.ts";
import { discoveryPodName, discoverySelector } from "../src/operators/inventory/nodes/discovery-pod.ts";
import { createInventoryOperator, type InventoryOperator } from "../src/operators/inventory/operator.ts";
import { createVirtualClock, type VirtualClock } from "../src/runtime/clock.ts";
import { createLifecycle } from "../src/runtime/lifecycle.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import type { Owner } from "./owner.ts";

const gi = 2n ** 30n;
const namespace = "akash-services";
const discoveryImage = "discovery:1";

interface Stage {
  readonly cluster: SimulatedCluster;
  readonly clock: VirtualClock;
  readonly operator: InventoryOperator;
  readonly pictures: readonly Inventory[];
  node(name: string): NodeInventory | undefined;
  until(what: string, condition: () => unknown): Promise<void>;
  discoveryPods(): readonly KubeObject[];
  labels(node: string): Readonly<Record<string, string>>;
}

interface StageOptions {
  /** What discovery answers; undefined for a pod that answers nonsense. */
  readonly hardware?: () => Hardware | undefined;
  readonly config?: string;
  /** What is known of the image of discovery pods. */
  readonly image?: () => string | undefined;
  /** Done to the cluster before the operator sees it. */
  readonly prepare?: (cluster: SimulatedCluster) => void;
}

async function stage(t: Owner, options: StageOptions = {}): Promise<Stage> {
  const clock = createVirtualClock();
  const deps = { clock, random: createSeededRandom(1), log: silentLog };
  const answer = options.hardware ?? (() => hardware);
  const cluster = createSimulatedCluster(
    {
      nodes: ["one", "two"].map((name) => ({
        name,
        cpuMilli: 8_000n,
        memoryBytes: 32n * gi,
        ephemeralBytes: 100n * gi,
        gpus: { "nvidia.com/gpu": 2 },
        labels: { "example.com/theirs": "yes" },
      })),
      behaviour: (image) =>
        image === discoveryImage
          ? { http: ({ path }) => ({ status: 200, body: path === "/health" ? "ok" : JSON.stringify(answer() ?? "?") }) }
          : undefined,
    },
    deps,
  );
  cluster.server.create(kinds.namespace, { metadata: { name: namespace } }, "test");
  cluster.server.create(kinds.namespace, { metadata: { name: "tenants" } }, "test");
  options.prepare?.(cluster);
  const kube = cluster.connect("akash-operator-inventory");
  const pictures: Inventory[] = [];
  const discovery = { namespace, image: options.image ?? (() => discoveryImage), port: 8081 };
  const operator = createInventoryOperator(
    { config: options.config, registry: undefined, registryPeriodMs: 300_000, discovery },
    { ...deps, kube, onInventory: (inventory) => pictures.push(inventory) },
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

const hardware: Hardware = {
  architecture: "amd64",
  cpus: [{ id: "0", vendor: "AuthenticAMD", model: "EPYC", vcores: 8 }],
  memory: { totalBytes: Number(32n * gi) },
  gpus: ["01", "02"].map((slot) => ({ address: `0000:${slot}:00.0`, vendorId: "10de", deviceId: "2335" })),
  disks: [{ name: "nvme0n1", type: "nvme", sizeBytes: 10 ** 12 }],
  interfaces: [{ name: "eth0", up: true, speedMbps: 10_000 }],
  problems: [],
};

function pod(name: string, parts: { cpu?: string; gpus?: string; spec?: object } = {}): KubeObject {
  const requests = { cpu: parts.cpu ?? "1500m", memory: "1Gi", ...(parts.gpus && { "nvidia.com/gpu": parts.gpus }) };
  const resources = { requests, ...(parts.gpus && { limits: { "nvidia.com/gpu": parts.gpus } }) };
  return {
    metadata: { name, namespace: "tenants" },
    spec: { containers: [{ name: "main", image: "web", resources }], ...parts.spec },
  };
}

const modelKey = "akash.network/capabilities.gpu.vendor.nvidia.model.h200";

test("every node is discovered, counted and labelled", async (t) => {
  const { node, until, discoveryPods, labels } = await stage(t);
  await until("hardware of both", () => node("one")?.hardware && node("two")?.hardware);
  assert.deepEqual(
    discoveryPods()
      .map(({ spec }) => (spec as { nodeName: string }).nodeName)
      .sort(),
    ["one", "two"],
  );
  assert.deepEqual(
    node("one")?.namedGpus.map(({ name, memorySize }) => [name, memorySize]),
    [
      ["h200", "141Gi"],
      ["h200", "141Gi"],
    ],
  );
  await until("labels", () => labels("one")[modelKey] === "2");
  assert.equal(labels("one")["akash.network"], "true");
  assert.equal(labels("one")["nvidia.com/gpu.present"], "true");
  assert.equal(labels("one")["example.com/theirs"], "yes");
});

test("a pod is counted where it was put, and given back when it is gone", async (t) => {
  const { cluster, node, until } = await stage(t);
  await until("the first picture", () => node("one"));
  const idle = node("one")?.cpuMilli.allocated;
  cluster.server.create(kinds.pod, pod("web", { gpus: "1", spec: { nodeName: "one" } }), "test");
  await until("the pod to count", () => node("one")?.gpus.allocated === 1n);
  const busy = node("one")?.cpuMilli.allocated;
  // The discovery pod may have come meanwhile; it asks for a hundredth of a cpu.
  assert.ok(busy !== undefined && idle !== undefined && busy - idle >= 1_500n && busy - idle <= 1_510n);
  cluster.server.delete(kinds.pod, { namespace: "tenants", name: "web" });
  await until("the pod to go", () => node("one")?.gpus.allocated === 0n);
  assert.equal(node("one")?.cpuMilli.allocated, 10n);
});

test("a node that is not ready, cordoned or excluded is not offered, and says why", async (t) => {
  const { cluster, node, until, labels } = await stage(t, { config: "version: v1\nexclude:\n  nodes: [^two$]" });
  await until("labels", () => labels("one")[modelKey] === "2");
  assert.deepEqual(node("two")?.notOffered, ["excluded by the configuration (^two$)"]);
  cluster.nodes.notReady("one");
  await until("it to be withdrawn", () => node("one")?.offered === false);
  assert.deepEqual(node("one")?.notOffered, ["not ready"]);
  await until("its labels to go", () => labels("one")["akash.network"] === undefined);
  assert.equal(labels("one")["example.com/theirs"], "yes");
  cluster.nodes.ready("one");
  cluster.nodes.cordon("one");
  await until("the other reason", () => node("one")?.notOffered[0] === "cordoned");
  cluster.nodes.uncordon("one");
  await until("its labels to come back", () => labels("one")[modelKey] === "2");
});

test("a discovery pod that is deleted or has died is replaced, and one of an excluded or gone node goes", async (t) => {
  const { cluster, node, until, discoveryPods } = await stage(t);
  await until("hardware of both", () => node("one")?.hardware && node("two")?.hardware);
  const uidOn = (name: string) =>
    discoveryPods().find(({ spec }) => (spec as { nodeName: string }).nodeName === name)?.metadata.uid;
  const [first] = [uidOn("one")];
  cluster.server.delete(kinds.pod, { namespace, name: discoveryPods()[0]?.metadata.name ?? "" });
  await until(
    "another one",
    () => uidOn("one") !== undefined && uidOn("one") !== first && discoveryPods().length === 2,
  );
  const second = discoveryPods().find(({ metadata }) => metadata.uid === uidOn("one"));
  assert.ok(second);
  const status = { ...(second["status"] as object), phase: "Failed" };
  cluster.server.updateStatus(kinds.pod, { ...second, status }, "test");
  await until("a third one", () => uidOn("one") !== undefined && uidOn("one") !== second.metadata.uid);
  cluster.nodes.removeNode("two");
  await until("the pod of the gone node to go", () => discoveryPods().length === 1);
  assert.deepEqual(node("two"), undefined);
});

test("no discovery pod is made before its image is known, and the rest is told meanwhile", async (t) => {
  let image: string | undefined;
  const { node, until, discoveryPods } = await stage(t, { image: () => image });
  await until("the condition", () => node("one")?.conditions.some(({ type }) => type === "DiscoveryMissing"));
  assert.equal(node("one")?.cpuMilli.allocatable, 8_000n);
  assert.deepEqual(discoveryPods(), []);
  image = discoveryImage;
  await until("hardware of both", () => node("one")?.hardware && node("two")?.hardware);
});

test("a pod of somebody else that has the name of a discovery pod is left alone, and told of", async (t) => {
  const name = discoveryPodName("one");
  const { cluster, node, until, operator } = await stage(t, {
    prepare: ({ server }) => void server.create(kinds.pod, { ...pod(name), metadata: { name, namespace } }, "test"),
  });
  await until("the condition", () =>
    node("one")?.conditions.some(({ message }) => message.includes(`${name} is there`)),
  );
  await until("hardware of the other", () => node("two")?.hardware);
  assert.equal(cluster.server.get(kinds.pod, { namespace, name })?.metadata.labels, undefined);
  assert.equal(operator.queues[0]?.counts.outcomes.failed, 0);
});

test("a discovery that answers nonsense takes away nothing that was known, and is told of", async (t) => {
  let answer: Hardware | undefined = hardware;
  const { clock, node, until, labels } = await stage(t, { hardware: () => answer });
  await until("labels", () => labels("one")[modelKey] === "2");
  answer = undefined;
  await until("the trouble", () => node("one")?.conditions.some(({ type }) => type === "DiscoveryMissing"));
  await clock.advance(3_600_000);
  assert.equal(node("one")?.namedGpus.length, 2);
  assert.equal(labels("one")[modelKey], "2");
  answer = hardware;
  await until("the trouble to end", () => node("one")?.conditions.length === 0);
});

test("labels of ours that somebody changed or removed come back, and foreign ones are left alone", async (t) => {
  const { cluster, until, labels } = await stage(t);
  await until("labels", () => labels("one")[modelKey] === "2");
  const live = cluster.server.get(kinds.node, { name: "one" });
  assert.ok(live);
  const { [modelKey]: _, ...rest } = labels("one");
  const edited = { ...rest, "akash.network": "false", "example.com/new": "1" };
  cluster.server.update(kinds.node, { ...live, metadata: { ...live.metadata, labels: edited } }, "kubectl-edit");
  await until("ours to be back", () => labels("one")[modelKey] === "2" && labels("one")["akash.network"] === "true");
  assert.equal(labels("one")["example.com/new"], "1");
});

test("while the API server is gone the last picture stays, with its age and the reason", async (t) => {
  const { cluster, clock, operator, node, until } = await stage(t);
  await until("hardware", () => node("one")?.hardware && node("two")?.hardware);
  cluster.faults.refuse({ status: 503, times: Number.POSITIVE_INFINITY });
  cluster.faults.cutWatches();
  await clock.advance(400_000);
  assert.equal(operator.inventory?.nodes.length, 2);
  assert.ok(operator.ageMs > 300_000);
  assert.ok(operator.inventory?.conditions.some(({ type }) => type === "Stale"));
  cluster.faults.clear();
  await until("the trouble to end", () => operator.inventory?.conditions.length === 0);
});
