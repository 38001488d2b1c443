/** Nodes, their taints, and pods' tolerations. */
import type { StatusCondition, Stored } from "./metadata.ts";
import type { ResourceList, Toleration } from "./pod.ts";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
}

export interface KubeNode extends Stored {
  readonly spec: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
    readonly [other: string]: unknown;
  };
  readonly status?: {
    readonly allocatable?: ResourceList;
    readonly conditions?: readonly StatusCondition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly [other: string]: unknown;
  };
}

export function isTolerated(taint: Taint, tolerations: readonly Toleration[] = []): boolean {
  return tolerations.some(({ key, operator, value = "", effect }) => {
    if ((effect && effect !== taint.effect) || (key && key !== taint.key)) return false;
    return operator === "Exists" || (Boolean(key) && value === (taint.value ?? ""));
  });
}
