/**
 * One moment's inventory in every form in which it is published. Each form is made when it is first asked for; what
 * belongs to a single node is taken over from picture to picture for as long as that node stays the same object.
 */
import type { Json, JsonObject } from "../../../bus/topics.ts";
import { formatBytes } from "../../../market/quantity.ts";
import { formatTime } from "../../../runtime/clock.ts";
import { once } from "../../../runtime/once.ts";
import { interfaceKind } from "../gpu-names/registry.ts";
import type { Inventory, NamedGpu, NodeInventory, StorageInventory } from "../inventory.ts";
import {
  clusterMessage,
  type NetworkNode,
  type NetworkStorage,
  networkNode,
  networkNodeJson,
  networkStorage,
  networkStorageJson,
  nodeMessage,
  nodeOfCluster,
} from "./network-inventory.ts";

export interface Picture {
  readonly inventory: Inventory;
  /** What the network is told, in its own words. A node that stayed the same object does so here. */
  readonly network: { readonly nodes: readonly NetworkNode[]; readonly storage: readonly NetworkStorage[] };
  /** akash.inventory.v1.Cluster with the nodes that are offered: to the network, others do not exist. */
  clusterMessage(): Buffer;
  /** akash.inventory.v1.Node; undefined where the node is not offered, or is none. */
  nodeMessage(name: string): Uint8Array | undefined;
  /** The names of the nodes that are offered, in order. */
  readonly offered: readonly string[];
  /** Everything as JSON, but for the brace at its end: only whoever answers knows how old it is by then. */
  fullJson(): Buffer;
  clusterJson(): JsonObject;
  storageJson(): JsonObject;
  nodesJson(): JsonObject;
  /** Pictures whose texts are equal have the same `storageJson` and the same `nodesJson`, but for the time. */
  storageText(): string;
  nodeTexts(): readonly string[];
}

/** Makes pictures that share what they can. */
export function createPictures(): (inventory: Inventory) => Picture {
  const network = memoized(networkNode);
  const message = memoized((node: NodeInventory) => nodeMessage(network(node)));
  const messageInCluster = memoized((node: NodeInventory) => nodeOfCluster(message(node)));
  const networkJson = memoized((node: NodeInventory) => networkNodeJson(network(node)));
  const fullText = memoized((node: NodeInventory) => JSON.stringify(fullNodeJson(node)));
  const hardwareJson = memoized(nodeHardwareJson);
  const hardwareText = memoized((node: NodeInventory) => JSON.stringify(hardwareJson(node)));

  return (inventory) => {
    const { nodes, storage, conditions, atMs } = inventory;
    const at = formatTime(atMs);
    const offered = nodes.filter((node) => node.offered);
    const networkClasses = storage.map(networkStorage);
    const classes = once(() => storage.map(fullStorageJson));
    const storageText = once(() => JSON.stringify(classes()));
    return {
      inventory,
      get network() {
        return { nodes: offered.map(network), storage: networkClasses };
      },
      offered: offered.map(({ name }) => name),
      clusterMessage: once(() => clusterMessage(offered.map(messageInCluster), networkClasses)),
      nodeMessage(name) {
        const node = offered.find((each) => each.name === name);
        return node && message(node);
      },
      fullJson: once(() => {
        const others = nodes.filter((node) => !node.offered);
        const lists = [
          `"nodes":[${offered.map(fullText).join(",")}]`,
          `"storage":${storageText()}`,
          `"not_offered":[${others.map(fullText).join(",")}]`,
          `"conditions":${JSON.stringify(conditions)}`,
        ];
        return Buffer.from(`{${lists.join(",")},"at":"${at}"`);
      }),
      clusterJson: () => ({ nodes: offered.map(networkJson), storage: networkClasses.map(networkStorageJson), at }),
      storageJson: () => ({ storage: classes(), at }),
      nodesJson: () => ({ nodes: nodes.map(hardwareJson), at }),
      storageText,
      nodeTexts: once(() => nodes.map(hardwareText)),
    };
  };
}

/** What is made of an object that never changes is made once, and forgotten with it. */
function memoized<K extends object, V>(make: (from: K) => V): (from: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  return (from) => {
    const known = made.get(from);
    if (known) return known.value;
    const value = make(from);
    made.set(from, { value });
    return value;
  };
}

/**
 * All that is known, for people and for those who read the seeds' keys: the network's JSON with more beside it. Where
 * both have a key of the same name with another meaning, the network's stands under `resources`.
 */
export function fullNodeJson(node: NodeInventory): JsonObject {
  const { cpuMilli, memoryBytes, gpus, hardware, hardwareAtMs, usage } = node;
  return compact({
    ...networkNodeJson(networkNode(node)),
    ...(node.offered ? {} : { reasons: reasonsOf(node) }),
    cpu: {
      quantity: { allocatable: Number(cpuMilli.allocatable), allocated: Number(cpuMilli.allocated) },
      info: hardware?.cpus.map(({ model, vcores }) => ({ model, vcores })) ?? [],
    },
    gpu: {
      quantity: { allocatable: Number(gpus.allocatable), allocated: Number(gpus.allocated) },
      info: node.namedGpus.filter(({ name }) => name !== undefined).map(gpuJson),
      unknown: node.namedGpus.filter(({ name }) => name === undefined).map(gpuJson),
    },
    memory: {
      quantity: { allocatable: formatBytes(memoryBytes.allocatable), allocated: formatBytes(memoryBytes.allocated) },
    },
    ...hardwareJson(node),
    hardware_at: hardwareAtMs === undefined ? undefined : formatTime(hardwareAtMs),
    usage: usage && { cpu: Number(usage.cpuMilli), memory: formatBytes(usage.memoryBytes) },
    problems: hardware?.problems,
    conditions: node.conditions.map((each) => ({ ...each })),
  });
}

/** What the node is made of, whoever uses it: it changes when somebody changes the machine. */
function nodeHardwareJson(node: NodeInventory): JsonObject {
  const { capacity, allocatable } = node.memoryBytes;
  return compact({
    name: node.name,
    offered: node.offered,
    reasons: reasonsOf(node),
    cpu: {
      capacity: Number(node.cpuMilli.capacity),
      allocatable: Number(node.cpuMilli.allocatable),
      info: node.hardware?.cpus.map(({ id, vendor, model, vcores }) => ({ id, vendor, model, vcores })) ?? [],
    },
    memory: { capacity: formatBytes(capacity), allocatable: formatBytes(allocatable) },
    gpu: {
      capacity: Number(node.gpus.capacity),
      allocatable: Number(node.gpus.allocatable),
      info: node.namedGpus.map(gpuJson),
    },
    ...hardwareJson(node),
    capabilities: { storage_classes: node.storageClasses },
  });
}

export function fullStorageJson(storage: StorageInventory): JsonObject {
  return compact({
    ...networkStorageJson(networkStorage(storage)),
    class: storage.class,
    size: formatBytes(storage.bytes.capacity),
    provisioner: storage.provisioner,
    driver: storage.driver,
    performance: storage.performance,
    replicas: storage.replicas,
    conditions: storage.conditions.map((each) => ({ ...each })),
  });
}

function reasonsOf({ notOffered }: NodeInventory): string[] {
  return notOffered.map(({ message }) => message);
}

function hardwareJson({ hardware }: NodeInventory): Record<string, Json | undefined> {
  return {
    architecture: hardware?.architecture,
    disks: hardware?.disks.map(({ name, type, sizeBytes, model }) =>
      compact({ name, type, size: formatBytes(BigInt(sizeBytes)), model }),
    ),
    interfaces: hardware?.interfaces.map(({ name, up, speedMbps }) => compact({ name, up, speed_mbps: speedMbps })),
  };
}

function gpuJson(card: NamedGpu): JsonObject {
  const { health } = card;
  return compact({
    vendor: card.vendor,
    vendor_id: card.vendorId,
    name: card.name,
    modelid: card.deviceId,
    model_id: card.deviceId,
    interface: card.interface && interfaceKind(card.interface),
    memory_size: card.memorySize,
    address: card.address,
    uuid: card.uuid,
    driver: card.driver,
    driver_version: card.driverVersion,
    driver_model: card.driverModel,
    cuda_version: card.cudaVersion,
    compute_capability: card.computeCapability,
    mig_instances: card.migInstances,
    not_sold: card.notSold,
    health: health && compact({ healthy: health.healthy, reason: health.reason }),
    registry_line: card.registryLine,
  });
}

/** Without the keys that have no value. */
function compact(fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  const kept: Record<string, Json> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) kept[name] = value;
  return kept;
}
