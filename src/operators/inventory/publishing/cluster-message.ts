/** akash.inventory.v1.Cluster, put together from nodes that are encoded one by one: most of them stay as they are. */
import { Cluster, Node, type ResourcePair } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { NetworkNode, NetworkStorage } from "./network-node.ts";
import type { Quantities } from "./quantities.ts";

export function nodeMessage(node: NetworkNode): Uint8Array {
  const { memoryTotal } = node;
  return Node.encode({
    name: node.name,
    resources: {
      cpu: { quantity: pair(node.cpu), info: [...node.cpus] },
      memory: {
        quantity: pair(node.memory),
        info: memoryTotal === undefined ? [] : [{ vendor: "", type: "", totalSize: memoryTotal, speed: "" }],
      },
      gpu: {
        quantity: pair(node.gpu),
        info: node.gpus.map(({ modelId, ...gpu }) => ({ ...gpu, modelid: modelId })),
      },
      ephemeralStorage: pair(node.ephemeral),
      volumesAttached: pair(node.volumesAttached),
      volumesMounted: pair(node.volumesMounted),
    },
    capabilities: { storageClasses: [...node.storageClasses] },
  }).finish();
}

const nodesField = 1;

/** A node's message as it stands inside the cluster's. */
export function nodeOfCluster(message: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(nodesField, WireType.LengthDelimited).bytes(message).finish();
}

export function clusterMessage(nodes: readonly Uint8Array[], storage: readonly NetworkStorage[]): Buffer {
  const classes = storage.map(({ class: name, quantities }) => ({
    quantity: pair(quantities),
    info: { class: name, iops: "" },
  }));
  return Buffer.concat([...nodes, Cluster.encode({ nodes: [], storage: classes }).finish()]);
}

function pair({ allocatable, allocated, capacity }: Quantities): ResourcePair {
  return {
    allocatable: { string: allocatable },
    allocated: { string: allocated },
    attributes: [],
    capacity: { string: capacity },
  };
}
