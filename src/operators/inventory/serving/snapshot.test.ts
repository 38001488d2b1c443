import assert from "node:assert/strict";
import { test } from "node:test";
import { Cluster, Node } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import {
  amounts,
  manyNodes,
  rtx4090,
  sampleInventory,
  sampleNode,
  sampleStorage,
} from "../../../../test/support/samples/inventory-samples.ts";
import { largestHardware } from "../../../../test/support/samples/largest-hardware.ts";
import { parseBytes, parseCount, parseCpuMilli } from "../../../market/quantity.ts";
import { discoveryParts } from "../discovery/tree.ts";
import type { NamedGpu } from "../inventory.ts";
import { grpcClientBytes } from "./publisher.ts";
import {
  createSnapshots,
  fullNodeJson,
  fullStorageJson,
  networkNode,
  networkNodeJson,
  networkStorage,
  networkStorageJson,
} from "./snapshot.ts";

const mib = 1024n ** 2n;
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value));

test("the network's JSON has its keys, its quantities, and null for what is empty", () => {
  const node = sampleNode("n1", {
    cpuMilli: amounts(64_000n, 1_250n),
    memoryBytes: amounts(270_582_939_648n, 1_130n * mib, 270_687_797_248n),
    namedGpus: [rtx4090("0000:01:00.0")],
    storageClasses: ["beta3", "default"],
    hardware: {
      architecture: "amd64",
      cpus: [{ id: "0", vendor: "AuthenticAMD", model: "AMD EPYC 7763 64-Core Processor", vcores: 128 }],
      memory: { totalBytes: 0 },
      gpus: [],
      disks: [],
      interfaces: [],
      problems: [],
    },
  });
  const nothing = { allocatable: "0", allocated: "0", capacity: "0" };
  assert.deepEqual(networkNodeJson(networkNode(node)), {
    name: "n1",
    resources: {
      cpu: {
        quantity: { allocatable: "64", allocated: "1250m", capacity: "64" },
        info: [{ id: "0", vendor: "AuthenticAMD", model: "AMD EPYC 7763 64-Core Processor", vcores: 128 }],
      },
      memory: {
        quantity: { allocatable: "270582939648", allocated: "1130Mi", capacity: "270687797248" },
        info: null,
      },
      gpu: {
        quantity: { allocatable: "8", allocated: "2", capacity: "8" },
        info: [
          {
            vendor: "nvidia",
            vendor_id: "10de",
            name: "rtx4090",
            model_id: "2684",
            modelid: "2684",
            interface: "PCIe",
            memory_size: "24Gi",
          },
        ],
      },
      ephemeral_storage: { allocatable: "475899064320", allocated: "10Gi", capacity: "528776740864" },
      volumes_attached: nothing,
      volumes_mounted: nothing,
    },
    capabilities: { storage_classes: ["beta3", "default"] },
  });
  assert.deepEqual(networkStorageJson(networkStorage(sampleStorage({ bytes: amounts(5_000_000_000_000n, 0n) }))), {
    quantity: { allocatable: "5T", allocated: "0", capacity: "5T" },
    info: { class: "beta2", iops: "" },
  });
  const { hardware: _, ...unseen } = sampleNode("n2", { namedGpus: [] });
  const { cpu, gpu, memory } = networkNodeJson(networkNode(unseen)).resources;
  assert.deepEqual([cpu.info, gpu.info, memory.info], [null, null, null]);
});

/** What the seeds' examples show, in their order and their units. */
test("the seeds' keys have the seeds' values for the machine of their examples", () => {
  const node = asJson(fullNodeJson(sampleNode()));
  const { cpu, gpu, memory } = node;
  assert.deepEqual(cpu, {
    quantity: { allocatable: 64_000, allocated: 32_000 },
    info: [{ model: "AMD EPYC 7763", vcores: 64 }],
  });
  assert.deepEqual(gpu.quantity, { allocatable: 8, allocated: 2 });
  assert.equal(gpu.info.length, 8);
  const expected = { vendor: "nvidia", name: "rtx4090", modelid: "2684", interface: "pcie", memory_size: "24Gi" };
  assert.partialDeepStrictEqual(gpu.info[0], expected);
  assert.deepEqual(memory.quantity, { allocatable: "256Gi", allocated: "128Gi" });
  assert.partialDeepStrictEqual(fullStorageJson(sampleStorage()), {
    class: "beta2",
    size: "5000Gi",
    provisioner: "ceph.rook.io",
    performance: "ssd",
    replicas: 3,
  });
  assert.equal(node.architecture, "amd64");
  assert.deepEqual(node.disks, [{ name: "nvme0n1", type: "nvme", size: "1875374424Ki", model: "SAMSUNG MZQL21T9" }]);
  assert.deepEqual(node.interfaces, [
    { name: "eno1", up: true, speed_mbps: 25_000 },
    { name: "eno2", up: false },
  ]);
});

test("a GPU is published with its CUDA version and compute capability", () => {
  const gpu = { ...rtx4090("0000:01:00.0"), cudaVersion: "12.4", computeCapability: "8.9" };
  const { info } = fullNodeJson(sampleNode("n1", { namedGpus: [gpu] })).gpu;
  const features = { cuda_version: "12.4", compute_capability: "8.9" };
  assert.partialDeepStrictEqual(info, [{ name: "rtx4090", memory_size: "24Gi", ...features }]);
});

const unknownGpu: NamedGpu = {
  address: "0000:09:00.0",
  vendorId: "10de",
  deviceId: "ffff",
  vendor: "nvidia",
  registryLine: '{"10de":{}}',
};

test("a GPU without a name is shown to people and not to the network", () => {
  const node = sampleNode("n1", { namedGpus: [unknownGpu, rtx4090("0000:01:00.0")] });
  assert.deepEqual(
    networkNode(node).resources.gpu.info.map(({ name }) => name),
    ["rtx4090"],
  );
  const { info, unknown } = fullNodeJson(node).gpu;
  assert.equal(info.length, 1);
  assert.partialDeepStrictEqual(unknown, [{ vendor_id: "10de", modelid: "ffff", registry_line: '{"10de":{}}' }]);
});

test("an unhealthy GPU is shown to people and not to the network", () => {
  const unhealthy = { ...rtx4090("0000:02:00.0"), health: { healthy: false, reason: "off the bus" } };
  const sound = { ...rtx4090("0000:03:00.0"), health: { healthy: true } };
  const node = sampleNode("n1", { namedGpus: [rtx4090("0000:01:00.0"), unhealthy, sound] });
  assert.equal(networkNode(node).resources.gpu.info.length, 2);
  const { info } = fullNodeJson(node).gpu;
  assert.deepEqual(
    info.map(({ address, health }) => [address, health]),
    [
      ["0000:01:00.0", undefined],
      ["0000:02:00.0", { healthy: false, reason: "off the bus" }],
      ["0000:03:00.0", { healthy: true }],
    ],
  );
  assert.deepEqual(networkNode(sampleNode("n1", { namedGpus: [unhealthy] })).resources.gpu.info, []);
});

test("a GPU that is not sold as one is shown to people with the reason, and not to the network", () => {
  const parts = { ...rtx4090("0000:02:00.0"), migInstances: 7, notSold: "has 7 MIG instances" };
  const node = sampleNode("n1", { namedGpus: [rtx4090("0000:01:00.0"), parts] });
  assert.equal(networkNode(node).resources.gpu.info.length, 1);
  const { info } = fullNodeJson(node).gpu;
  assert.partialDeepStrictEqual(info[1], { mig_instances: 7, not_sold: "has 7 MIG instances" });
});

test("the largest node there can be is a small part of what clients of gRPC take, beside a thousand others", () => {
  const word = "w".repeat(63);
  const named = { vendor: word, name: word, interface: word, memorySize: word };
  const namedGpus = largestHardware.gpus.map(({ health: _, ...gpu }) => ({
    ...gpu,
    ...named,
    vendorId: "10de",
    deviceId: "2684",
  }));
  const most = 2n ** 63n - 1n;
  const largest = {
    hardware: largestHardware,
    namedGpus,
    cpuMilli: amounts(most, most),
    memoryBytes: amounts(most, most),
  };
  const snapshot = createSnapshots()(sampleInventory([...manyNodes(1_000), sampleNode("z".repeat(253), largest)]));
  const alone = snapshot.nodeMessage("z".repeat(253))?.length ?? Number.POSITIVE_INFINITY;
  assert.equal(
    Node.decode(snapshot.nodeMessage("z".repeat(253)) ?? new Uint8Array()).resources?.gpu?.info.length,
    discoveryParts,
  );
  assert.ok(alone < grpcClientBytes / 8, `${alone} bytes`);
  assert.ok(snapshot.clusterMessage().length < grpcClientBytes / 2, `${snapshot.clusterMessage().length} bytes`);
});

test("the GPUs of a node are listed by vendor, name and memory, whatever their slots", () => {
  const gpu = (vendor: string, name: string, memorySize: string) => ({ ...rtx4090("a"), vendor, name, memorySize });
  const gpus = [gpu("nvidia", "a100", "80Gi"), gpu("amd", "mi60", "32Gi"), gpu("nvidia", "a100", "40Gi")];
  const listed = networkNode(sampleNode("n1", { namedGpus: gpus })).resources.gpu.info;
  assert.deepEqual(
    listed.map(({ vendor, memorySize }) => `${vendor} ${memorySize}`),
    ["amd 32Gi", "nvidia 40Gi", "nvidia 80Gi"],
  );
});

test("a node that is not offered is in a list of its own, with its reasons, and not in the network's", () => {
  const away = sampleNode("n2", {
    offered: false,
    notOffered: [{ type: "Cordoned", message: "cordoned" }],
    storageClasses: [],
  });
  const snapshot = createSnapshots()(sampleInventory([sampleNode("n1"), away]));
  const full = JSON.parse(`${snapshot.fullJson()}}`);
  assert.deepEqual([full.nodes.length, full.nodes[0].name], [1, "n1"]);
  assert.deepEqual([full.not_offered[0].name, full.not_offered[0].reasons], ["n2", ["cordoned"]]);
  assert.deepEqual(snapshot.offered, ["n1"]);
  assert.equal(snapshot.nodeMessage("n2"), undefined);
  assert.equal(Cluster.decode(snapshot.clusterMessage()).nodes.length, 1);
});

test("the network's own codec reads from our bytes exactly what the JSON says", () => {
  const snapshot = createSnapshots()(sampleInventory());
  const cluster = Cluster.decode(snapshot.clusterMessage());
  const [node] = cluster.nodes;
  assert.deepEqual(Node.decode(snapshot.nodeMessage("node-1") ?? new Uint8Array()), node);
  assert.deepEqual(node?.resources?.cpu?.quantity, {
    allocatable: { string: "64" },
    allocated: { string: "32" },
    attributes: [],
    capacity: { string: "64" },
  });
  assert.deepEqual(node.resources.cpu.info, [{ id: "0", vendor: "AuthenticAMD", model: "AMD EPYC 7763", vcores: 64 }]);
  assert.deepEqual(node.resources.memory?.info[0]?.totalSize, "274877906944");
  assert.deepEqual(node.resources.gpu?.info[7], {
    vendor: "nvidia",
    vendorId: "10de",
    name: "rtx4090",
    modelid: "2684",
    interface: "PCIe",
    memorySize: "24Gi",
  });
  assert.deepEqual(node.capabilities, { storageClasses: ["beta2"] });
  assert.deepEqual(cluster.storage[0]?.info, { class: "beta2", iops: "" });
  assert.equal(cluster.storage[0]?.quantity?.allocated?.string, "100Gi");
});

test("whatever the amounts, each form says them exactly", () => {
  const amount = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
  const some = fc.record({ allocatable: amount, allocated: amount, capacity: amount });
  fc.assert(
    fc.property(some, some, some, (cpuMilli, memoryBytes, gpus) => {
      const node = sampleNode("n1", { cpuMilli, memoryBytes, gpus });
      const snapshot = createSnapshots()(sampleInventory([node]));
      const { cpu, memory, gpu } = Cluster.decode(snapshot.clusterMessage()).nodes[0]?.resources ?? {};
      const { resources } = networkNodeJson(networkNode(node));
      const read = { cpu: [cpu, cpuMilli, parseCpuMilli], memory: [memory, memoryBytes, parseBytes] } as const;
      for (const [name, [wire, meant, parse]] of Object.entries({ ...read, gpu: [gpu, gpus, parseCount] as const })) {
        const { allocatable, allocated, capacity } = wire?.quantity ?? {};
        const texts = { allocatable: allocatable?.string, allocated: allocated?.string, capacity: capacity?.string };
        assert.deepEqual(resources[name as keyof typeof read | "gpu"].quantity, texts);
        assert.equal(parse(texts.allocatable ?? ""), meant.allocatable);
        assert.equal(parse(texts.allocated ?? ""), meant.allocated);
        assert.equal(parse(texts.capacity ?? ""), meant.capacity);
      }
    }),
    { numRuns: runs(100, 5_000) },
  );
});
