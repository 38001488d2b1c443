/**
 * What the network's clients are told of a node and of a storage class: akash.inventory.v1 in protobuf, and in JSON with
 * the key names of the network's operator. Both are made from one view, so that they always say the same.
 */
import {
  Cluster,
  type GPUInfo,
  Node,
  type ResourcePair,
  type Storage,
} from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { JsonObject } from "../../../bus/topics.ts";
import { formatBytes, formatCount, formatCpuMilli } from "../../../market/quantity.ts";
import { type Amounts, isForSale, type NamedGpu, type NodeInventory, type StorageInventory } from "../inventory.ts";

export type NetworkNode = ReturnType<typeof networkNode>;
export type NetworkStorage = ReturnType<typeof networkStorage>;

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

/**
 * A card without a name in the market cannot be asked for, and one that is unhealthy or not sold as a card cannot be
 * given, so the network hears of none of them.
 */
function networkGpus(cards: readonly NamedGpu[]): GPUInfo[] {
  const named = cards
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
function byteQuantities(bytes: Amounts) {
  return quantities(bytes, (amount) => formatBytes(amount, "DecimalSI"), formatBytes);
}

/** Amounts as Kubernetes writes them, in the families in which the network's own operator does. */
function quantities(
  { allocatable, allocated, capacity }: Amounts,
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

export function nodeMessage(node: NetworkNode): Uint8Array {
  return Node.encode(node).finish();
}

const nodesField = 1;

/** A node's message as it stands inside the cluster's. */
export function nodeOfCluster(message: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(nodesField, WireType.LengthDelimited).bytes(message).finish();
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
      gpu: { quantity: texts(gpu.quantity), info: orNull(gpu.info.map(gpuJson)) },
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
function gpuJson({ vendor, vendorId, name, modelid, interface: kind, memorySize }: GPUInfo): JsonObject {
  return { vendor, vendor_id: vendorId, name, model_id: modelid, modelid, interface: kind, memory_size: memorySize };
}

function texts({ allocatable, allocated, capacity }: NetworkStorage["quantity"]): JsonObject {
  return { allocatable: allocatable.string, allocated: allocated.string, capacity: capacity.string };
}

function orNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list;
}
