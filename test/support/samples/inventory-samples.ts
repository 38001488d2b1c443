/** Inventories as the operator makes them, for tests of what is made of them. */
import type {
  Inventory,
  NamedGpu,
  NodeInventory,
  ResourceAmounts,
  StorageInventory,
} from "../../../src/operators/inventory/inventory.ts";

const gib = 1024n ** 3n;

export function amounts(allocatable: bigint, allocated = 0n, capacity = allocatable): ResourceAmounts {
  return { allocatable, allocated, capacity };
}

export function rtx4090(address: string): NamedGpu {
  const ids = { address, vendorId: "10de", deviceId: "2684" };
  return { ...ids, vendor: "nvidia", name: "rtx4090", interface: "PCIe", memorySize: "24Gi" };
}

/** The machine of the seeds' examples: 64 cores, eight GPUs of which two are taken, half of its memory in use. */
export function sampleNode(name = "node-1", more: Partial<NodeInventory> = {}): NodeInventory {
  const namedGpus = Array.from({ length: 8 }, (_, slot) => rtx4090(`0000:0${slot}:00.0`));
  return {
    name,
    offered: true,
    notOffered: [],
    cpuMilli: amounts(64_000n, 32_000n),
    memoryBytes: amounts(256n * gib, 128n * gib),
    ephemeralBytes: amounts(475_899_064_320n, 10n * gib, 528_776_740_864n),
    gpus: amounts(8n, 2n),
    pluginVendors: ["nvidia"],
    volumes: amounts(0n),
    storageClasses: ["beta2"],
    hardware: {
      architecture: "amd64",
      cpus: [{ id: "0", vendor: "AuthenticAMD", model: "AMD EPYC 7763", vcores: 64 }],
      memory: { totalBytes: Number(256n * gib) },
      gpus: namedGpus,
      disks: [{ name: "nvme0n1", type: "nvme", sizeBytes: 1_920_383_410_176, model: "SAMSUNG MZQL21T9" }],
      interfaces: [
        { name: "eno1", up: true, speedMbps: 25_000 },
        { name: "eno2", up: false },
      ],
      problems: [],
    },
    hardwareAtMs: Date.UTC(2026, 0, 1),
    namedGpus,
    conditions: [],
    ...more,
  };
}

export function sampleStorage(more: Partial<StorageInventory> = {}): StorageInventory {
  return {
    class: "beta2",
    driver: "ceph",
    provisioner: "ceph.rook.io",
    bytes: amounts(5_000n * gib, 100n * gib),
    replicas: 3,
    performance: "ssd",
    conditions: [],
    ...more,
  };
}

export function sampleInventory(nodes = [sampleNode()], more: Partial<Inventory> = {}): Inventory {
  return { nodes, storage: [sampleStorage()], atMs: Date.UTC(2026, 0, 1), conditions: [], ...more };
}

/** A large cluster, each node with eight GPUs. */
export function manyNodes(count: number): NodeInventory[] {
  return Array.from({ length: count }, (_, index) => sampleNode(`node-${String(index).padStart(5, "0")}`));
}

/** The same node a moment later: a pod came to it. */
export function withOnePodMore(node: NodeInventory): NodeInventory {
  const { allocatable, allocated, capacity } = node.cpuMilli;
  return { ...node, cpuMilli: { allocatable, allocated: allocated + 250n, capacity } };
}
