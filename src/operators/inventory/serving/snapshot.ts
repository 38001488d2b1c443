/** An inventory in each published form, made on first use; a node that stayed the same object is not encoded again. */

import {
  Cluster,
  type GPUInfo,
  Node,
  type ResourcePair,
  type Storage,
} from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Json, JsonObject } from "../../../bus/topics.ts";
import { formatBytes, formatCount, formatCpuMilli } from "../../../market/quantity.ts";
import { formatTime } from "../../../runtime/clock.ts";
import { once } from "../../../runtime/memoize.ts";
import { interfaceKind } from "../gpu-names/registry.ts";
import {
  type Inventory,
  isForSale,
  type NamedGpu,
  type NodeInventory,
  type ResourceAmounts,
  type StorageInventory,
} from "../inventory.ts";

/** Of akash.inventory.v1.Cluster. */
const nodesField = 1;

export type InventorySnapshot = ReturnType<ReturnType<typeof createSnapshots>>;

export function createSnapshots() {
  const network = memoized(networkNode);
  const message = memoized((node: NodeInventory) => Node.encode(network(node)).finish());
  const messageInCluster = memoized((node: NodeInventory) =>
    new BinaryWriter().tag(nodesField, WireType.LengthDelimited).bytes(message(node)).finish(),
  );
  const networkJson = memoized((node: NodeInventory) => networkNodeJson(network(node)));
  const fullText = memoized((node: NodeInventory) => JSON.stringify(fullNodeJson(node)));
  const hardwareJson = memoized(nodeHardwareJson);
  const hardwareText = memoized((node: NodeInventory) => JSON.stringify(hardwareJson(node)));

  return (inventory: Inventory) => {
    const { nodes, storage, conditions, atMs } = inventory;
    const at = formatTime(atMs);
    const offered = nodes.filter((node) => node.offered);
    const networkClasses = storage.map(networkStorage);
    const classes = once(() => storage.map(fullStorageJson));
    const storageText = once(() => JSON.stringify(classes()));
    return {
      inventory,
      /** In the network's words. */
      get network() {
        return { nodes: offered.map(network), storage: networkClasses };
      },
      offered: offered.map(({ name }) => name),
      /** akash.inventory.v1.Cluster: to the network, only offered nodes exist. */
      clusterMessage: once(() => clusterMessage(offered.map(messageInCluster), networkClasses)),
      nodeMessage(name: string): Uint8Array | undefined {
        const node = offered.find((each) => each.name === name);
        return node && message(node);
      },
      /** All of it, but for the closing brace: the answer adds its age. */
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
      clusterJson(): JsonObject {
        return { nodes: offered.map(networkJson), storage: networkClasses.map(networkStorageJson), at };
      },
      storageJson: (): JsonObject => ({ storage: classes(), at }),
      nodesJson: (): JsonObject => ({ nodes: nodes.map(hardwareJson), at }),
      /** Equal texts have the same `storageJson` and `nodesJson`, but for the time. */
      storageText,
      nodeTexts: once(() => nodes.map(hardwareText)),
    };
  };
}

/** For objects that never change. */
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
 * All that is known: the network's JSON and the seeds' keys. On a clash the network's value stands under `resources`.
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

/** What changes only with the machine. */
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

function gpuJson(gpu: NamedGpu): JsonObject {
  const { health } = gpu;
  return compact({
    vendor: gpu.vendor,
    vendor_id: gpu.vendorId,
    name: gpu.name,
    modelid: gpu.deviceId,
    model_id: gpu.deviceId,
    interface: gpu.interface && interfaceKind(gpu.interface),
    memory_size: gpu.memorySize,
    address: gpu.address,
    uuid: gpu.uuid,
    driver: gpu.driver,
    driver_version: gpu.driverVersion,
    driver_model: gpu.driverModel,
    cuda_version: gpu.cudaVersion,
    compute_capability: gpu.computeCapability,
    mig_instances: gpu.migInstances,
    not_sold: gpu.notSold,
    health: health && compact({ healthy: health.healthy, reason: health.reason }),
    registry_line: gpu.registryLine,
  });
}

function compact(fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  const kept: Record<string, Json> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) kept[name] = value;
  return kept;
}

type NetworkNode = ReturnType<typeof networkNode>;
type NetworkStorage = ReturnType<typeof networkStorage>;

/** Kubernetes tells which volumes are attached; how many are mounted the network's operator does not count either. */
const notCounted = quantities({ allocatable: 0n, allocated: 0n, capacity: 0n }, formatCount);

export function networkNode(node: NodeInventory) {
  const { hardware, storageClasses } = node;
  const total = hardware?.memory.totalBytes;
  const cpus = hardware?.cpus.map(({ id, vendor, model, vcores }) => ({ id, vendor, model, vcores })) ?? [];
  return {
    name: node.name,
    resources: {
      cpu: { quantity: quantities(node.cpuMilli, formatCpuMilli), info: cpus },
      memory: {
        quantity: byteQuantities(node.memoryBytes),
        // Of all modules together; nothing until discovery has answered.
        info: total ? [{ vendor: "", type: "", totalSize: String(total), speed: "" }] : [],
      },
      gpu: { quantity: quantities(node.gpus, formatCount), info: networkGpus(node.namedGpus) },
      ephemeralStorage: byteQuantities(node.ephemeralBytes),
      volumesAttached: quantities(node.volumes, formatCount),
      volumesMounted: notCounted,
    },
    capabilities: { storageClasses: [...storageClasses] },
  } satisfies Node;
}

/** Only GPUs that are for sale and have a market name are published. */
function networkGpus(gpus: readonly NamedGpu[]): GPUInfo[] {
  const named = gpus
    .filter(isForSale)
    .flatMap(({ vendor, vendorId, name, deviceId, interface: kind = "", memorySize = "" }) =>
      name === undefined ? [] : [{ vendor, vendorId, name, modelid: deviceId, interface: kind, memorySize }],
    );
  return named.sort(
    (a, b) => compare(a.vendor, b.vendor) || compare(a.name, b.name) || compare(a.memorySize, b.memorySize),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export function networkStorage({ class: name, bytes }: StorageInventory) {
  return { quantity: byteQuantities(bytes), info: { class: name, iops: "" } } satisfies Storage;
}

/** What there is comes from the kubelet, which counts in powers of ten; what is taken from requests, written as Mi and Gi. */
function byteQuantities(bytes: ResourceAmounts) {
  return quantities(bytes, (amount) => formatBytes(amount, "DecimalSI"), formatBytes);
}

/** As Kubernetes writes them, in the families in which the network's own operator does. */
function quantities(
  { allocatable, allocated, capacity }: ResourceAmounts,
  there: (amount: bigint) => string,
  taken: (amount: bigint) => string = there,
) {
  return {
    allocatable: { string: there(allocatable) },
    allocated: { string: taken(allocated) },
    attributes: [],
    capacity: { string: there(capacity) },
  } satisfies ResourcePair;
}

/** Put together from nodes that are encoded one by one: most of them stay as they are. */
export function clusterMessage(nodes: readonly Uint8Array[], storage: readonly NetworkStorage[]): Buffer {
  return Buffer.concat([...nodes, Cluster.encode({ nodes: [], storage: [...storage] }).finish()]);
}

/** A list without entries is null there. */
export function networkNodeJson({ name, resources, capabilities }: NetworkNode): JsonObject {
  const { cpu, memory, gpu, ephemeralStorage, volumesAttached, volumesMounted } = resources;
  const modules = memory.info.map(({ totalSize, ...module }) => ({ ...module, total_size: totalSize }));
  return {
    name,
    resources: {
      cpu: { quantity: texts(cpu.quantity), info: orNull(cpu.info) },
      memory: { quantity: texts(memory.quantity), info: orNull(modules) },
      gpu: { quantity: texts(gpu.quantity), info: orNull(gpu.info.map(networkGpuJson)) },
      ephemeral_storage: texts(ephemeralStorage),
      volumes_attached: texts(volumesAttached),
      volumes_mounted: texts(volumesMounted),
    },
    capabilities: { storage_classes: capabilities.storageClasses },
  };
}

export function networkStorageJson({ quantity, info }: NetworkStorage): JsonObject {
  return { quantity: texts(quantity), info };
}

/** The model's id has two names: the network's JSON says `model_id`, its protobuf and the seeds `modelid`. */
function networkGpuJson({ vendor, vendorId, name, modelid, interface: kind, memorySize }: GPUInfo): JsonObject {
  return { vendor, vendor_id: vendorId, name, model_id: modelid, modelid, interface: kind, memory_size: memorySize };
}

function texts({ allocatable, allocated, capacity }: NetworkStorage["quantity"]): JsonObject {
  return { allocatable: allocatable.string, allocated: allocated.string, capacity: capacity.string };
}

function orNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list;
}
