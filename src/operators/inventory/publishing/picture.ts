/**
 * One moment's inventory in every form in which it is published. Each form is made when it is first asked for; what
 * belongs to a single node is taken over from picture to picture for as long as that node stays the same object.
 */
import type { JsonObject } from "../../../bus/topics.ts";
import { formatTime } from "../../../runtime/clock.ts";
import type { Inventory, NodeInventory } from "../inventory.ts";
import { clusterMessage, nodeMessage, nodeOfCluster } from "./cluster-message.ts";
import { conditionJson, fullNodeJson, fullStorageJson, nodeHardwareJson } from "./full-json.ts";
import { networkNodeJson, networkStorageJson } from "./network-json.ts";
import { networkNode, networkStorage } from "./network-node.ts";
import { remembered } from "./remembered.ts";

export interface Picture {
  readonly inventory: Inventory;
  /** akash.inventory.v1.Cluster with the nodes that are offered: to the network, others do not exist. */
  clusterMessage(): Buffer;
  /** akash.inventory.v1.Node; undefined where the node is not offered, or is none. */
  nodeMessage(name: string): Uint8Array | undefined;
  /** The names of the nodes that are offered, in order. */
  readonly offered: readonly string[];
  /** Everything as JSON, but for the brace at its end: only whoever answers knows how old it is by then. */
  fullJson(): Buffer;
  clusterJson(): JsonObject;
  storageJson(): JsonObject;
  nodesJson(): JsonObject;
  /** Pictures whose texts are equal have the same `storageJson` and the same `nodesJson`, but for the time. */
  storageText(): string;
  nodeTexts(): readonly string[];
}

/** Makes pictures that share what they can. */
export function createPictures(): (inventory: Inventory) => Picture {
  const network = remembered(networkNode);
  const message = remembered((node: NodeInventory) => nodeMessage(network(node)));
  const messageInCluster = remembered((node: NodeInventory) => nodeOfCluster(message(node)));
  const networkJson = remembered((node: NodeInventory) => networkNodeJson(network(node)));
  const fullText = remembered((node: NodeInventory) => JSON.stringify(fullNodeJson(node)));
  const hardwareJson = remembered(nodeHardwareJson);
  const hardwareText = remembered((node: NodeInventory) => JSON.stringify(hardwareJson(node)));

  return (inventory) => {
    const { nodes, storage, conditions, atMs } = inventory;
    const at = formatTime(atMs);
    const offered = nodes.filter((node) => node.offered);
    const networkClasses = storage.map(networkStorage);
    const classes = once(() => storage.map(fullStorageJson));
    const storageText = once(() => JSON.stringify(classes()));
    return {
      inventory,
      offered: offered.map(({ name }) => name),
      clusterMessage: once(() => clusterMessage(offered.map(messageInCluster), networkClasses)),
      nodeMessage(name) {
        const node = offered.find((each) => each.name === name);
        return node && message(node);
      },
      fullJson: once(() => {
        const others = nodes.filter((node) => !node.offered);
        const lists = [
          `"nodes":[${offered.map(fullText).join(",")}]`,
          `"storage":${storageText()}`,
          `"not_offered":[${others.map(fullText).join(",")}]`,
          `"conditions":${JSON.stringify(conditions.map(conditionJson))}`,
        ];
        return Buffer.from(`{${lists.join(",")},"at":"${at}"`);
      }),
      clusterJson: () => ({ nodes: offered.map(networkJson), storage: networkClasses.map(networkStorageJson), at }),
      storageJson: () => ({ storage: classes(), at }),
      nodesJson: () => ({ nodes: nodes.map(hardwareJson), at }),
      storageText,
      nodeTexts: once(() => nodes.map(hardwareText)),
    };
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
