/**
 * What an operator of the cluster decides about the inventory, in the network's format: which storage classes are sold,
 * which nodes are not, and which classes a node does without. An empty `cluster_storage` sells no class, as there.
 */
import type { NodePattern } from "./node-pattern.ts";

export interface InventoryConfig {
  /** The classes that are sold, sorted. */
  readonly clusterStorage: readonly string[];
  readonly excludedNodes: readonly NodePattern[];
  readonly excludedStorage: readonly StorageExclusion[];
  /** Where the names of the cards come from: a URL or a file. Ours beyond the network's format. */
  readonly gpuRegistry?: string;
}

interface StorageExclusion {
  readonly nodes: NodePattern;
  readonly classes: readonly string[];
}

export const defaultInventoryConfig: InventoryConfig = { clusterStorage: [], excludedNodes: [], excludedStorage: [] };

/** The pattern that keeps a node out, if one does. */
export function excludedBy(config: InventoryConfig, node: string): string | undefined {
  return config.excludedNodes.find((pattern) => pattern.matches(node))?.source;
}

/**
 * The classes that workloads on this node may use: those that are sold and there, without those excluded for it. A node
 * without a disk of the backend keeps them, since volumes of Ceph and Longhorn are reached over the network; a node
 * that cannot reach them is what `exclude.node_storage` is for.
 */
export function classesOnNode(config: InventoryConfig, present: ReadonlySet<string>, node: string): string[] {
  const excluded = config.excludedStorage.filter(({ nodes }) => nodes.matches(node)).flatMap(({ classes }) => classes);
  return config.clusterStorage.filter((name) => present.has(name) && !excluded.includes(name));
}
