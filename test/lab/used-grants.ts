/** Used permissions of a user's roles, by the audit log. */
import assert from "node:assert/strict";
import { type AuditedRequest, type AuditMark, auditedSince } from "../../lab/audit.ts";
import type { Grant } from "./provider-manifests.ts";

/** An apply that made something needs `create` as well. */
export function usedBy({ verb, resource, code }: AuditedRequest): Grant[] {
  // With either, depending on the version of Kubernetes.
  if (resource === "pods/exec") return ["create pods/exec", "get pods/exec"];
  return [`${verb} ${resource}`, ...(verb === "patch" && code === 201 ? [`create ${resource}`] : [])];
}

/** No request was forbidden, and every grant was used here or is listed in `elsewhere`. */
export async function checkGrants(
  since: AuditMark,
  { user, grants }: { readonly user: string; readonly grants: ReadonlySet<Grant> },
  elsewhere: readonly Grant[] = [],
): Promise<void> {
  const requests = await auditedSince(since, user);
  assert.deepEqual(
    requests.filter(({ code }) => code === 403),
    [],
  );
  const used = new Set([...requests.flatMap(usedBy), ...elsewhere]);
  // An apply reads the object itself if its cache lags behind the last write, which is a race.
  const isOfApply = (grant: Grant) => grant.startsWith("get ") && used.has(grant.replace("get ", "patch "));
  assert.deepEqual([...grants].filter((grant) => !used.has(grant) && !isOfApply(grant)).sort(), [], "never used");
}
