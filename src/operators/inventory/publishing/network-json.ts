/** The JSON of the network's inventory operator: its key names, and null for a list without entries. */
import type { JsonObject } from "../../../bus/topics.ts";
import type { NetworkGpu, NetworkNode, NetworkStorage } from "./network-node.ts";
import type { Quantities } from "./quantities.ts";

export function networkNodeJson(node: NetworkNode): JsonObject {
  const { memoryTotal } = node;
  const memory = memoryTotal === undefined ? [] : [{ vendor: "", type: "", total_size: memoryTotal, speed: "" }];
  return {
    name: node.name,
    resources: {
      cpu: { quantity: plain(node.cpu), info: orNull(node.cpus) },
      memory: { quantity: plain(node.memory), info: orNull(memory) },
      gpu: { quantity: plain(node.gpu), info: orNull(node.gpus.map(gpuJson)) },
      ephemeral_storage: plain(node.ephemeral),
      volumes_attached: plain(node.volumesAttached),
      volumes_mounted: plain(node.volumesMounted),
    },
    capabilities: { storage_classes: node.storageClasses },
  };
}

export function networkStorageJson({ class: name, quantities }: NetworkStorage): JsonObject {
  return { quantity: plain(quantities), info: { class: name, iops: "" } };
}

/** The model's id has two names: the network's JSON says `model_id`, its protobuf and the seeds `modelid`. */
function gpuJson({ vendor, vendorId, name, modelId, interface: kind, memorySize }: NetworkGpu): JsonObject {
  return {
    vendor,
    vendor_id: vendorId,
    name,
    model_id: modelId,
    modelid: modelId,
    interface: kind,
    memory_size: memorySize,
  };
}

function plain({ allocatable, allocated, capacity }: Quantities): JsonObject {
  return { allocatable, allocated, capacity };
}

function orNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list;
}
