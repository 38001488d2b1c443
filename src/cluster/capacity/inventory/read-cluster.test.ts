import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Cluster, type Node, type ResourcePair } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import fc from "fast-check";
import { networkNode, networkSnapshot } from "../../../../test/support/raw-operator.ts";
import { readJsonRecording } from "../../../../test/support/recordings.ts";
import { runs } from "../../../../test/support/runs.ts";
import { realClock } from "../../../runtime/clock.ts";
import { roomOf } from "./feed.ts";
import { createClusterReader, readNode } from "./read-cluster.ts";

function nodeWith(allocatable: string, allocated: string): Node {
  const node = networkNode("one");
  const quantity = { allocatable: { string: allocatable }, allocated: { string: allocated } };
  const pair: ResourcePair = { ...quantity, attributes: [], capacity: undefined };
  const { resources } = node;
  assert.ok(resources);
  return { ...node, resources: { ...resources, cpu: { quantity: pair, info: [] }, ephemeralStorage: pair } };
}

type Row = [
  allocatable: string,
  allocated: string,
  cpu: [bigint | "unlimited", bigint],
  bytes: [bigint | "unlimited", bigint],
];

test("amounts are exact in every form that Kubernetes writes", () => {
  const rows: Row[] = [
    ["64", "1500m", [64_000n, 1_500n], [64n, 2n]],
    ["16Gi", "12345678", [17_179_869_184_000n, 12_345_678_000n], [17_179_869_184n, 12_345_678n]],
    ["1e3", "1k", [1_000_000n, 1_000_000n], [1_000n, 1_000n]],
    ["9223372036854775807", "0", [9_223_372_036_854_775_807_000n, 0n], [9_223_372_036_854_775_807n, 0n]],
    // A part of a unit cannot be given, but it is taken.
    ["1500u", "1500u", [1n, 2n], [0n, 1n]],
    // What is not in the message.
    ["", "", [0n, 0n], [0n, 0n]],
    // What has no end.
    ["-1", "2", ["unlimited", 2_000n], ["unlimited", 2n]],
  ];
  for (const [allocatable, allocated, cpu, bytes] of rows) {
    const { cpuMilli, ephemeralBytes } = readNode(nodeWith(allocatable, allocated));
    assert.deepEqual([cpuMilli.allocatable, cpuMilli.allocated], cpu, allocatable);
    assert.deepEqual([ephemeralBytes.allocatable, ephemeralBytes.allocated], bytes, allocatable);
  }
  const nonsense = [
    ["many", "0"],
    ["1", "-1"],
    ["-2", "0"],
    ["1", "8Ei"],
    ["1", "1 Gi"],
  ] as const;
  for (const [allocatable, allocated] of nonsense) assert.throws(() => readNode(nodeWith(allocatable, allocated)));
});

test("what has no end is endless in the room, and what is overbooked is below zero", () => {
  const read = createClusterReader();
  const content = read(networkSnapshot([nodeWith("-1", "2"), { ...nodeWith("1", "3"), name: "two" }]));
  const { nodes } = roomOf({ ...content, podsVersion: undefined, cameAtMs: 0 });
  assert.ok((nodes[0]?.cpuMilli ?? 0n) > 10n ** 27n);
  assert.deepEqual([nodes[1]?.cpuMilli, nodes[1]?.ephemeralBytes], [-2_000n, -2n]);
  assert.deepEqual([nodes[0]?.gpus, nodes[0]?.unknownGpus], [6n, 2n]);
});

test("whatever comes in whatever order, a reader that has read before reads the same", () => {
  const names = fc.constantFrom("a", "b", "c", "d", "");
  const cpu = fc.constantFrom("1", "1250m", "-1", "nonsense");
  const snapshots = fc.array(fc.array(fc.tuple(names, cpu), { maxLength: 6 }), { maxLength: 5 });
  const used = createClusterReader();
  const check = fc.property(snapshots, (list) => {
    for (const nodes of list) {
      const message = networkSnapshot(nodes.map(([name, taken]) => networkNode(name, taken)));
      assert.deepEqual(used(message), createClusterReader()(message));
    }
  });
  fc.assert(check, { numRuns: runs(100, 10_000) });
});

test("no message is kept once the next was read, though most nodes came with it", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const read = createClusterReader();
  const readAndForget = () => {
    const message = Uint8Array.from(networkSnapshot([networkNode("one"), networkNode("two")]));
    read(message);
    return new WeakRef(message.buffer);
  };
  const first = readAndForget();
  // What a weak reference was made of in this turn stays until the next.
  await realClock.yield();
  collectGarbage();
  assert.ok(first.deref());
  read(networkSnapshot([networkNode("one"), networkNode("two", "2")]));
  await realClock.yield();
  collectGarbage();
  assert.equal(first.deref(), undefined);
});

test("arbitrary bytes → an error or a snapshot, nothing else", () => {
  const read = createClusterReader();
  const whole = networkSnapshot([networkNode("one"), networkNode("two")]);
  const check = fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, byte) => {
    const bytes = Uint8Array.from(whole);
    bytes[at] = byte;
    try {
      const { nodes, conditions } = read(bytes);
      assert.ok(nodes.length <= 2 && conditions.length <= 4);
    } catch (thrown) {
      assert.ok(thrown instanceof Error && !(thrown instanceof assert.AssertionError), String(thrown));
    }
  });
  fc.assert(check, { numRuns: runs(500, 20_000) });
});

test("a storage class that makes no sense, or is there twice, is left out", () => {
  const quantity = (text: string) => ({
    allocatable: { string: text },
    allocated: { string: "0" },
    attributes: [],
    capacity: { string: text },
  });
  const classOf = (name: string, text = "1Gi") => ({ quantity: quantity(text), info: { class: name, iops: "" } });
  const storage = [classOf("beta1", "?"), classOf("beta2"), classOf("beta3"), classOf("beta3"), classOf("")];
  const content = createClusterReader()(Cluster.encode({ nodes: [], storage }).finish());
  assert.deepEqual(
    content.storage.map((each) => each.class),
    ["beta2"],
  );
  const types = content.conditions.map(({ type }) => type);
  assert.deepEqual(types, ["ClassUnreadable", "ClassTwice", "ClassTwice", "ClassUnreadable"]);
});

/** What the network's operator answered over REST. */
interface Recorded {
  readonly inventory: { readonly nodes: readonly RecordedNode[]; readonly storage: readonly RecordedClass[] };
}
interface RecordedNode {
  readonly name: string;
  readonly resources: {
    readonly cpu: { readonly quantity: RecordedPair };
    readonly memory: { readonly quantity: RecordedPair };
    readonly gpu: { readonly quantity: RecordedPair; readonly info: readonly RecordedGpu[] | null };
    readonly ephemeral_storage: RecordedPair;
  };
  readonly capabilities: { readonly storage_classes: string[] };
}
interface RecordedClass {
  readonly quantity: RecordedPair;
  readonly info: { readonly class: string; readonly iops: string };
}
type RecordedPair = Record<"allocatable" | "allocated" | "capacity", string>;
type RecordedGpu = Record<"vendor" | "vendor_id" | "name" | "model_id" | "interface" | "memory_size", string>;

test("recorded messages of the Go provider's operator are read", () => {
  const { inventory } = readJsonRecording<Recorded>("objects/gpu-inventory.json");
  const pair = ({ allocatable, allocated, capacity }: RecordedPair): ResourcePair => ({
    allocatable: { string: allocatable },
    allocated: { string: allocated },
    attributes: [],
    capacity: { string: capacity },
  });
  const nodes = inventory.nodes.map(
    ({ name, resources: { cpu, memory, gpu, ephemeral_storage }, capabilities }): Node => ({
      name,
      resources: {
        cpu: { quantity: pair(cpu.quantity), info: [] },
        memory: { quantity: pair(memory.quantity), info: [] },
        gpu: {
          quantity: pair(gpu.quantity),
          info: (gpu.info ?? []).map((each) => ({
            ...each,
            vendorId: each.vendor_id,
            modelid: each.model_id,
            memorySize: each.memory_size,
          })),
        },
        ephemeralStorage: pair(ephemeral_storage),
        volumesAttached: undefined,
        volumesMounted: undefined,
      },
      capabilities: { storageClasses: capabilities.storage_classes },
    }),
  );
  const storage = inventory.storage.map(({ quantity, info }) => ({ quantity: pair(quantity), info }));
  const content = createClusterReader()(Cluster.encode({ nodes, storage }).finish());
  assert.deepEqual(content.conditions, []);
  assert.equal(content.storage.length, inventory.storage.length);
  const room = new Map(
    roomOf({ ...content, podsVersion: undefined, cameAtMs: 0 }).nodes.map((node) => [node.name, node]),
  );
  const lab = room.get("lab");
  assert.deepEqual(
    [lab?.cpuMilli, lab?.memoryBytes, lab?.ephemeralBytes, lab?.gpuCounts],
    [1_894n, 25_169_936_384n - 176n * 2n ** 20n, 267_847_642_337n - 48n * 2n ** 20n, []],
  );
  assert.deepEqual(room.get("gpu-fake")?.gpuCounts, [
    { gpu: { vendor: "nvidia", model: "a100", memoryGi: 80n, interface: "sxm" }, count: 8n },
  ]);
  assert.equal(room.get("gpu-amd")?.gpuCounts[0]?.gpu.vendor, "amd");
});
