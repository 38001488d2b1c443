/**
 * Reads akash.inventory.v1.Cluster in exact numbers. A thousand nodes come with every pod that starts, so nodes that stayed
 * as they were are taken over from the message before. What is invalid is left out, with a condition.
 */
import {
  type GPUInfo,
  Node,
  type ResourcePair,
  Storage,
} from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { type Gpu, gpuOf } from "../../../market/gpu-attributes.ts";
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

export type Read<T> = { readonly is: T } | { readonly nonsense: string };
/** All of a picture but when it came and what is in it. */
type PictureContent = Pick<ClusterSnapshot, "nodes" | "storage" | "conditions">;

interface KnownNode extends Named<SnapshotNode> {
  readonly bytes: Uint8Array;
}

/** Reads one message after the other. Throws where one is no message at all. */
export function createClusterReader(): (message: Uint8Array) => PictureContent {
  let known: readonly KnownNode[] = [];

  return (message) => {
    const { nodes, storage } = clusterParts.decode(message);
    const byName = once(() => new Map(known.map((node) => [node.name, node])));
    known = nodes.map((bytes, at) => {
      // Most stand where they stood; after one that came or went, all others are found by their names.
      const before = sameBytes(known[at], bytes) ?? sameBytes(byName().get(nameOnly.decode(bytes).name), bytes);
      // With the bytes of this message, or every message that ever brought a node would be kept.
      return before ? { ...before, bytes } : { ...readNew(bytes), bytes };
    });
    return contentOf(
      known,
      storage.map((bytes) => attempt(() => readClass(Storage.decode(bytes)))),
    );
  };
}

/** The message without what our operator adds to it for us alone. */
export function clusterIn(message: Uint8Array): Uint8Array {
  return clusterParts.encode(clusterParts.decode(message));
}

function sameBytes(known: KnownNode | undefined, bytes: Uint8Array): KnownNode | undefined {
  return known && Buffer.compare(known.bytes, bytes) === 0 ? known : undefined;
}

function readNew(bytes: Uint8Array): Omit<KnownNode, "bytes"> {
  return { name: nameOnly.decode(bytes).name, read: attempt(() => readNode(Node.decode(bytes))) };
}

export function attempt<T>(read: () => T): Read<T> {
  try {
    return { is: read() };
  } catch (thrown) {
    return { nonsense: reasonOf(thrown) };
  }
}

export function contentOf(
  nodes: readonly Named<SnapshotNode>[],
  storage: readonly Read<SnapshotStorageClass>[],
): PictureContent {
  const conditions: Condition[] = [];
  const classes = storage.map((read) => ({ name: "is" in read ? read.is.class : undefined, read }));
  return {
    nodes: validOf("Node", "node", nodes, conditions),
    storage: validOf("Class", "storage class", classes, conditions),
    conditions,
  };
}

interface Named<T> {
  /** Undefined where it cannot be read either. */
  readonly name: string | undefined;
  readonly read: Read<T>;
}

/** By name. Of two with one name nobody knows which is right, and both together would be sold twice. */
function validOf<T>(type: "Node" | "Class", what: string, all: readonly Named<T>[], conditions: Condition[]): T[] {
  const byName = Map.groupBy(all, ({ name }) => name);
  const valid: { readonly name: string; readonly is: T }[] = [];
  const leaveOut = (kind: "Unreadable" | "Twice", subject: string, why: string) =>
    conditions.push(condition(`${type}${kind}`, `${subject} is left out: ${why}`));
  for (const { name, read } of all) {
    if ("nonsense" in read)
      leaveOut("Unreadable", name === undefined ? `a ${what}` : `${what} ${JSON.stringify(name)}`, read.nonsense);
    else if (!name) leaveOut("Unreadable", `a ${what}`, "it has no name");
    else if (byName.get(name)?.length !== 1) leaveOut("Twice", `${what} ${name}`, "it is there more than once");
    else valid.push({ name, is: read.is });
  }
  return valid.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))).map(({ is }) => is);
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
    cards: countCards(gpu?.info ?? []),
    // Zero is what an operator says that does not know it; nobody's driver takes none.
    volumes: volumes.allocatable === 0n ? { ...volumes, allocatable: "unlimited" } : volumes,
    storageClasses: capabilities?.storageClasses ?? [],
  };
}

export function readClass({ quantity, info }: Storage): SnapshotStorageClass {
  return { class: info?.class ?? "", bytes: amount("storage", quantity, nanoPerOne) };
}

/** How many there are of each kind. */
function countCards(told: readonly GPUInfo[]): GpuCount[] {
  const alike = new Map<string, { card: Gpu; count: bigint }>();
  for (const each of told) {
    // Told apart by what is told of them, so that eight cards of a kind are read once.
    const words = `${each.vendor}/${each.name}/${each.interface}/${each.memorySize}`;
    const known = alike.get(words);
    if (known) known.count += 1n;
    else alike.set(words, { card: gpuOf(each), count: 1n });
  }
  return [...alike.values()];
}

/** A part of a unit is nothing that could be given, but it is taken. */
function amount(what: string, pair: ResourcePair | undefined, nanoPerUnit: bigint): Amount {
  const there = nanoOf(pair?.allocatable?.string);
  const taken = nanoOf(pair?.allocated?.string);
  if (taken < 0n) throw new Error(`of its ${what} less than nothing is allocated: ${pair?.allocated?.string}`);
  const allocated = (taken + nanoPerUnit - 1n) / nanoPerUnit;
  if (there === -nanoPerOne) return { allocatable: "unlimited", allocated };
  if (there < 0n) throw new Error(`of its ${what} less than nothing is allocatable: ${pair?.allocatable?.string}`);
  return { allocatable: there / nanoPerUnit, allocated };
}

/** An amount that is not in the message is zero, as in every message of this kind. */
function nanoOf(text: string | undefined): bigint {
  return text ? parseQuantity(text).nano : 0n;
}
