/** Which host names tenants may not have, whoever asks. The words are the network's: tenants' tools look for them. */
import { getPublicSuffix } from "tldts";
import { domainOf, isInPattern } from "./host-names.ts";

export interface HostRules {
  /** "www.example.com" is that name, ".example.com" the whole domain, "*.co.uk" that wildcard alone. */
  readonly blockedHosts: readonly string[];
  /** Names below it are given to services by us. */
  readonly ingressDomain: string | undefined;
  /** Where the provider itself is reached. */
  readonly publicHost: string | undefined;
}

export const notAllowed = "hostname not allowed";

export function isReserved(host: string, { ingressDomain }: Pick<HostRules, "ingressDomain">): boolean {
  return ingressDomain !== undefined && isInPattern(host, `.${ingressDomain}`);
}

/**
 * A wildcard over a public suffix would keep all other tenants from names that anyone can register: of a registry ("co.uk") or
 * of a company that gives names away ("duckdns.org"). Some lists name only what is below ("*.ck").
 */
function isOverSuffix(host: string): boolean {
  const domain = domainOf(host);
  if (domain === undefined) return false;
  return [domain, `any.${domain}`].some((name) => getPublicSuffix(name, { allowPrivateDomains: true }) === name);
}

export function blockedText(host: string, rules: HostRules): string | undefined {
  const quoted = JSON.stringify(host);
  if (isOverSuffix(host)) return `${quoted} is blocked by this provider`;
  const pattern = [...rules.blockedHosts, ...(rules.publicHost === undefined ? [] : [rules.publicHost])].find((each) =>
    isInPattern(host, each),
  );
  if (pattern === undefined) return undefined;
  return pattern.startsWith(".")
    ? `domain ${quoted} is blocked by this provider`
    : `${quoted} is blocked by this provider`;
}
