/** What permissions, classes and locks must be like. */
import { listOf } from "../../../../kube/json-fields.ts";
import type { Rule } from "./found.ts";
import { dnsLabel } from "./texts.ts";

function ofKind(...known: readonly string[]): Rule {
  return ({ kind }, at, found) => {
    if (!known.includes(String(kind))) found.unsupported(`${at}.kind`, kind, known);
  };
}

const permission: Rule = (value, at, found) => {
  if (listOf(value["verbs"]).length === 0) found.required(`${at}.verbs`, "verbs must contain at least one value");
  if (listOf(value["resources"]).length === 0) {
    found.required(`${at}.resources`, "resource rules must supply at least one resource");
  }
};

export const otherRules: Readonly<Record<string, Rule>> = {
  "rbac.v1.RoleRef": ofKind("Role", "ClusterRole"),
  "rbac.v1.Subject": ofKind("ServiceAccount", "User", "Group"),
  "rbac.v1.PolicyRule": permission,
  "node.v1.RuntimeClass"({ handler }, _, found) {
    if (handler) found.text("handler", handler, dnsLabel);
    else found.invalid("handler", "", dnsLabel.says);
  },
  "coordination.v1.LeaseSpec"({ leaseDurationSeconds: seconds }, at, found) {
    if (Number(seconds ?? 1) <= 0) found.invalid(`${at}.leaseDurationSeconds`, seconds, "must be greater than 0");
  },
};
