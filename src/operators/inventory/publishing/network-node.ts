/**
 * What the network's clients are told of a node and of a storage class. Its two forms, JSON and protobuf, are made from
 * this one view, so that they always say the same.
 */

import type { NamedGpu, NodeInventory, StorageInventory } from "../inventory.ts";
import { isForSale } from "../inventory.ts";
import { byteQuantities, countQuantities, cpuQuantities, type Quantities } from "./quantities.ts";

export interface NetworkGpu {
  readonly vendor: string;
  readonly vendorId: string;
  readonly name: string;
  readonly modelId: string;
  readonly interface: string;
  readonly memorySize: string;
}

export interface NetworkNode {
  readonly name: string;
  readonly cpu: Quantities;
  readonly cpus: readonly { id: string; vendor: string; model: string; vcores: number }[];
  readonly memory: Quantities;
  /** Of all modules together; absent until discovery has answered. */
  readonly memoryTotal: string | undefined;
  readonly gpu: Quantities;
  readonly gpus: readonly NetworkGpu[];
  readonly ephemeral: Quantities;
  readonly volumesAttached: Quantities;
  readonly volumesMounted: Quantities;
  readonly storageClasses: readonly string[];
}

/** Kubernetes tells which volumes are attached; how many are mounted the network's operator does not count either. */
const notCounted = countQuantities({ allocatable: 0n, allocated: 0n, capacity: 0n });

export function networkNode(node: NodeInventory): NetworkNode {
  const { hardware } = node;
  const total = hardware?.memory.totalBytes;
  return {
    name: node.name,
    cpu: cpuQuantities(node.cpuMilli),
    cpus: hardware?.cpus.map(({ id, vendor, model, vcores }) => ({ id, vendor, model, vcores })) ?? [],
    memory: byteQuantities(node.memoryBytes),
    memoryTotal: total ? String(total) : undefined,
    gpu: countQuantities(node.gpus),
    gpus: networkGpus(node.namedGpus),
    ephemeral: byteQuantities(node.ephemeralBytes),
    volumesAttached: countQuantities(node.volumes),
    volumesMounted: notCounted,
    storageClasses: node.storageClasses,
  };
}

/**
 * A card without a name in the market cannot be asked for, and one that is unhealthy or not sold as a card cannot be
 * given, so the network hears of none of them.
 */
function networkGpus(cards: readonly NamedGpu[]): NetworkGpu[] {
  const named = cards
    .filter(isForSale)
    .flatMap(({ vendor, vendorId, name, deviceId, interface: kind = "", memorySize = "" }) =>
      name === undefined ? [] : [{ vendor, vendorId, name, modelId: deviceId, interface: kind, memorySize }],
    );
  return named.sort(
    (a, b) => compare(a.vendor, b.vendor) || compare(a.name, b.name) || compare(a.memorySize, b.memorySize),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export interface NetworkStorage {
  readonly class: string;
  readonly quantities: Quantities;
}

export function networkStorage({ class: name, bytes }: StorageInventory): NetworkStorage {
  return { class: name, quantities: byteQuantities(bytes) };
}
