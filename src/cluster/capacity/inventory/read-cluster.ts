/**
 * Makes a picture of what an inventory operator shows. Nodes that stayed as they were are taken over from the picture
 * before: a thousand nodes come with every pod that starts. What makes no sense is left out, with a condition.
 */

import { Node, Storage } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import { once } from "../../../runtime/once.ts";
import { bytes, messageOf, plain, repeated, text } from "../../../runtime/protobuf.ts";
import type { ClusterPicture, PictureClass, PictureNode } from "./feed.ts";
import { readClass, readNode } from "./read-node.ts";

/** akash.inventory.v1.Cluster with its parts unread. */
const clusterParts = messageOf({ nodes: repeated(1, bytes), storage: repeated(2, bytes) });
const nameOnly = messageOf({ name: plain(1, text, "") });

export type Read<T> = { readonly is: T } | { readonly nonsense: string };
/** All of a picture but when it came and what is in it. */
type PictureContent = Pick<ClusterPicture, "nodes" | "storage" | "conditions">;

interface KnownNode {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly read: Read<PictureNode>;
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

/** Of two with one name nobody knows which is right, and both together would be sold twice. */
export function contentOf(
  nodes: readonly { readonly name: string; readonly read: Read<PictureNode> }[],
  storage: readonly Read<PictureClass>[],
): PictureContent {
  const conditions: Condition[] = [];
  const leaveOut = (type: string, message: string) => conditions.push(condition(type, message));
  const timesNode = times(nodes.map(({ name }) => name));
  const timesClass = times(storage.flatMap((read) => ("is" in read ? [read.is.class] : [])));
  const kept: PictureNode[] = [];
  for (const { name, read } of nodes) {
    if ("nonsense" in read) leaveOut("NodeUnreadable", `node ${JSON.stringify(name)} is left out: ${read.nonsense}`);
    else if (name === "") leaveOut("NodeUnreadable", "a node is left out: it has no name");
    else if (timesNode.get(name) !== 1) leaveOut("NodeTwice", `node ${name} is left out: it is there more than once`);
    else kept.push(read.is);
  }
  const classes: PictureClass[] = [];
  for (const read of storage) {
    if ("nonsense" in read) leaveOut("ClassUnreadable", `a storage class is left out: ${read.nonsense}`);
    else if (read.is.class === "") leaveOut("ClassUnreadable", "a storage class is left out: it has no name");
    else if (timesClass.get(read.is.class) !== 1)
      leaveOut("ClassTwice", `storage class ${read.is.class} is left out: it is there more than once`);
    else classes.push(read.is);
  }
  return {
    nodes: kept.sort((a, b) => compare(a.name, b.name)),
    storage: classes.sort((a, b) => compare(a.class, b.class)),
    conditions,
  };
}

function times(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
