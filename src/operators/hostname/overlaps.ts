/**
 * Which declared names a request could be meant for besides one of them: a wildcard and what is below it. Looking one up
 * takes as long as it has labels, or as there are names below it, however many names there are in all.
 */
import { domainOf, wildcardsOver } from "../../market/host-names.ts";

export function createOverlaps() {
  /** By domain, all names below it, wildcards too. */
  const below = new Map<string, Set<string>>();

  function* domainsOver(host: string): Iterable<string> {
    for (const wildcard of wildcardsOver(domainOf(host) ?? host)) yield domainOf(wildcard) ?? "";
    // "*.example.com" is below example.com.
    const domain = domainOf(host);
    if (domain !== undefined) yield domain;
  }

  return {
    add(host: string): void {
      for (const domain of domainsOver(host)) {
        const names = below.get(domain) ?? new Set();
        below.set(domain, names.add(host));
      }
    },
    remove(host: string): void {
      for (const domain of domainsOver(host)) {
        const names = below.get(domain);
        names?.delete(host);
        if (names?.size === 0) below.delete(domain);
      }
    },
    /** The names other than itself that overlap it, as far as they may be declared: wildcards over it are only possible ones. */
    *of(host: string): Iterable<string> {
      const domain = domainOf(host);
      yield* wildcardsOver(domain ?? host);
      if (domain === undefined) return;
      for (const name of below.get(domain) ?? []) if (name !== host) yield name;
    },
  };
}
