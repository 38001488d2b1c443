/** An inventory in each published form, made on first use; a node that stayed the same object is not encoded again. */

import {
  Cluster,
  type GPUInfo,
  Node,
  type ResourcePair,
  type Storage,
} from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
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
  const nodeJson = memoized(nodeHardwareJson);

  return (inventory: Inventory) => {
    const { nodes, storage, conditions, atMs } = inventory;
    const at = formatTime(atMs);
    const offered = nodes.filter((node) => node.offered);
    const networkClasses = storage.map(networkStorage);
    return {
      inventory,
      /** In the network's types. */
      get network() {
        return { nodes: offered.map(network), storage: networkClasses };
      },
      offered: offered.map(({ name }) => name),
      /** akash.inventory.v1.Cluster: to the network, only offered nodes exist. */
      clusterMessage: once(() =>
        Buffer.concat([
          ...offered.map(messageInCluster),
          Cluster.encode({ nodes: [], storage: networkClasses }).finish(),
        ]),
      ),
      nodeMessage(name: string): Uint8Array | undefined {
        const node = offered.find((each) => each.name === name);
        return node && message(node);
      },
      /** Without the closing brace: the response adds its age. */
      fullJson: once(() => {
        const others = nodes.filter((node) => !node.offered);
        const lists = [
          `"nodes":[${offered.map(fullText).join(",")}]`,
          `"storage":${JSON.stringify(storage.map(fullStorageJson))}`,
          `"not_offered":[${others.map(fullText).join(",")}]`,
          `"conditions":${JSON.stringify(conditions)}`,
        ];
        return Buffer.from(`{${lists.join(",")},"at":"${at}"`);
      }),
      topics: () => ({
        "inventory.cluster": { nodes: offered.map(networkJson), storage: networkClasses.map(networkStorageJson), at },
        "inventory.nodes": { nodes: nodes.map(nodeJson), at },
        "inventory.storage": { storage: storage.map(fullStorageJson), at },
      }),
    };
  };
}

/** For objects that never change. */
function memoized<K extends object, V>(make: (from: K) => V): (from: K) => V {
  const made = new WeakMap<K, V>();
  return (from) => {
    const value = made.get(from) ?? make(from);
    made.set(from, value);
    return value;
  };
}

/** The network's JSON and the seeds' keys. On a clash the network's value stands under `resources`. */
export function fullNodeJson(node: NodeInventory) {
  const { cpuMilli, memoryBytes, gpus, hardware, hardwareAtMs, usage } = node;
  return {
    ...networkNodeJson(networkNode(node)),
    ...(!node.offered && { reasons: reasonsOf(node) }),
    cpu: {
      quantity: { allocatable: Number(cpuMilli.allocatable), allocated: Number(cpuMilli.allocated) },
      info: cpusOf(node).map(({ model, vcores }) => ({ model, vcores })),
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
    conditions: node.conditions,
  };
}

/** What changes only with the machine. */
function nodeHardwareJson(node: NodeInventory) {
  const { capacity, allocatable } = node.memoryBytes;
  return {
    name: node.name,
    offered: node.offered,
    reasons: reasonsOf(node),
    cpu: {
      capacity: Number(node.cpuMilli.capacity),
      allocatable: Number(node.cpuMilli.allocatable),
      info: cpusOf(node),
    },
    memory: { capacity: formatBytes(capacity), allocatable: formatBytes(allocatable) },
    gpu: {
      capacity: Number(node.gpus.capacity),
      allocatable: Number(node.gpus.allocatable),
      info: node.namedGpus.map(gpuJson),
    },
    ...hardwareJson(node),
    capabilities: { storage_classes: node.storageClasses },
  };
}

export function fullStorageJson(storage: StorageInventory) {
  const { bytes, provisioner, driver, performance, replicas, conditions } = storage;
  const size = formatBytes(bytes.capacity);
  const network = networkStorageJson(networkStorage(storage));
  return { ...network, class: storage.class, size, provisioner, driver, performance, replicas, conditions };
}

function reasonsOf({ notOffered }: NodeInventory): string[] {
  return notOffered.map(({ message }) => message);
}

function cpusOf({ hardware }: NodeInventory) {
  return hardware?.cpus.map(({ id, vendor, model, vcores }) => ({ id, vendor, model, vcores })) ?? [];
}

function hardwareJson({ hardware }: NodeInventory) {
  return {
    architecture: hardware?.architecture,
    disks: hardware?.disks.map(({ sizeBytes, name, type, model }) => {
      return { name, type, size: formatBytes(BigInt(sizeBytes)), model };
    }),
    interfaces: hardware?.interfaces.map(({ name, up, speedMbps }) => ({ name, up, speed_mbps: speedMbps })),
  };
}

function gpuJson(gpu: NamedGpu) {
  return {
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
    health: gpu.health,
    registry_line: gpu.registryLine,
  };
}

type NetworkNode = ReturnType<typeof networkNode>;
type NetworkStorage = ReturnType<typeof networkStorage>;

/** The network's operator does not count mounted volumes either. */
const notCounted = quantities({ allocatable: 0n, allocated: 0n, capacity: 0n }, formatCount);

export function networkNode(node: NodeInventory) {
  const { hardware, storageClasses } = node;
  const total = hardware?.memory.totalBytes;
  return {
    name: node.name,
    resources: {
      cpu: { quantity: quantities(node.cpuMilli, formatCpuMilli), info: cpusOf(node) },
      memory: {
        quantity: byteQuantities(node.memoryBytes),
        // All modules together; empty until discovery has answered.
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

/** The kubelet reports powers of ten; requests are written as Mi and Gi. */
function byteQuantities(bytes: ResourceAmounts) {
  return quantities(bytes, (amount) => formatBytes(amount, "DecimalSI"), formatBytes);
}

function quantities(
  { allocatable, allocated, capacity }: ResourceAmounts,
  format: (amount: bigint) => string,
  formatAllocated: (amount: bigint) => string = format,
) {
  return {
    allocatable: { string: format(allocatable) },
    allocated: { string: formatAllocated(allocated) },
    attributes: [],
    capacity: { string: format(capacity) },
  } satisfies ResourcePair;
}

/** A list without entries is null there. */
export function networkNodeJson({ name, resources, capabilities }: NetworkNode) {
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

export function networkStorageJson({ quantity, info }: NetworkStorage) {
  return { quantity: texts(quantity), info };
}

/** The model's id has two names: the network's JSON says `model_id`, its protobuf and the seeds `modelid`. */
function networkGpuJson({ vendor, vendorId, name, modelid, interface: kind, memorySize }: GPUInfo) {
  return { vendor, vendor_id: vendorId, name, model_id: modelid, modelid, interface: kind, memory_size: memorySize };
}

function texts({ allocatable, allocated, capacity }: NetworkStorage["quantity"]) {
  return { allocatable: allocatable.string, allocated: allocated.string, capacity: capacity.string };
}

function orNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list;
}
