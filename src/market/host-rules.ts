/** Which host names tenants may not have, whoever asks. The words are the network's: tenants' tools look for them. */
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

export function blockedText(host: string, rules: HostRules): string | undefined {
  const quoted = JSON.stringify(host);
  // Whoever had one of these would keep every other tenant from a whole top-level domain.
  if (domainOf(host)?.includes(".") === false) return `${quoted} is blocked by this provider`;
  const pattern = [...rules.blockedHosts, ...(rules.publicHost === undefined ? [] : [rules.publicHost])].find((each) =>
    isInPattern(host, each),
  );
  if (pattern === undefined) return undefined;
  return pattern.startsWith(".")
    ? `domain ${quoted} is blocked by this provider`
    : `${quoted} is blocked by this provider`;
}
