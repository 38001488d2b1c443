/**
 * The volume claims of our leases, watched once for all who need them: the reservations (what of the promised volumes is
 * there) and health (of a tenant whose volume is not there yet, that is what he waits for).
 */
import { fieldsOf, textOf } from "../../../kube/json-fields.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../../kube/kube.ts";
import { serviceLabel } from "../../../kube/objects/lease-labels.ts";
import { parseBytes } from "../../../market/quantity.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { ClaimFacts } from "../../health/judge.ts";
import { createLeaseWatch, type LeaseWatch } from "./lease-watch.ts";

export interface LeaseClaim extends ClaimFacts {
  readonly uid: string;
  /** The lease's. */
  readonly namespace: string;
  /** What its volume takes; undefined while it has none. */
  readonly bytes: bigint | undefined;
  /** Of the object when it was seen like this. */
  readonly version: string;
}

export type LeaseClaims = LeaseWatch<LeaseClaim>;

export function createLeaseClaims(kube: Pick<Kube, "watch">): LeaseClaims {
  return createLeaseWatch(kube, kinds.persistentVolumeClaim, projectLeaseClaim);
}

function projectLeaseClaim(claim: KubeObject): LeaseClaim {
  const { name, namespace = "", uid, resourceVersion, labels } = claim.metadata;
  const [spec, status] = [fieldsOf(claim["spec"]), fieldsOf(claim["status"])];
  const phase = textOf(status["phase"]) ?? "Pending";
  // A volume may be larger than what was asked for, and the claim says so once it has it.
  const size = fieldsOf(status["capacity"])["storage"] ?? fieldsOf(fieldsOf(spec["resources"])["requests"])["storage"];
  return {
    uid: uid ?? `${namespace}/${name}`,
    namespace,
    service: labels?.[serviceLabel] ?? "",
    storageClass: textOf(spec["storageClassName"]),
    phase,
    bytes: phase === "Bound" ? readBytes(size) : undefined,
    version: resourceVersion ?? "",
  };
}

/** What cannot be read is as if it were not there: then more is kept than needed, and nothing is sold twice. */
function readBytes(size: unknown): bigint | undefined {
  try {
    return parseBytes(String(size));
  } catch (thrown) {
    if (!(thrown instanceof ProviderError)) throw thrown;
    return undefined;
  }
}
