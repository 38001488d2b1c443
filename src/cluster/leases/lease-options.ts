/** What the operator's settings say of leases. */
import type { ObjectSettings } from "../../kube/objects/lease-workload.ts";
import type { PolicySettings } from "../../kube/objects/network-policies.ts";

export interface LeaseOptions extends Omit<ObjectSettings, "overcommit" | "policies"> {
  /** Where the custom resources of all leases are; it must exist. */
  readonly manifestNamespace: string;
  readonly policies: Omit<PolicySettings, "facts">;
}

/** Of settings that nobody has set. */
export const leaseDefaults: LeaseOptions = {
  manifestNamespace: "lease",
  clusterPublicHostname: "",
  policies: { enabled: true, admitted: [{ pods: "ingress-nginx" }] },
};
