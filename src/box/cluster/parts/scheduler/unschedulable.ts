/** The sentence that says why a pod runs nowhere, as the real scheduler writes it. */
import type { Obstacle } from "./filters.ts";

export interface Verdict {
  readonly nodes: number;
  /** Said of the pod before any node was looked at. */
  readonly blocked?: string | undefined;
  readonly obstacles: readonly Obstacle[];
}

export function unschedulableText({ nodes, blocked, obstacles }: Verdict): string {
  if (nodes === 0) return "no nodes available to schedule pods";
  const available = `0/${nodes} nodes are available:`;
  const reasons = blocked ?? histogram(obstacles.flatMap(({ reasons }) => reasons));
  // Nothing is ever pushed aside here: every pod has the same priority.
  const passing = blocked === undefined ? obstacles.filter((obstacle) => obstacle.passing).length : 0;
  const preemption = histogram([
    ...Array<string>(passing).fill("No preemption victims found for incoming pod"),
    ...Array<string>(nodes - passing).fill("Preemption is not helpful for scheduling"),
  ]);
  return `${available} ${reasons}. no new claims to deallocate, preemption: ${available} ${preemption}.`;
}

/** "1 node(s) were unschedulable, 2 Insufficient cpu" */
function histogram(reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(", ");
}
