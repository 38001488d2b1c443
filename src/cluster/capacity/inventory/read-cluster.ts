/**
 * Reads akash.inventory.v1.Cluster in exact numbers. A thousand nodes come with every pod that starts, so unchanged nodes are
 * reused from the message before. Invalid entries are left out, with a condition.
 */
import {
  type GPUInfo,
  Node,
  type ResourcePair,
  Storage,
} from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { gpuOf } from "../../../market/gpu-attributes.ts";
import { parseQuantity } from "../../../market/quantity.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import { once } from "../../../runtime/memoize.ts";
import { bytes, messageOf, plain, repeated, text } from "../../../runtime/protobuf.ts";
import type { GpuCount } from "../placement/room.ts";
import type { Amount, ClusterSnapshot, SnapshotNode, SnapshotStorageClass } from "./feed.ts";

/** akash.inventory.v1.Cluster with its parts unread. */
const clusterParts = messageOf({ nodes: repeated(1, bytes), storage: repeated(2, bytes) });
const nameOnly = messageOf({ name: plain(1, text, "") });

interface Named<T> {
  /** Undefined where it cannot be read either. */
  readonly name: string | undefined;
  readonly read: { readonly value: T } | { readonly invalid: string };
}

/** Reads one message after the other. Throws where one cannot be decoded. */
export function createClusterReader() {
  let known: readonly (Named<SnapshotNode> & { readonly bytes: Uint8Array })[] = [];

  return (message: Uint8Array): Pick<ClusterSnapshot, "nodes" | "storage" | "conditions"> => {
    const { nodes, storage } = clusterParts.decode(message);
    const byName = once(() => new Map(known.map((node) => [node.name, node])));
    const isSame = (before: (typeof known)[number] | undefined, bytes: Uint8Array) =>
      before !== undefined && Buffer.compare(before.bytes, bytes) === 0;
    known = nodes.map((bytes, at) => {
      // Most have the same index as before; after a node came or went, the others are found by name.
      const sameIndex = known[at];
      const before = isSame(sameIndex, bytes) ? sameIndex : byName().get(nameOnly.decode(bytes).name);
      // With the bytes of this message, or every message that ever held a node would be kept in memory.
      if (before && isSame(before, bytes)) return { ...before, bytes };
      return { name: nameOnly.decode(bytes).name, read: attempt(() => readNode(Node.decode(bytes))), bytes };
    });
    const classes = storage.map((bytes) => {
      const read = attempt(() => readClass(Storage.decode(bytes)));
      return { name: "value" in read ? read.value.class : undefined, read };
    });
    const conditions: Condition[] = [];
    return {
      nodes: validOf("Node", "node", known, conditions),
      storage: validOf("Class", "storage class", classes, conditions),
      conditions,
    };
  };
}

/** The message without the fields that our operator adds. */
export function clusterIn(message: Uint8Array): Uint8Array {
  return clusterParts.encode(clusterParts.decode(message));
}

function attempt<T>(read: () => T): Named<T>["read"] {
  try {
    return { value: read() };
  } catch (thrown) {
    return { invalid: reasonOf(thrown) };
  }
}

/** Sorted by name. Entries that share a name are all left out: together they would be sold twice. */
function validOf<T>(type: "Node" | "Class", what: string, all: readonly Named<T>[], conditions: Condition[]): T[] {
  const byName = Map.groupBy(all, ({ name }) => name);
  const valid: { readonly name: string; readonly value: T }[] = [];
  const leaveOut = (kind: "Unreadable" | "Twice", subject: string, why: string) =>
    conditions.push(condition(`${type}${kind}`, `${subject} is left out: ${why}`));
  for (const { name, read } of all) {
    if ("invalid" in read)
      leaveOut("Unreadable", name === undefined ? `a ${what}` : `${what} ${JSON.stringify(name)}`, read.invalid);
    else if (!name) leaveOut("Unreadable", `a ${what}`, "it has no name");
    else if (byName.get(name)?.length !== 1) leaveOut("Twice", `${what} ${name}`, "it is there more than once");
    else valid.push({ name, value: read.value });
  }
  return valid.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))).map(({ value }) => value);
}

const nanoPerMilli = 10n ** 6n;
const nanoPerOne = 10n ** 9n;

export function readNode({ name, resources, capabilities }: Node): SnapshotNode {
  const { cpu, memory, gpu, ephemeralStorage, volumesAttached } = resources ?? {};
  const volumes = amount("volumes", volumesAttached, nanoPerOne);
  return {
    name,
    cpuMilli: amount("cpu", cpu?.quantity, nanoPerMilli),
    memoryBytes: amount("memory", memory?.quantity, nanoPerOne),
    ephemeralBytes: amount("ephemeral storage", ephemeralStorage, nanoPerOne),
    gpus: amount("gpus", gpu?.quantity, nanoPerOne),
    gpuCounts: countGpus(gpu?.info ?? []),
    // Operators report zero where they do not know the limit.
    volumes: volumes.allocatable === 0n ? { ...volumes, allocatable: "unlimited" } : volumes,
    storageClasses: capabilities?.storageClasses ?? [],
  };
}

function readClass({ quantity, info }: Storage): SnapshotStorageClass {
  return { class: info?.class ?? "", bytes: amount("storage", quantity, nanoPerOne) };
}

/** How many there are of each kind; GPUs with equal fields are read once. */
function countGpus(infos: readonly GPUInfo[]): GpuCount[] {
  const alike = Map.groupBy(infos, ({ vendor, name, interface: connector, memorySize }) =>
    [vendor, name, connector, memorySize].join("/"),
  );
  return [...alike.values()].flatMap(([first, ...others]) =>
    first ? [{ gpu: gpuOf(first), count: BigInt(1 + others.length) }] : [],
  );
}

/** Whole units: what is allocatable rounded down, what is allocated rounded up. */
function amount(what: string, pair: ResourcePair | undefined, nanoPerUnit: bigint): Amount {
  const there = nanoOf(pair?.allocatable?.string);
  const taken = nanoOf(pair?.allocated?.string);
  if (taken < 0n) throw new Error(`of its ${what} less than nothing is allocated: ${pair?.allocated?.string}`);
  const allocated = (taken + nanoPerUnit - 1n) / nanoPerUnit;
  if (there === -nanoPerOne) return { allocatable: "unlimited", allocated };
  if (there < 0n) throw new Error(`of its ${what} less than nothing is allocatable: ${pair?.allocatable?.string}`);
  return { allocatable: there / nanoPerUnit, allocated };
}

function nanoOf(text: string | undefined): bigint {
  return text ? parseQuantity(text).nano : 0n;
}
