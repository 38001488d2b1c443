/**
 * Random histories of a small cluster. Beside the sums and the folds, which hear of one event at a time, stands a model
 * that knows all objects and counts them from scratch in plain numbers; after every event both must show the same.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createAllocations } from "../../../../test/support/pod-allocations.ts";
import { runs } from "../../../../test/support/runs.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { defaultInventoryConfig } from "../configuration/inventory-config.ts";
import type { NodeInventory } from "../inventory.ts";
import { nodeInventory } from "./node-inventory.ts";
import { projectNode } from "./watched-node.ts";
import { projectPod } from "./watched-pod.ts";

const nodeNames = ["a", "b", "c"] as const;
const podNames = ["one/web-0", "two/web-0", "one/job"] as const;
const phases = ["Pending", "Running", "Succeeded", "Failed"] as const;
/** Of memory and of ephemeral storage: two or three pods fill it. */
const nodeBytes = 1_000;
const storageKey = "akash.network/capabilities.storage.class.beta3";

interface ModelPod {
  readonly uid: string;
  readonly name: string;
  readonly node: string | undefined;
  readonly phase: string;
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly ephemeralBytes: number;
  /** Of an init container: the pod never counts less. */
  readonly initMilli: number;
  readonly sidecar: Sidecar;
  /** Of a volume in RAM, which no limit bounds. */
  readonly ramBytes: number;
  readonly overhead: { readonly cpuMilli: number; readonly memoryBytes: number };
  /** Set by an earlier size of the container; the greater of both counts. */
  readonly heldMilli: number;
  readonly gpus: number;
  readonly selects: boolean;
  readonly deleting: boolean;
}

/** An init container that goes on running beside all that start after it. */
interface Sidecar {
  readonly cpuMilli: number;
  readonly ephemeralBytes: number;
  /** Whether it starts before the other init container, which then runs beside it. */
  readonly first: boolean;
}

interface ModelNode {
  readonly cpuMilli: number;
  readonly gpus: number;
  readonly ready: boolean;
  readonly cordoned: boolean;
}

function podObject(pod: ModelPod): KubeObject {
  const [namespace = "", name = ""] = pod.name.split("/");
  const gpu = pod.gpus > 0 ? { "nvidia.com/gpu": String(pod.gpus) } : {};
  const disk = { "ephemeral-storage": String(pod.ephemeralBytes) };
  const requests = { cpu: `${pod.cpuMilli}m`, memory: String(pod.memoryBytes), ...disk, ...gpu };
  const init = { name: "i", resources: { requests: { cpu: `${pod.initMilli}m` } } };
  const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: storageKey, operator: "Gt", values: ["0"] }] }] };
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  return {
    metadata: { name, namespace, uid: pod.uid, ...(pod.deleting && { deletionTimestamp: "2026-01-01T00:00:00Z" }) },
    spec: {
      containers: [{ name: "c", resources: { requests } }],
      initContainers: pod.sidecar.first ? [sidecarObject(pod.sidecar), init] : [init, sidecarObject(pod.sidecar)],
      volumes: [{ name: "shm", emptyDir: { medium: "Memory", sizeLimit: String(pod.ramBytes) } }],
      overhead: { cpu: `${pod.overhead.cpuMilli}m`, memory: String(pod.overhead.memoryBytes) },
      ...(pod.node !== undefined && { nodeName: pod.node }),
      ...(pod.selects && { affinity }),
    },
    status: {
      phase: pod.phase,
      containerStatuses: [{ name: "c", resources: { requests: { cpu: `${pod.heldMilli}m` } } }],
    },
  };
}

function sidecarObject({ cpuMilli, ephemeralBytes }: Sidecar): object {
  const requests = { cpu: `${cpuMilli}m`, "ephemeral-storage": String(ephemeralBytes) };
  return { name: "s", restartPolicy: "Always", resources: { requests } };
}

function nodeObject(name: string, node: ModelNode): KubeObject {
  const bytes = { memory: String(nodeBytes), "ephemeral-storage": String(nodeBytes) };
  const list = { cpu: `${node.cpuMilli}m`, ...bytes, "nvidia.com/gpu": String(node.gpus) };
  const conditions = [{ type: "Ready", status: node.ready ? "True" : "Unknown" }];
  return {
    metadata: { name, uid: name },
    spec: { unschedulable: node.cordoned },
    status: { capacity: list, allocatable: list, conditions },
  };
}

const small = fc.integer({ min: 0, max: 4_000 });
const fewBytes = fc.integer({ min: 0, max: 600 });
const podShape = fc.record({
  node: fc.option(fc.constantFrom(...nodeNames), { nil: undefined }),
  phase: fc.constantFrom(...phases),
  cpuMilli: small,
  memoryBytes: fewBytes,
  ephemeralBytes: fewBytes,
  initMilli: small,
  sidecar: fc.record({ cpuMilli: small, ephemeralBytes: fewBytes, first: fc.boolean() }),
  ramBytes: fewBytes,
  overhead: fc.record({ cpuMilli: small, memoryBytes: fewBytes }),
  heldMilli: small,
  gpus: fc.integer({ min: 0, max: 3 }),
  selects: fc.boolean(),
  deleting: fc.boolean(),
});
const event = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant("create" as const), name: fc.constantFrom(...podNames), shape: podShape }),
  },
  { weight: 4, arbitrary: fc.record({ what: fc.constant("change" as const), pick: fc.nat(20), shape: podShape }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("repeat" as const), pick: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("delete" as const), pick: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("deleteTwice" as const), pick: fc.nat(20) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant("node" as const),
      name: fc.constantFrom(...nodeNames),
      shape: fc.option(
        fc.record({
          cpuMilli: small,
          gpus: fc.integer({ min: 0, max: 3 }),
          ready: fc.boolean(),
          cordoned: fc.boolean(),
        }),
      ),
    }),
  },
);

test("after any history the sums, the offers and the evidence are those of a count from scratch", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60, size: "max" }), (history) => {
      const allocations = createAllocations();
      const pods = new Map<string, ModelPod>();
      const nodes = new Map<string, ModelNode>();
      const shown = new Map<string, NodeInventory>();
      let uids = 0;

      const refold = (names: readonly string[]) => {
        for (const name of names) {
          const node = nodes.get(name);
          if (!node) shown.delete(name);
          else shown.set(name, fold(nodeObject(name, node)));
        }
      };
      const fold = (object: KubeObject) =>
        nodeInventory({
          node: projectNode(object),
          allocation: allocations.ofNode(object.metadata.name),
          config: defaultInventoryConfig,
          storageClasses: [],
          namedGpus: [],
        });
      const see = (pod: ModelPod) => {
        pods.set(pod.uid, pod);
        refold(allocations.seen(projectPod(podObject(pod))));
      };
      const pickPod = (pick: number) => [...pods.values()][pick % Math.max(1, pods.size)];

      for (const step of history) {
        if (step.what === "create") {
          // Also while a pod of that name is still there: its end may be heard of later.
          uids += 1;
          see({ ...step.shape, uid: `u${uids}`, name: step.name });
        } else if (step.what === "node") {
          if (step.shape) nodes.set(step.name, step.shape);
          else nodes.delete(step.name);
          refold([step.name]);
        } else {
          const pod = pickPod(step.pick);
          if (!pod) continue;
          if (step.what === "change") see({ ...pod, ...step.shape });
          else if (step.what === "repeat") see(pod);
          else {
            pods.delete(pod.uid);
            refold(allocations.gone(pod.uid));
            if (step.what === "deleteTwice") assert.deepEqual(allocations.gone(pod.uid), []);
          }
        }
        compare(pods, nodes, shown);
        const selected = [...pods.values()].some((pod) => pod.selects && isLive(pod));
        assert.deepEqual(allocations.gtSelected(), new Set(selected ? [storageKey] : []));
      }
    }),
    { numRuns: runs(300, 20_000) },
  );
});

function isLive({ phase }: ModelPod): boolean {
  return phase === "Pending" || phase === "Running";
}

function cpuMilliOf({ cpuMilli, heldMilli, initMilli, sidecar, overhead }: ModelPod): number {
  const running = Math.max(cpuMilli, heldMilli) + sidecar.cpuMilli;
  const starting = initMilli + (sidecar.first ? sidecar.cpuMilli : 0);
  return Math.max(running, starting) + overhead.cpuMilli;
}

function compare(
  pods: ReadonlyMap<string, ModelPod>,
  nodes: ReadonlyMap<string, ModelNode>,
  shown: ReadonlyMap<string, NodeInventory>,
): void {
  assert.deepEqual([...shown.keys()].toSorted(), [...nodes.keys()].toSorted());
  for (const [name, node] of nodes) {
    const here = [...pods.values()].filter((pod) => pod.node === name && isLive(pod));
    const sum = (of: (pod: ModelPod) => number) => here.reduce((total, pod) => total + of(pod), 0);
    const cpu = sum(cpuMilliOf);
    const memory = sum((pod) => pod.memoryBytes + pod.ramBytes + pod.overhead.memoryBytes);
    const ephemeral = sum((pod) => pod.ephemeralBytes + pod.sidecar.ephemeralBytes);
    const gpus = sum((pod) => pod.gpus);
    const inventory = shown.get(name);
    assert.ok(inventory);
    const { cpuMilli, memoryBytes, ephemeralBytes } = inventory;
    assert.deepEqual(
      [cpuMilli, memoryBytes, ephemeralBytes, inventory.gpus].map(({ allocated }) => allocated),
      [cpu, memory, ephemeral, gpus].map(BigInt),
    );
    assert.equal(inventory.offered, node.ready && !node.cordoned);
    const over = cpu > node.cpuMilli || memory > nodeBytes || ephemeral > nodeBytes || gpus > node.gpus;
    assert.equal(
      inventory.conditions.some(({ type }) => type === "Overbooked"),
      over,
    );
  }
}
