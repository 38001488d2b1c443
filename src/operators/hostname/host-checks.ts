/** Whether a declared host name may be served at all. The provider has asked the same before it was declared. */

import { goQuote } from "../../market/go-json.ts";
import { isHostName } from "../../market/host-names.ts";
import { blockedText, type HostRules, isReserved, notAllowed } from "../../market/host-rules.ts";
import { staticHost } from "../../market/static-host.ts";
import { type Condition, condition } from "./condition.ts";
import type { DeclaredHost, DeclaredRoute } from "./declared-host.ts";
import type { LiveRoute } from "./live-route.ts";

interface HostInput {
  readonly declared: DeclaredHost;
  readonly says: DeclaredRoute;
  /** Other declared names that a request for this one could be meant for, but those that are refused and have no route. */
  readonly overlapping: Iterable<DeclaredHost>;
  /** Whether a declared name has had a route since it was declared. */
  readonly isServed: (declared: DeclaredHost) => boolean;
  /** What is there for this name, whoever it leads to. */
  readonly routes: readonly LiveRoute[];
  readonly rules: HostRules;
}

/** The first that objects says why. */
type HostCheck = (input: HostInput) => Condition | undefined;

const isAHostName: HostCheck = ({ says: { host, service } }) =>
  isHostName(host)
    ? undefined
    : condition("HostnameInvalid", `service ${goQuote(service)}: has invalid hostname ${goQuote(host.slice(0, 300))}`);

/** Names below the provider's own domain are given to services by it; whose such a name is follows from the name. */
const isNotReserved: HostCheck = ({ says: { host, lease, service }, rules }) => {
  const { ingressDomain } = rules;
  const isOwn = ingressDomain !== undefined && host === staticHost(lease, service, ingressDomain);
  if (isOwn || !isReserved(host, rules)) return undefined;
  return condition("HostnameBlocked", `${notAllowed}: domain ${JSON.stringify(host)} is blocked by this provider`);
};

const isNotBlocked: HostCheck = ({ says: { host }, rules }) => {
  const text = blockedText(host, rules);
  return text === undefined ? undefined : condition("HostnameBlocked", `${notAllowed}: ${text}`);
};

/** What is asked of a name alone, whoever else wants it. */
const checksOfName: readonly HostCheck[] = [isAHostName, isNotReserved, isNotBlocked];

/**
 * Between tenants the one who was first has it: who is served goes before who is not, for he was let in while the other was
 * refused, and then the older before the younger. One tenant may have a wildcard and names below it. Who is not to have his
 * own keeps it from nobody.
 */
const isNobodyElses: HostCheck = (input) => {
  const { declared, says } = input;
  for (const other of input.overlapping) {
    const isOthers = other.says !== undefined && other.says.lease.owner !== says.lease.owner;
    if (!isOthers || !isBefore(other, declared, input.isServed)) continue;
    const claim = { ...input, declared: other, says: other.says };
    if (checksOfName.every((check) => check(claim) === undefined)) {
      const text = `host ${JSON.stringify(says.host)} in use`;
      return condition("HostnameInUse", `${notAllowed}: ${text}`);
    }
  }
  return undefined;
};

/**
 * A name goes from one owner to another only by being given up, and then its object is a new one. A route of somebody else
 * that was made after the object shows that it was his at that time. Kubernetes tells times in seconds, and a route is made
 * within one: the same second is after.
 */
const isSameOwners: HostCheck = ({ declared, says, routes }) => {
  const other = declared.isChanged
    ? routes.find(
        ({ lease, createdAtMs }) => lease && lease.owner !== says.lease.owner && createdAtMs >= declared.createdAtMs,
      )
    : undefined;
  if (!other) return undefined;
  const was = other.lease?.owner ?? "";
  return condition(
    "OwnerChanged",
    `${notAllowed}: host ${JSON.stringify(says.host)} in use by ${was}, who has not given it up`,
  );
};

/** Who has not given a name up keeps his route, whatever else is to be said of it: so that is asked first. */
const checks: readonly HostCheck[] = [isSameOwners, ...checksOfName, isNobodyElses];

export function refusalOf(input: HostInput): Condition | undefined {
  for (const check of checks) {
    const refusal = check(input);
    if (refusal) return refusal;
  }
  return undefined;
}

function isBefore(a: DeclaredHost, b: DeclaredHost, isServed: HostInput["isServed"]): boolean {
  const [first, second] = [isServed(a), isServed(b)];
  if (first !== second) return first;
  if (a.createdAtMs !== b.createdAtMs) return a.createdAtMs < b.createdAtMs;
  return a.name < b.name;
}
