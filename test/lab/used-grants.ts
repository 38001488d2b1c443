/** What of somebody's roles was used, by the audit log. */
import assert from "node:assert/strict";
import { type AuditedRequest, type AuditMark, auditedSince } from "../../lab/audit.ts";
import type { Grant } from "./provider-manifests.ts";

/** An apply that made something needs `create` as well. */
export function usedBy({ verb, resource, code }: AuditedRequest): Grant[] {
  // With either, depending on the version of Kubernetes.
  if (resource === "pods/exec") return ["create pods/exec", "get pods/exec"];
  return [`${verb} ${resource}`, ...(verb === "patch" && code === 201 ? [`create ${resource}`] : [])];
}

/** Nothing was rejected, and nothing is granted in vain but what is named here. */
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
  // An apply asks for the object itself where its cache does not show the last write yet, which is a matter of luck.
  const isOfApply = (grant: Grant) => grant.startsWith("get ") && used.has(grant.replace("get ", "patch "));
  assert.deepEqual([...grants].filter((grant) => !used.has(grant) && !isOfApply(grant)).sort(), [], "never used");
}
