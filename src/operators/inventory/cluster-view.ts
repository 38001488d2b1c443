/** The inventory in a few words for each node. */

import { formatBytes, formatCount, formatCpuMilli } from "../../market/quantity.ts";
import type { Amounts, NodeInventory } from "./inventory.ts";
import type { InventoryOperator } from "./operator.ts";

/** The nodes as the inventory has them. */
export interface ClusterView {
  readonly nodes: readonly NodeView[];
  /** Why there is nothing to show yet, or what may be wrong with it. */
  readonly trouble: string | undefined;
}

interface NodeView {
  readonly name: string;
  /** "offered", or why not. */
  readonly state: string;
  readonly cpu: Share;
  readonly memory: Share;
  readonly gpu: Share;
  /** "8 × h100", where its cards are known. */
  readonly cards: string;
}

/** What is taken of what there is, each in words: "3.5" of "64", "12Gi" of "256Gi". */
export interface Share {
  readonly allocated: string;
  readonly allocatable: string;
}

export function clusterView(operator?: Pick<InventoryOperator, "inventory" | "waitingFor">): ClusterView {
  const { inventory, waitingFor = "the first picture" } = operator ?? {};
  if (!inventory) return { nodes: [], trouble: `waiting for ${waitingFor}` };
  return { nodes: inventory.nodes.map(nodeView), trouble: inventory.conditions[0]?.message };
}

function nodeView(node: NodeInventory): NodeView {
  const { name, offered, notOffered, cpuMilli, memoryBytes, gpus, conditions } = node;
  return {
    name,
    state: offered ? "offered" : notOffered.map(({ message }) => message).join(", "),
    cpu: share(cpuMilli, formatCpuMilli),
    memory: share(memoryBytes, formatBytes),
    gpu: share(gpus, formatCount),
    cards: cardsText(node) || (conditions[0]?.message ?? ""),
  };
}

function share({ allocated, allocatable }: Amounts, format: (amount: bigint) => string): Share {
  return { allocated: format(allocated), allocatable: format(allocatable) };
}

function cardsText({ namedGpus }: NodeInventory): string {
  const counts = new Map<string, number>();
  for (const { vendorId, deviceId, name = `${vendorId}:${deviceId}` } of namedGpus) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => `${count} × ${name}`).join(", ");
}
