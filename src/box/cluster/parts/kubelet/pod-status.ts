/** What a kubelet writes about a pod. */
import { createHash } from "node:crypto";
import { type Condition, withCondition } from "../shapes/metadata.ts";
import type { ContainerStatus, Pod, PodStatus } from "../shapes/pod.ts";
import type { ContainerRun } from "./container-run.ts";
import type { PodRun } from "./pod-run.ts";
import type { Rejection } from "./room.ts";

export interface Moment {
  readonly nowMs: number;
  readonly now: string;
  readonly hostIp: string;
  readonly startTime: string;
}

export function podStatus(pod: Pod, run: PodRun, moment: Moment): PodStatus {
  const statuses = run.containers.map((container) => containerStatus(container, moment.nowMs));
  const init = statuses.filter((_, index) => run.containers[index]?.list === "initContainers");
  const main = statuses.filter((_, index) => run.containers[index]?.list === "containers");
  const phase = phaseOf(run, moment.nowMs);
  return {
    ...pod.status,
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    phase,
    conditions: conditions(pod, run, phase, moment),
    hostIP: moment.hostIp,
    hostIPs: [{ ip: moment.hostIp }],
    podIP: run.ip,
    podIPs: [{ ip: run.ip }],
    startTime: moment.startTime,
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    containerStatuses: main,
  };
}

/** Nothing of it ever ran, so there are neither containers nor conditions to tell of. */
export function rejectedStatus(pod: Pod, { reason, message }: Rejection, startTime: string): PodStatus {
  const { qosClass } = pod.status ?? {};
  const { generation } = pod.metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase: "Failed",
    reason,
    message: `Pod was rejected: ${message}`,
    startTime,
    ...(qosClass === undefined ? {} : { qosClass }),
  };
}

function containerStatus(run: ContainerRun, nowMs: number): ContainerStatus {
  const { container, shown, lastEnd, restarts, life } = run;
  const { requests } = container.resources ?? {};
  return {
    name: container.name,
    image: container.image,
    imageID: life ? imageId(container.image) : "",
    ...(life ? { containerID: life.id } : {}),
    ready: isContainerReady(run, nowMs),
    started: isStarted(run, nowMs),
    restartCount: restarts,
    state: shown,
    lastState: lastEnd ? { terminated: lastEnd } : {},
    ...(life && requests ? { allocatedResources: requests, resources: container.resources } : {}),
  };
}

function isStarted({ stage }: ContainerRun, nowMs: number): boolean {
  return stage.kind === "running" && stage.life.probes.startedAtMs <= nowMs;
}

/** An init container that ended well counts as ready. */
function isContainerReady({ stage, list, sidecar }: ContainerRun, nowMs: number): boolean {
  if (list === "initContainers" && !sidecar) return stage.kind === "ended" && stage.exitCode === 0;
  if (stage.kind !== "running") return false;
  const { readyAtMs, unreadyAtMs } = stage.life.probes;
  return readyAtMs <= nowMs && nowMs < unreadyAtMs;
}

function phaseOf(run: PodRun, nowMs: number): NonNullable<PodStatus["phase"]> {
  const main = run.containers.filter(({ list }) => list === "containers");
  if (run.over) {
    const well = main.every(({ stage }) => stage.kind === "ended" && stage.exitCode === 0);
    return well ? "Succeeded" : "Failed";
  }
  const begun = main.some(({ life }) => life);
  if (!begun && !run.initialized(nowMs)) return "Pending";
  return main.every(({ life, stage }) => life ?? stage.kind === "ended") ? "Running" : "Pending";
}

/** Those of others first, then the kubelet's own. The time of a transition stays while the status does. */
function conditions(pod: Pod, run: PodRun, phase: string, { nowMs, now }: Moment): readonly Condition[] {
  const before = pod.status?.conditions ?? [];
  const { generation } = pod.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const ready = readiness(run, phase, nowMs);
  const verdicts: Readonly<Record<string, Verdict>> = {
    PodReadyToStartContainers: { status: run.over ? "False" : "True" },
    Initialized: initialization(run, phase, nowMs),
    Ready: ready,
    ContainersReady: ready,
    PodScheduled: { status: "True" },
  };
  const own = Object.entries(verdicts).flatMap(([type, verdict]) => {
    const next: Condition = { type, lastProbeTime: null, ...observed, ...verdict };
    return withCondition(
      before.filter((each) => each.type === type),
      next,
      now,
    );
  });
  return [...before.filter(({ type }) => !(type in verdicts)), ...own];
}

type Verdict = Pick<Condition, "status" | "reason" | "message">;

function readiness(run: PodRun, phase: string, nowMs: number): Verdict {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const lasting = run.containers.filter(({ list, sidecar }) => list === "containers" || sidecar);
  const unready = lasting.filter((container) => !isContainerReady(container, nowMs));
  if (unready.length === 0) return { status: "True" };
  const message = `containers with unready status: [${unready.map(({ container }) => container.name).join(" ")}]`;
  return { status: "False", reason: "ContainersNotReady", message };
}

function initialization(run: PodRun, phase: string, nowMs: number): Verdict {
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  const begun = run.containers.some(({ list, life }) => list === "containers" && life);
  if (begun || run.initialized(nowMs)) return { status: "True" };
  const init = run.containers.filter(({ list }) => list === "initContainers");
  const incomplete = init.filter(({ stage, sidecar, life }) =>
    sidecar ? !life : stage.kind !== "ended" || stage.exitCode !== 0,
  );
  const message = `containers with incomplete status: [${incomplete.map(({ container }) => container.name).join(" ")}]`;
  return { status: "False", reason: "ContainersNotInitialized", message };
}

const imageIds = new Map<string, string>();

function imageId(image: string): string {
  const known = imageIds.get(image);
  if (known) return known;
  const [repository = image] = image.split(/[:@](?!.*\/)/);
  const id = `${repository}@sha256:${createHash("sha256").update(image).digest("hex")}`;
  if (imageIds.size > 1_000) imageIds.clear();
  imageIds.set(image, id);
  return id;
}
