/** What objects may be called. */

import type { Kind } from "../../kinds.ts";
import { resourceOf } from "../../kinds.ts";

const label = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`;

interface Rule {
  readonly pattern: RegExp;
  readonly most: number;
  readonly says: string;
}

const subdomain: Rule = {
  pattern: new RegExp(`^${label}(\\.${label})*$`),
  most: 253,
  says: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
};

const dnsLabel: Rule = {
  pattern: new RegExp(`^${label}$`),
  most: 63,
  says: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
};

const oldLabel: Rule = {
  pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  most: 63,
  says: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
};

const pathSegment: Rule = { pattern: /^(?!\.{1,2}$)[^/%]+$/, most: 253, says: "may not contain '/' or '%'" };

const rules: Readonly<Record<string, Rule>> = {
  namespaces: dnsLabel,
  services: oldLabel,
  "roles.rbac.authorization.k8s.io": pathSegment,
  "rolebindings.rbac.authorization.k8s.io": pathSegment,
};

/** Why a name is none, if it is none. */
export function nameFault(kind: Kind, name: string): string | undefined {
  const { pattern, most, says } = rules[resourceOf(kind)] ?? subdomain;
  if (name.length > most) return `must be no more than ${most} characters`;
  return pattern.test(name) ? undefined : says;
}

const labelName = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

export function isLabelName(name: string): boolean {
  return labelName.test(name);
}

export function isLabelValue(value: string): boolean {
  return labelValue.test(value);
}
