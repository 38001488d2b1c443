/** What a picture has free, in the words of placement. */
import { type ClusterRoom, endless, type NodeRoom, unknownCards } from "../placement/room.ts";
import type { Amount, ClusterPicture, PictureNode } from "./feed.ts";

/** Nodes stay the same objects from picture to picture while nothing happens to them. */
const rooms = new WeakMap<PictureNode, NodeRoom>();

export function roomOf({ nodes, storage, defaultClass }: ClusterPicture): ClusterRoom {
  return {
    nodes: nodes.map((node) => {
      const room = rooms.get(node) ?? nodeRoom(node);
      rooms.set(node, room);
      return room;
    }),
    classes: new Map(storage.map(({ class: name, bytes }) => [name, limited(bytes)])),
    defaultClass,
  };
}

function nodeRoom(node: PictureNode): NodeRoom {
  const { name, cards, gpus, storageClasses } = node;
  const listed = cards.reduce((sum, { count }) => sum + count, 0n);
  const allocatable = gpus.allocatable === "unlimited" ? listed : gpus.allocatable;
  return {
    name,
    cpuMilli: free(node.cpuMilli),
    memoryBytes: free(node.memoryBytes),
    ephemeralBytes: free(node.ephemeralBytes),
    gpus: free(gpus),
    cards,
    unknownCards: unknownCards(listed, allocatable, allocatable - gpus.allocated),
    volumes: limited(node.volumes),
    storageClasses,
  };
}

function free(amount: Amount): bigint {
  return limited(amount) ?? endless;
}

function limited({ allocatable, allocated }: Amount): bigint | undefined {
  return allocatable === "unlimited" ? undefined : allocatable - allocated;
}
