/** The evidence when more of a node is taken than it has: how much, and by which pods. */
import { formatBytes, formatCount, formatCpuMilli } from "../../../market/quantity.ts";
import { limits } from "../../../runtime/limits.ts";
import type { Amounts, Condition } from "../inventory.ts";
import type { PodUse } from "./pod-use.ts";
import type { Resources } from "./resources.ts";

type NodeAmounts = Readonly<Record<keyof Resources | "volumes", Amounts>>;

const shown = {
  cpuMilli: { word: "cpu", format: formatCpuMilli },
  memoryBytes: { word: "memory", format: formatBytes },
  ephemeralBytes: { word: "ephemeral storage", format: formatBytes },
  gpus: { word: "gpus", format: formatCount },
} as const satisfies Record<keyof Resources, unknown>;

export function overbooked(amounts: NodeAmounts, pods: Iterable<PodUse>, diskDebt?: string): Condition[] {
  const resources = Object.keys(shown) as (keyof Resources)[];
  const evidence = resources.filter((name) => isOver(amounts[name])).map((name) => sumText(name, amounts[name], pods));
  if (diskDebt !== undefined) evidence.push(diskDebt);
  const { volumes } = amounts;
  if (isOver(volumes))
    evidence.push(`volumes: ${volumes.allocated} are attached, ${volumes.allocatable} are allocatable`);
  return evidence.length === 0 ? [] : [{ type: "Overbooked", message: evidence.join("; ") }];
}

function isOver({ allocatable, allocated }: Amounts): boolean {
  return allocated > allocatable;
}

/** "cpu: 10 of 8 allocatable are taken by 3 pods: a/web-0 6, b/web-0 3, c/job 1" */
function sumText(name: keyof Resources, { allocatable, allocated }: Amounts, pods: Iterable<PodUse>): string {
  const { word, format } = shown[name];
  const takers = [...pods].filter((pod) => pod[name] > 0n).sort((a, b) => byMost(a[name], b[name]) || byName(a, b));
  const named = takers.slice(0, limits.inventoryPodsTold).map((pod) => `${pod.name} ${format(pod[name])}`);
  const rest = takers.length - named.length;
  const list = rest > 0 ? [...named, `and ${rest} more`] : named;
  const noun = takers.length === 1 ? "pod" : "pods";
  return `${word}: ${format(allocated)} of ${format(allocatable)} allocatable are taken by ${takers.length} ${noun}: ${list.join(", ")}`;
}

function byMost(a: bigint, b: bigint): number {
  return a === b ? 0 : a > b ? -1 : 1;
}

function byName(a: PodUse, b: PodUse): number {
  return a.name < b.name ? -1 : 1;
}
