/**
 * All that is known, for people and for those who read the seeds' keys: the network's JSON with more beside it. Where
 * both have a key of the same name with another meaning, the network's stands under `resources`.
 */
import type { Json, JsonObject } from "../../../bus/topics.ts";
import { formatBytes } from "../../../market/quantity.ts";
import { formatTime } from "../../../runtime/clock.ts";
import type { Condition, NamedGpu, NodeInventory, StorageInventory } from "../inventory.ts";
import { interfaceKind } from "../registry/registry.ts";
import { networkNodeJson, networkStorageJson } from "./network-json.ts";
import { networkNode, networkStorage } from "./network-node.ts";

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
    conditions: node.conditions.map(conditionJson),
  });
}

/** What the node is made of, whoever uses it: it changes when somebody changes the machine. */
export function nodeHardwareJson(node: NodeInventory): JsonObject {
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
    conditions: storage.conditions.map(conditionJson),
  });
}

export function conditionJson({ type, message }: Condition): JsonObject {
  return { type, message };
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
