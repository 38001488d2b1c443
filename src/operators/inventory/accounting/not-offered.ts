/** Why a node is not sold. An empty list means that it is. */
import { excludedBy, type InventoryConfig } from "../configuration/inventory-config.ts";
import type { NodeInventory } from "../inventory.ts";
import type { NodeFacts } from "./node-facts.ts";

const excludedWords = "excluded by the configuration";

export function notOffered(node: NodeFacts, config: InventoryConfig): string[] {
  const pattern = excludedBy(config, node.name);
  return pattern === undefined ? [...node.hindrances] : [...node.hindrances, `${excludedWords} (${pattern})`];
}

const fullWords = "full";

/** Where no further pod fits, nothing can run, however much is left of the rest. */
export function fullOfPods({ podLimit }: NodeFacts, pods: number): string[] {
  return podLimit === undefined || pods < podLimit ? [] : [`${fullWords}: it has ${pods} pods and takes ${podLimit}`];
}

/** Such a node can do all that it could; as soon as a pod goes, another may come. */
export function isOnlyFull({ notOffered: reasons }: Pick<NodeInventory, "notOffered">): boolean {
  return reasons.length > 0 && reasons.every((reason) => reason.startsWith(fullWords));
}

/** Such a node is none of our business, while a cordoned one or one that is not ready is ours and will be back. */
export function isExcluded({ notOffered: reasons }: Pick<NodeInventory, "notOffered">): boolean {
  return reasons.some((reason) => reason.startsWith(excludedWords));
}
