/** What a node uses right now, as the metrics API measured it. */
import { fieldsOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import type { NodeInventory } from "../inventory.ts";
import { readAmounts, wholeResources } from "./resources.ts";

export type NodeUsage = NonNullable<NodeInventory["usage"]>;

/** Undefined where the measurement is incomplete or makes no sense: it is shown beside the allocation, never instead. */
export function nodeUsage(metrics: KubeObject): NodeUsage | undefined {
  const usage = fieldsOf(metrics["usage"]);
  if (usage["cpu"] === undefined || usage["memory"] === undefined) return undefined;
  let readable = true;
  const amounts = readAmounts(usage, "usage", () => {
    readable = false;
  });
  const { cpuMilli, memoryBytes } = wholeResources(amounts);
  return readable ? { cpuMilli, memoryBytes } : undefined;
}
