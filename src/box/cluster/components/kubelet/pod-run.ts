/** A pod on its node: its containers, and what happens to them when. */
import type { WholeAmounts } from "../scheduler/requests.ts";
import type { ContainerRun } from "./container-run.ts";

export interface PodRun {
  readonly uid: string;
  readonly ip: string;
  readonly startedMs: number;
  /** What it takes of its node. */
  readonly requests: WholeAmounts;
  readonly containers: readonly ContainerRun[];
}

/** Runs all steps that are due; returns when the next one is, Infinity for never. */
export function advance({ containers }: PodRun, nowMs: number): number {
  for (;;) {
    const next = containers.reduce((first, run) => (run.dueMs < first.dueMs ? run : first));
    if (next.dueMs > nowMs) break;
    next.step();
  }
  return Math.min(...containers.map((run) => nextChangeMs(run, nowMs)));
}

/** Also when it becomes ready: nothing happens to the container then, but to what is shown of it. */
function nextChangeMs({ dueMs, stage, life }: ContainerRun, nowMs: number): number {
  return stage === "running" && life && life.readyMs > nowMs ? Math.min(dueMs, life.readyMs) : dueMs;
}

/** Nothing runs in it, and nothing will any more. */
export function isOver({ containers }: PodRun): boolean {
  return containers.every(({ stage }) => stage === "ended");
}
