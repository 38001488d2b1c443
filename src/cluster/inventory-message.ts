/** The cluster's inventory as the network tells it: what the operator said, or what a picture of it holds where that is all there is. */
import { formatBytes, formatCount, formatCpuMilli } from "../market/quantity.ts";
import { inventoryV1Cluster } from "../runtime/grpc/akash-proto.ts";
import type { Decoded } from "../runtime/protobuf.ts";
import type { Amount, ClusterPicture, PictureNode } from "./inventory/feed.ts";

type Node = Decoded<typeof inventoryV1Cluster>["nodes"][number];

const known = new WeakMap<ClusterPicture, Uint8Array>();

export function inventoryMessage(picture: ClusterPicture): Uint8Array {
  const message = known.get(picture) ?? picture.network?.() ?? ofPicture(picture);
  known.set(picture, message);
  return message;
}

function ofPicture({ nodes, storage }: ClusterPicture): Uint8Array {
  return inventoryV1Cluster.encode({
    nodes: nodes.map(nodeOf),
    storage: storage.map(({ class: name, bytes }) => ({
      quantity: pair(bytes, inBytes),
      info: { class: name, iops: "" },
    })),
  });
}

function nodeOf({ name, cpuMilli, memoryBytes, gpus, ephemeralBytes, volumes, storageClasses }: PictureNode): Node {
  return {
    name,
    resources: {
      cpu: { quantity: pair(cpuMilli, formatCpuMilli), info: [] },
      memory: { quantity: pair(memoryBytes, inBytes), info: [] },
      gpu: { quantity: pair(gpus, formatCount), info: [] },
      ephemeralStorage: pair(ephemeralBytes, inBytes),
      volumesAttached: pair(volumes, formatCount),
      volumesMounted: pair({ allocatable: 0n, allocated: 0n }, formatCount),
    },
    capabilities: { storageClasses: [...storageClasses] },
  };
}

function inBytes(bytes: bigint): string {
  return formatBytes(bytes, "DecimalSI");
}

/** Without an end is −1 there. How much there is in all is told nowhere else, so it is what may be given. */
function pair({ allocatable, allocated }: Amount, show: (amount: bigint) => string) {
  const there = { string: allocatable === "unlimited" ? "-1" : show(allocatable) };
  return { allocatable: there, allocated: { string: show(allocated) }, attributes: [], capacity: there };
}
