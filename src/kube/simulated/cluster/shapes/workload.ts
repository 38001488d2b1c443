/** What makes pods: deployments, replica sets, stateful sets, daemon sets. */
import type { Condition, Stored } from "./metadata.ts";
import type { PodTemplate } from "./pod.ts";
import type { LabelSelector } from "./selector.ts";
import type { Claim } from "./storage.ts";

/** A number, or a share as "25%". */
export type Share = number | string;

interface WorkloadSpec {
  readonly replicas?: number;
  readonly selector: LabelSelector;
  readonly template: PodTemplate;
  readonly minReadySeconds?: number;
  readonly revisionHistoryLimit?: number;
}

export interface Deployment extends Stored {
  readonly spec: WorkloadSpec & {
    readonly paused?: boolean;
    readonly progressDeadlineSeconds?: number;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxSurge?: Share; readonly maxUnavailable?: Share };
    };
  };
  readonly status?: DeploymentStatus;
}

export interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly unavailableReplicas?: number;
  readonly conditions?: readonly Condition[];
}

export interface ReplicaSet extends Stored {
  readonly spec: WorkloadSpec;
  readonly status?: {
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly fullyLabeledReplicas?: number;
    readonly observedGeneration?: number;
  };
}

export interface StatefulSet extends Stored {
  readonly spec: WorkloadSpec & {
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly volumeClaimTemplates?: readonly Claim[];
    readonly ordinals?: { readonly start?: number };
    readonly persistentVolumeClaimRetentionPolicy?: { readonly whenDeleted?: string; readonly whenScaled?: string };
    readonly updateStrategy?: { readonly type?: string; readonly rollingUpdate?: { readonly partition?: number } };
  };
  readonly status?: {
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly [other: string]: unknown;
  };
}

export interface DaemonSet extends Stored {
  readonly spec: WorkloadSpec & {
    readonly updateStrategy?: { readonly type?: string; readonly rollingUpdate?: { readonly maxUnavailable?: Share } };
  };
  readonly status?: Readonly<Record<string, unknown>>;
}
