/** What makes pods: deployments, replica sets and stateful sets. */
import type { Condition, Stored } from "./metadata.ts";
import type { PodTemplate } from "./pod.ts";
import type { LabelSelector } from "./selector.ts";
import type { Claim } from "./storage.ts";

export interface Workload extends Stored {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly minReadySeconds?: number;
    /** Of a deployment. */
    readonly strategy?: { readonly type?: string };
    /** Of a stateful set. */
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly volumeClaimTemplates?: readonly Claim[];
  };
  readonly status?: WorkloadStatus;
}

export interface WorkloadStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly conditions?: readonly Condition[];
}
