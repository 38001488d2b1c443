/** A pod on its node: its init containers one after the other, then its containers together. */
import type { Pod } from "../shapes/pod.ts";
import { type ContainerHome, type ContainerRun, createContainerRun } from "./container-run.ts";

export interface PodRun {
  readonly uid: string;
  readonly node: string;
  readonly ip: string;
  readonly startedMs: number;
  /** The init containers first. */
  readonly containers: readonly ContainerRun[];
  /** Lets everything happen that is due; tells when the next thing is, Infinity for never. */
  advance(nowMs: number): number;
  /** Ends every container within the grace. */
  stop(atMs: number, graceMs: number): void;
  readonly stopping: boolean;
  /** Nothing runs in it, and nothing will any more. */
  readonly over: boolean;
  initialized(nowMs: number): boolean;
}

export interface PodPlace {
  readonly node: string;
  readonly ip: string;
  readonly startedMs: number;
}

const never = Number.POSITIVE_INFINITY;
/** What a kubelet gives to the sidecars of a pod that has done its work. */
const sidecarGraceMs = 30_000;

export function createPodRun(pod: Pod, { node, ip, startedMs }: PodPlace, home: ContainerHome): PodRun {
  const { initContainers = [], containers } = pod.spec;
  const reason = initContainers.length > 0 ? "PodInitializing" : "ContainerCreating";
  const first = initContainers.map((container) => createContainerRun(container, "initContainers", reason, home));
  const then = containers.map((container) => createContainerRun(container, "containers", reason, home));
  const all = [...first, ...then];
  let stopping = false;
  let cursorMs = startedMs;

  function advance(nowMs: number): number {
    for (;;) {
      if (!stopping) beginThoseWhoseTurnItIs(nowMs);
      if (then.every(isEnded) || first.some(hasFailed)) for (const run of first) run.stop(cursorMs, sidecarGraceMs);
      const next = earliest(all);
      if (!next || next.dueMs > nowMs) break;
      cursorMs = next.dueMs;
      next.step();
    }
    return Math.min(...all.map((run) => nextChangeMs(run, nowMs)));
  }

  function beginThoseWhoseTurnItIs(nowMs: number): void {
    for (const run of first) {
      if (run.stage.kind === "waiting") run.begin(cursorMs);
      if (!isDone(run, nowMs)) return;
      if (run.sidecar) cursorMs = Math.max(cursorMs, run.life?.probes.startedAtMs ?? cursorMs);
    }
    for (const run of then) if (run.stage.kind === "waiting") run.begin(cursorMs);
  }

  return {
    uid: pod.metadata.uid,
    node,
    ip,
    startedMs,
    containers: all,
    advance,
    stop(atMs, graceMs) {
      stopping = true;
      for (const run of all) run.stop(atMs, graceMs);
    },
    get stopping() {
      return stopping;
    },
    get over() {
      const failed = first.some(hasFailed);
      return all.every((run) => isEnded(run) || (failed && run.stage.kind === "waiting"));
    },
    initialized: (nowMs) => first.every((run) => isDone(run, nowMs)),
  };
}

function isEnded({ stage }: ContainerRun): boolean {
  return stage.kind === "ended";
}

/** An init container that is not tried again: nothing after it will ever run. */
function hasFailed({ stage, sidecar }: ContainerRun): boolean {
  return stage.kind === "ended" && stage.exitCode !== 0 && !sidecar;
}

/** An init container lets the next one begin when it has ended well, a sidecar when it has started. */
function isDone({ stage, sidecar, life }: ContainerRun, nowMs: number): boolean {
  if (sidecar) return life !== undefined && life.probes.startedAtMs <= nowMs;
  return stage.kind === "ended" && stage.exitCode === 0;
}

function earliest(runs: readonly ContainerRun[]): ContainerRun | undefined {
  let found: ContainerRun | undefined;
  for (const run of runs) if (!found || run.dueMs < found.dueMs) found = run;
  return found;
}

/** Also when it becomes ready or stops being so: nothing happens to the container then, but to what is shown of it. */
function nextChangeMs({ dueMs, stage }: ContainerRun, nowMs: number): number {
  if (stage.kind !== "running") return dueMs;
  const { startedAtMs, readyAtMs, unreadyAtMs } = stage.life.probes;
  return Math.min(dueMs, ...[startedAtMs, readyAtMs, unreadyAtMs].map((ms) => (ms > nowMs ? ms : never)));
}
