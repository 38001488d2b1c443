/** "*.example.com" covers every name below, at any depth. Controllers differ; between tenants the widest reading is safe. */
import { isIPv4 } from "node:net";
import { getPublicSuffix } from "tldts";

const star = "*.";
const hostName = /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** The longest host name that Kubernetes takes. */
const mostHostChars = 253;

/** Whether it is one at all, in lower case; a wildcard is. */
export function isHostName(host: string): boolean {
  return host.length <= mostHostChars && hostName.test(host) && !isIPv4(host);
}

export function isWildcard(host: string): boolean {
  return host.startsWith(star);
}

function isBelow(name: string, domain: string): boolean {
  return name.endsWith(`.${domain}`);
}

/** Whether a request could be meant for both. */
export function hostsOverlap(a: string, b: string): boolean {
  if (a === b) return true;
  const [below, under] = [domainOf(a), domainOf(b)];
  if (below !== undefined && under !== undefined) return isBelow(below, under) || isBelow(under, below);
  if (under !== undefined) return isBelow(a, under);
  return below !== undefined && isBelow(b, below);
}

/** The wildcards that an exact name could fall under: "*.b.c" and "*.c" of "a.b.c". */
export function wildcardsOver(host: string): string[] {
  const labels = host.split(".");
  return labels.slice(1).map((_, index) => `${star}${labels.slice(index + 1).join(".")}`);
}

/** ".example.com" blocks the name and all below it; "*.co.uk" blocks that wildcard alone. */
export function isInPattern(host: string, pattern: string): boolean {
  if (isWildcard(pattern)) return host === pattern;
  if (!pattern.startsWith(".")) return hostsOverlap(host, pattern);
  const domain = pattern.slice(1);
  return hostsOverlap(host, domain) || hostsOverlap(host, `${star}${domain}`);
}

/** Of a wildcard: what stands after the star. */
export function domainOf(host: string): string | undefined {
  return isWildcard(host) ? host.slice(star.length) : undefined;
}

/** Host names that no tenant may have. The messages are the network's: tenants' tools look for them. */
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

/** A wildcard over a public suffix ("co.uk", "duckdns.org") would take names from others. Some lists name only "*.ck". */
function isOverSuffix(host: string): boolean {
  const domain = domainOf(host);
  if (domain === undefined) return false;
  return [domain, `any.${domain}`].some((name) => getPublicSuffix(name, { allowPrivateDomains: true }) === name);
}

export function blockedText(host: string, rules: HostRules): string | undefined {
  const quoted = JSON.stringify(host);
  if (isOverSuffix(host)) return `${quoted} is blocked by this provider`;
  const patterns = [...rules.blockedHosts, rules.publicHost ?? []].flat();
  const pattern = patterns.find((each) => isInPattern(host, each));
  if (pattern === undefined) return undefined;
  return `${pattern.startsWith(".") ? "domain " : ""}${quoted} is blocked by this provider`;
}
