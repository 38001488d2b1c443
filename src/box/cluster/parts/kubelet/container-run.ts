/** One container of a pod on its node: from waiting over pulling and starting to running, ended, and started again. */
import { isSidecar } from "../../../../kube/pod-requests.ts";
import type { Container, ContainerState, Terminated } from "../shapes/pod.ts";
import { durationText } from "../shapes/time.ts";
import { type BackOff, createBackOff } from "./back-off.ts";
import type { FullBehaviour } from "./behaviour.ts";
import { type ProbeTimes, probeTimes } from "./probes.ts";

/** One process of a container, from its start to its end. Times are monotonic. */
export interface Life {
  readonly id: string;
  readonly startedMs: number;
  readonly behaviour: FullBehaviour;
  readonly probes: ProbeTimes;
  endedMs: number | undefined;
}

type Stage =
  | { readonly kind: "waiting" }
  | { readonly kind: "pulling" | "starting" | "backingOff"; readonly untilMs: number }
  /** The pull failed; that is shown, and after a moment that it will be tried again. */
  | { readonly kind: "pullFailed" | "pullBackOff"; readonly untilMs: number; readonly againMs: number }
  | { readonly kind: "running"; readonly life: Life }
  | { readonly kind: "ended"; readonly exitCode: number };

export interface ContainerRun {
  readonly container: Container;
  readonly list: "containers" | "initContainers";
  readonly sidecar: boolean;
  readonly stage: Stage;
  /** What is shown of it. */
  readonly shown: ContainerState;
  /** How it ended before what is shown. */
  readonly lastEnd: Terminated | undefined;
  readonly restarts: number;
  readonly life: Life | undefined;
  readonly previousLife: Life | undefined;
  /** When something happens to it by itself. */
  readonly dueMs: number;
  begin(atMs: number): void;
  /** Does what is due. */
  step(): void;
  /** Asks it to end, or ends it by force when its grace is over. */
  stop(atMs: number, graceMs: number): void;
}

/** What a container needs of its pod and node. */
export interface ContainerHome {
  behaviour(container: Container, restarts: number): FullBehaviour;
  hasImage(image: string): boolean;
  imageArrived(image: string): void;
  idOf(container: Container, restarts: number): string;
  stamp(atMs: number): string;
  /** What to say of a pod: name_namespace(uid). */
  readonly podText: string;
  readonly restartPolicy: string;
  event(run: ContainerRun, type: "Normal" | "Warning", reason: string, note: string): void;
  lifeEnded(life: Life): void;
}

const never = Number.POSITIVE_INFINITY;
/** The kubelet looks at its pods every second; only then a failed pull becomes a pause. */
const errorShownMs = 1_000;
/** Killed by the kernel, as by a signal 9. */
const killed = 137;
/** Ended by signal 15, as a program that knows nothing of signals. */
const asked = 143;

export function createContainerRun(
  container: Container,
  list: ContainerRun["list"],
  waitingReason: string,
  home: ContainerHome,
): ContainerRun {
  const sidecar = list === "initContainers" && isSidecar(container);
  const pullBackOff: BackOff = createBackOff();
  const crashBackOff: BackOff = createBackOff();
  let stage: Stage = { kind: "waiting" };
  let shown: ContainerState = { waiting: { reason: waitingReason } };
  let end: Terminated | undefined;
  let endBefore: Terminated | undefined;
  let restarts = 0;
  let life: Life | undefined;
  let previousLife: Life | undefined;
  let stopAtMs = never;
  let stopCode = asked;
  let pullMessage = "";

  const { image, name } = container;
  const event = (type: "Normal" | "Warning", reason: string, note: string) => home.event(run, type, reason, note);

  function begin(atMs: number): void {
    if (home.hasImage(image) && container.imagePullPolicy !== "Always") {
      event("Normal", "Pulled", `Container image "${image}" already present on machine`);
      start(atMs);
      return;
    }
    event("Normal", "Pulling", `Pulling image "${image}"`);
    const pullMs = home.hasImage(image) ? 0 : home.behaviour(container, restarts).pullMs;
    stage = { kind: "pulling", untilMs: atMs + pullMs };
  }

  function pulled(atMs: number): void {
    const { missing, pullMs } = home.behaviour(container, restarts);
    if (missing) {
      pullFailed(atMs);
      return;
    }
    const took = durationText(home.hasImage(image) ? 0 : pullMs);
    home.imageArrived(image);
    event("Normal", "Pulled", `Successfully pulled image "${image}" in ${took} (${took} including waiting).`);
    start(atMs);
  }

  function pullFailed(atMs: number): void {
    pullMessage =
      `rpc error: code = NotFound desc = failed to pull and unpack image "${image}": ` +
      `failed to resolve reference "${image}": ${image}: not found`;
    event("Warning", "Failed", `Failed to pull image "${image}": ${pullMessage}`);
    event("Warning", "Failed", "Error: ErrImagePull");
    shown = { waiting: { reason: "ErrImagePull", message: pullMessage } };
    stage = { kind: "pullFailed", untilMs: atMs + errorShownMs, againMs: atMs + pullBackOff.next(atMs) };
  }

  function showPullBackOff({ againMs }: { readonly againMs: number }): void {
    event("Normal", "BackOff", `Back-off pulling image "${image}"`);
    event("Warning", "Failed", "Error: ImagePullBackOff");
    const message = `Back-off pulling image "${image}": ErrImagePull: ${pullMessage}`;
    shown = { waiting: { reason: "ImagePullBackOff", message } };
    stage = { kind: "pullBackOff", untilMs: againMs, againMs };
  }

  function start(atMs: number): void {
    stage = { kind: "starting", untilMs: atMs + home.behaviour(container, restarts).startMs };
  }

  function started(atMs: number): void {
    if (life) restarts += 1;
    previousLife = life;
    const behaviour = home.behaviour(container, restarts);
    const probes = probeTimes(container, behaviour, atMs);
    life = { id: home.idOf(container, restarts), startedMs: atMs, behaviour, probes, endedMs: undefined };
    event("Normal", "Created", `Created container: ${name}`);
    event("Normal", "Started", `Started container ${name}`);
    shown = { running: { startedAt: home.stamp(atMs) } };
    stage = { kind: "running", life };
  }

  function endsAt({ startedMs, behaviour, probes }: Life): number {
    return Math.min(startedMs + (behaviour.exitAfterMs ?? never), probes.killAtMs, stopAtMs);
  }

  function ended(atMs: number, ending: Life): void {
    const { behaviour, probes, id, startedMs } = ending;
    ending.endedMs = atMs;
    const byItself = atMs === startedMs + (behaviour.exitAfterMs ?? never);
    if (!byItself && atMs === probes.killAtMs) tellUnhealthy(probes);
    const exitCode = exitCodeOf(behaviour, byItself, atMs);
    const reason = byItself && behaviour.oom ? "OOMKilled" : exitCode === 0 ? "Completed" : "Error";
    const [startedAt, finishedAt] = [home.stamp(startedMs), home.stamp(atMs)];
    endBefore = end;
    end = { exitCode, reason, startedAt, finishedAt, containerID: id };
    shown = { terminated: end };
    stage = { kind: "ended", exitCode };
    home.lifeEnded(ending);
    if (stopAtMs === never && startsAgain(exitCode)) restart(atMs);
  }

  function exitCodeOf({ oom, exitCode = 0 }: FullBehaviour, byItself: boolean, atMs: number): number {
    if (byItself) return oom ? killed : exitCode;
    return atMs === stopAtMs ? stopCode : killed;
  }

  function tellUnhealthy({ killedBy }: ProbeTimes): void {
    const probe = killedBy === "startup" ? "Startup" : "Liveness";
    event("Warning", "Unhealthy", `${probe} probe failed: HTTP probe failed with statuscode: 503`);
    event("Normal", "Killing", `Container ${name} failed ${killedBy} probe, will be restarted`);
  }

  function startsAgain(exitCode: number): boolean {
    if (sidecar) return true;
    if (list === "initContainers") return exitCode !== 0 && home.restartPolicy !== "Never";
    return home.restartPolicy === "Always" || (home.restartPolicy === "OnFailure" && exitCode !== 0);
  }

  /** The first time at once; then after a pause that doubles. */
  function restart(atMs: number): void {
    const pauseMs = crashBackOff.pauseMs(atMs);
    if (pauseMs === 0) {
      startAgain(atMs);
      return;
    }
    event("Warning", "BackOff", `Back-off restarting failed container ${name} in pod ${home.podText}`);
    const message = `back-off ${durationText(pauseMs)} restarting failed container=${name} pod=${home.podText}`;
    shown = { waiting: { reason: "CrashLoopBackOff", message } };
    stage = { kind: "backingOff", untilMs: atMs + pauseMs };
  }

  function startAgain(atMs: number): void {
    crashBackOff.next(atMs);
    begin(atMs);
  }

  function dueMs(): number {
    if (stage.kind === "waiting" || stage.kind === "ended") return never;
    return stage.kind === "running" ? endsAt(stage.life) : stage.untilMs;
  }

  function step(): void {
    const atMs = dueMs();
    if (stage.kind === "pulling") pulled(atMs);
    else if (stage.kind === "pullFailed") showPullBackOff(stage);
    else if (stage.kind === "pullBackOff") begin(atMs);
    else if (stage.kind === "starting") started(atMs);
    else if (stage.kind === "running") ended(atMs, stage.life);
    else if (stage.kind === "backingOff") startAgain(atMs);
  }

  function stop(atMs: number, graceMs: number): void {
    if (stage.kind === "ended") return;
    if (stage.kind !== "running") {
      stage = { kind: "ended", exitCode: killed };
      return;
    }
    const { stopMs } = stage.life.behaviour;
    // The grace may be cut short while it ends, but never prolonged.
    if (stopAtMs <= atMs + graceMs) return;
    if (stopAtMs === never) event("Normal", "Killing", `Stopping container ${name}`);
    stopAtMs = atMs + Math.min(stopMs, graceMs);
    stopCode = stopMs <= graceMs ? asked : killed;
  }

  const run: ContainerRun = {
    container,
    list,
    sidecar,
    get stage() {
      return stage;
    },
    get shown() {
      return shown;
    },
    get lastEnd() {
      return shown.terminated ? endBefore : end;
    },
    get restarts() {
      return restarts;
    },
    get life() {
      return life;
    },
    get previousLife() {
      return previousLife;
    },
    get dueMs() {
      return dueMs();
    },
    begin,
    step,
    stop,
  };
  return run;
}
