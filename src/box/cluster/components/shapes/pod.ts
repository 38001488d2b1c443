/** Pods, as far as the cluster's components look at them. */
import type { Requirement } from "../../api-server/objects/label-selector.ts";
import {
  conditionOf,
  isDeleting,
  type Metadata,
  type StatusCondition,
  type Stored,
  withConditions,
} from "./metadata.ts";

export interface Pod extends Stored {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

export interface PodTemplate {
  readonly metadata?: Partial<Metadata>;
  readonly spec: PodSpec;
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly schedulerName?: string;
  readonly restartPolicy?: "Always" | "OnFailure" | "Never";
  readonly terminationGracePeriodSeconds?: number;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: { readonly nodeAffinity?: NodeAffinity; readonly [other: string]: unknown };
  readonly tolerations?: readonly Toleration[];
  readonly containers: readonly Container[];
  readonly hostNetwork?: boolean;
  readonly volumes?: readonly PodVolume[];
  readonly [other: string]: unknown;
}

export type ResourceList = Readonly<Record<string, string | number>>;

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy?: string;
  readonly resources?: { readonly requests?: ResourceList; readonly limits?: ResourceList };
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly readinessProbe?: unknown;
  readonly [other: string]: unknown;
}

interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly [source: string]: unknown;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

/** One of the terms is enough. */
export interface NodeSelector {
  readonly nodeSelectorTerms: readonly {
    readonly matchExpressions?: readonly Requirement[];
    readonly matchFields?: readonly Requirement[];
  }[];
}

interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
  readonly [preferred: string]: unknown;
}

export interface PodStatus {
  readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed";
  readonly conditions?: readonly StatusCondition[];
  readonly reason?: string;
  readonly message?: string;
  readonly podIP?: string;
  readonly startTime?: string;
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly [other: string]: unknown;
}

export interface ContainerStatus {
  readonly name: string;
  readonly containerID?: string;
  readonly ready: boolean;
  readonly started: boolean;
  readonly restartCount: number;
  readonly state: ContainerState;
  readonly lastState: ContainerState;
  readonly [other: string]: unknown;
}

export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string };
  readonly running?: { readonly startedAt: string };
  readonly terminated?: Terminated;
}

export interface Terminated {
  readonly exitCode: number;
  readonly reason: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly containerID: string;
}

export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

/** Neither finished nor on its way out: it counts as a replica. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && !isDeleting(pod);
}

/** The pod with the reason for which it has to leave its node. */
export function withDisruption(pod: Pod, why: { reason: string; message: string }, now: string): Pod {
  const condition: StatusCondition = { type: "DisruptionTarget", status: "True", ...why };
  return { ...pod, status: { ...pod.status, conditions: withConditions(pod.status?.conditions, [condition], now) } };
}

export function isReady(pod: Pod): boolean {
  return conditionOf(pod.status?.conditions, "Ready")?.status === "True";
}
