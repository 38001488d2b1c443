/** Nodes, their taints, and who tolerates them. */
import type { Condition, Stored } from "./metadata.ts";
import type { ResourceList, Toleration } from "./pod.ts";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
  readonly timeAdded?: string;
}

export interface Node extends Stored {
  readonly spec: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
    readonly podCIDR?: string;
    readonly [other: string]: unknown;
  };
  readonly status?: {
    readonly allocatable?: ResourceList;
    readonly conditions?: readonly Condition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly [other: string]: unknown;
  };
}

export const taintKeys = {
  notReady: "node.kubernetes.io/not-ready",
  unschedulable: "node.kubernetes.io/unschedulable",
} as const;

function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === "Exists") return true;
  return Boolean(toleration.key) && (toleration.value ?? "") === (taint.value ?? "");
}

export function isTolerated(taint: Taint, tolerations: readonly Toleration[] = []): boolean {
  return tolerations.some((toleration) => tolerates(toleration, taint));
}

/** The taints that keep this pod from being placed there. */
export function hardTaints(node: Node): readonly Taint[] {
  return (node.spec.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
}
