/** What a kubelet writes about a pod. */
import { createHash } from "node:crypto";
import { type StatusCondition, withConditions } from "../shapes/metadata.ts";
import type { ContainerStatus, Pod, PodStatus } from "../shapes/pod.ts";
import type { ContainerRun } from "./container-run.ts";
import { isOver, type PodRun } from "./pod-run.ts";

interface Moment {
  readonly nowMs: number;
  readonly now: string;
  readonly hostIp: string;
  readonly startTime: string;
}

export function podStatus(pod: Pod, run: PodRun, { nowMs, now, hostIp, startTime }: Moment): PodStatus {
  const phase = phaseOf(run);
  return {
    ...pod.status,
    ...observed(pod),
    phase,
    conditions: withConditions(pod.status?.conditions, conditions(run, phase, nowMs), now),
    hostIP: hostIp,
    hostIPs: [{ ip: hostIp }],
    podIP: run.ip,
    podIPs: [{ ip: run.ip }],
    startTime,
    containerStatuses: run.containers.map((container) => containerStatus(container, nowMs)),
  };
}

/** Why a pod is turned away, in the words of a kubelet. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** Nothing of it ever ran, so it has neither container statuses nor conditions. */
export function rejectedStatus(pod: Pod, { reason, message }: Rejection, startTime: string): PodStatus {
  return { ...observed(pod), phase: "Failed", reason, message: `Pod was rejected: ${message}`, startTime };
}

function observed({ metadata: { generation } }: Pod): object {
  return generation === undefined ? {} : { observedGeneration: generation };
}

function containerStatus(run: ContainerRun, nowMs: number): ContainerStatus {
  const { container, shown, lastEnd, restarts, life, stage } = run;
  const { requests } = container.resources ?? {};
  return {
    name: container.name,
    image: container.image,
    imageID: life ? imageId(container.image) : "",
    ...(life ? { containerID: life.id } : {}),
    ready: isReady(run, nowMs),
    started: stage === "running",
    restartCount: restarts,
    state: shown,
    lastState: lastEnd ? { terminated: lastEnd } : {},
    ...(life && requests ? { allocatedResources: requests, resources: container.resources } : {}),
  };
}

function isReady({ stage, life }: ContainerRun, nowMs: number): boolean {
  return stage === "running" && life !== undefined && life.readyMs <= nowMs;
}

function phaseOf(run: PodRun): NonNullable<PodStatus["phase"]> {
  if (isOver(run)) return run.containers.every(({ exitCode }) => exitCode === 0) ? "Succeeded" : "Failed";
  return run.containers.every(({ life, stage }) => life ?? stage === "ended") ? "Running" : "Pending";
}

function conditions(run: PodRun, phase: string, nowMs: number): readonly StatusCondition[] {
  const ready = readiness(run, phase, nowMs);
  const verdicts: Readonly<Record<string, Verdict>> = {
    PodReadyToStartContainers: { status: isOver(run) ? "False" : "True" },
    Initialized: { status: "True" },
    Ready: ready,
    ContainersReady: ready,
    PodScheduled: { status: "True" },
  };
  return Object.entries(verdicts).map(([type, verdict]) => ({ type, lastProbeTime: null, ...verdict }));
}

type Verdict = Pick<StatusCondition, "status" | "reason" | "message">;

function readiness({ containers }: PodRun, phase: string, nowMs: number): Verdict {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const unready = containers.filter((container) => !isReady(container, nowMs));
  if (unready.length === 0) return { status: "True" };
  const message = `containers with unready status: [${unready.map(({ container }) => container.name).join(" ")}]`;
  return { status: "False", reason: "ContainersNotReady", message };
}

function imageId(image: string): string {
  const [repository = image] = image.split(/[:@](?!.*\/)/);
  return `${repository}@sha256:${createHash("sha256").update(image).digest("hex")}`;
}
