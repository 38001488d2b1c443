/** The volume claims of our leases: of a tenant whose volume is not there yet, that is what he waits for. */
import { fieldsOf, textOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../kube/kube.ts";
import { managedSelector, serviceLabel } from "../../kube/objects/lease-labels.ts";
import type { ClaimFacts } from "./judge.ts";

export interface LeaseClaim extends ClaimFacts {
  readonly namespace: string;
}

/** `onChange` is told the namespace. */
export function watchVolumeClaims(kube: Pick<Kube, "watch">, onChange: (namespace: string) => void) {
  return kube.watch<LeaseClaim, "lease">({
    kind: kinds.persistentVolumeClaim,
    labelSelector: managedSelector,
    indexes: { lease: ({ namespace }: LeaseClaim) => namespace },
    project: projectClaim,
    handle: ({ namespace = "" }) => onChange(namespace),
  });
}

export function projectClaim(claim: KubeObject): LeaseClaim {
  const { namespace = "", labels } = claim.metadata;
  return {
    namespace,
    service: labels?.[serviceLabel] ?? "",
    storageClass: textOf(fieldsOf(claim["spec"])["storageClassName"]),
    phase: textOf(fieldsOf(claim["status"])["phase"]) ?? "Pending",
  };
}
