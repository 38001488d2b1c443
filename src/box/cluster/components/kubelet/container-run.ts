/** One container of a pod on its node: from pulling and starting to running, ended, and started again. */
import { growingPauseMs } from "../../../../runtime/back-off.ts";
import type { Container, ContainerState, Terminated } from "../shapes/pod.ts";
import { durationText } from "../shapes/time.ts";
import type { FullBehaviour } from "./behaviour.ts";

/** One process of a container, from its start to its end. Times are monotonic. */
export interface Life {
  readonly id: string;
  readonly startedMs: number;
  readonly readyMs: number;
  readonly behaviour: FullBehaviour;
  endedMs: number | undefined;
}

/** A pull that failed is shown, and after a moment that it will be tried again. */
type Stage = "pulling" | "pullFailed" | "pullBackOff" | "starting" | "running" | "backingOff" | "ended";

export interface ContainerRun {
  readonly container: Container;
  stage: Stage;
  /** What is shown of it. */
  shown: ContainerState;
  /** How it ended before what is shown. */
  lastEnd: Terminated | undefined;
  exitCode: number;
  restarts: number;
  life: Life | undefined;
  previousLife: Life | undefined;
  /** When something happens to it by itself. */
  dueMs: number;
  /** Does what is due. */
  step(): void;
  /** Sends SIGTERM, and SIGKILL when the grace period is over. */
  stop(atMs: number, graceMs: number): void;
}

/** What a container needs of its pod and node. */
export interface ContainerHome {
  behaviour(restarts: number): FullBehaviour;
  readonly images: Set<string>;
  idOf(restarts: number): string;
  stamp(atMs: number): string;
  /** What to say of a pod: name_namespace(uid). */
  readonly podText: string;
  readonly restartPolicy: string;
  event(type: "Normal" | "Warning", reason: string, note: string): void;
  lifeEnded(life: Life): void;
}

const never = Number.POSITIVE_INFINITY;
/** The kubelet looks at its pods every second; only then a failed pull becomes a pause. */
const errorShownMs = 1_000;
/** The pauses of a kubelet between tries: 10 s, doubling to 5 minutes, forgotten after 10 minutes without a failure. */
const pauseMs = (failures: number) => growingPauseMs(10_000, 300_000, failures);
const forgetMs = 600_000;
/** Killed by the kernel, as by a signal 9. */
const killed = 137;
/** Ended by signal 15, as a program that knows nothing of signals. */
const sigterm = 143;

export function createContainerRun(container: Container, home: ContainerHome, begunMs: number): ContainerRun {
  const { image, name } = container;
  const { event } = home;
  const run: ContainerRun = {
    container,
    stage: "pulling",
    shown: { waiting: { reason: "ContainerCreating" } },
    lastEnd: undefined,
    exitCode: 0,
    restarts: 0,
    life: undefined,
    previousLife: undefined,
    dueMs: never,
    step,
    stop,
  };
  let end: Terminated | undefined;
  let pullFailures = 0;
  let crashes = 0;
  let stopMs = never;
  let stopCode = sigterm;

  function enter(next: Stage, atMs: number): void {
    run.stage = next;
    run.dueMs = atMs;
  }

  function show(state: ContainerState): void {
    run.lastEnd = end;
    end = state.terminated ?? end;
    run.shown = state;
  }

  function begin(atMs: number): void {
    const isHere = home.images.has(image);
    if (isHere && container.imagePullPolicy !== "Always") {
      event("Normal", "Pulled", `Container image "${image}" already present on machine`);
      enter("starting", atMs + home.behaviour(run.restarts).startMs);
      return;
    }
    event("Normal", "Pulling", `Pulling image "${image}"`);
    enter("pulling", atMs + (isHere ? 0 : home.behaviour(run.restarts).pullMs));
  }

  function pulled(atMs: number): void {
    const { missing, pullMs, startMs } = home.behaviour(run.restarts);
    if (missing) {
      pullFailures += 1;
      event("Warning", "Failed", `Failed to pull image "${image}": ${notFound(image)}`);
      event("Warning", "Failed", "Error: ErrImagePull");
      show({ waiting: { reason: "ErrImagePull", message: notFound(image) } });
      enter("pullFailed", atMs + errorShownMs);
      return;
    }
    const took = durationText(home.images.has(image) ? 0 : pullMs);
    home.images.add(image);
    event("Normal", "Pulled", `Successfully pulled image "${image}" in ${took} (${took} including waiting).`);
    enter("starting", atMs + startMs);
  }

  function backOffFromPull(atMs: number): void {
    event("Normal", "BackOff", `Back-off pulling image "${image}"`);
    event("Warning", "Failed", "Error: ImagePullBackOff");
    const message = `Back-off pulling image "${image}": ErrImagePull: ${notFound(image)}`;
    show({ waiting: { reason: "ImagePullBackOff", message } });
    enter("pullBackOff", atMs - errorShownMs + pauseMs(pullFailures));
  }

  function started(atMs: number): void {
    if (run.life) run.restarts += 1;
    run.previousLife = run.life;
    const behaviour = home.behaviour(run.restarts);
    const readyMs = atMs + (container.readinessProbe ? behaviour.readyMs : 0);
    run.life = { id: home.idOf(run.restarts), startedMs: atMs, readyMs, behaviour, endedMs: undefined };
    event("Normal", "Created", `Created container: ${name}`);
    event("Normal", "Started", `Started container ${name}`);
    show({ running: { startedAt: home.stamp(atMs) } });
    enter("running", atMs + (behaviour.exitAfterMs ?? never));
  }

  function ended(atMs: number, { behaviour, id, startedMs }: Life): void {
    const byItself = atMs === startedMs + (behaviour.exitAfterMs ?? never);
    const isOom = byItself && behaviour.oom === true;
    const exitCode = isOom ? killed : byItself ? (behaviour.exitCode ?? 0) : stopCode;
    const reason = isOom ? "OOMKilled" : exitCode === 0 ? "Completed" : "Error";
    const [startedAt, finishedAt] = [home.stamp(startedMs), home.stamp(atMs)];
    run.exitCode = exitCode;
    show({ terminated: { exitCode, reason, startedAt, finishedAt, containerID: id } });
    enter("ended", never);
    const { restartPolicy } = home;
    const startsAgain = restartPolicy === "Always" || (restartPolicy === "OnFailure" && exitCode !== 0);
    if (stopMs === never && startsAgain) restart(atMs, atMs - startedMs);
  }

  /** The first time at once; then after a pause that doubles. */
  function restart(atMs: number, livedMs: number): void {
    if (livedMs > forgetMs) crashes = 0;
    crashes += 1;
    if (crashes === 1) {
      begin(atMs);
      return;
    }
    const waitMs = pauseMs(crashes - 1);
    event("Warning", "BackOff", `Back-off restarting failed container ${name} in pod ${home.podText}`);
    const message = `back-off ${durationText(waitMs)} restarting failed container=${name} pod=${home.podText}`;
    show({ waiting: { reason: "CrashLoopBackOff", message } });
    enter("backingOff", atMs + waitMs);
  }

  function step(): void {
    const { stage, life, dueMs: atMs } = run;
    if (stage === "pulling") pulled(atMs);
    else if (stage === "pullFailed") backOffFromPull(atMs);
    else if (stage === "starting") started(atMs);
    else if (stage === "running" && life) {
      life.endedMs = atMs;
      ended(atMs, life);
      home.lifeEnded(life);
    } else begin(atMs);
  }

  function stop(atMs: number, graceMs: number): void {
    if (run.stage !== "running" || !run.life) {
      if (run.stage !== "ended") run.exitCode = killed;
      enter("ended", never);
      return;
    }
    // The grace may be cut short while it ends, but never prolonged.
    if (stopMs <= atMs + graceMs) return;
    if (stopMs === never) event("Normal", "Killing", `Stopping container ${name}`);
    const takesMs = run.life.behaviour.stopMs;
    stopMs = atMs + Math.min(takesMs, graceMs);
    stopCode = takesMs <= graceMs ? sigterm : killed;
    run.dueMs = Math.min(run.dueMs, stopMs);
  }

  begin(begunMs);
  return run;
}

function notFound(image: string): string {
  return `rpc error: code = NotFound desc = failed to pull and unpack image "${image}": not found`;
}
