/**
 * Which declared names a request could be meant for besides one of them: a wildcard and what is below it. All names are kept
 * once, by their labels from the last to the first: what is below a domain stands together there. A set of names for each domain
 * would hold every name as often as it has labels, and a tenant may ask for a hundred of them.
 */
import { domainOf, wildcardsOver } from "../../market/host-names.ts";

export function createOverlaps() {
  /** "com.example.www", in order. */
  const sorted: string[] = [];

  /** Of the first that is not before it. */
  function placeOf(turned: string): number {
    let [from, to] = [0, sorted.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((sorted[middle] ?? "") < turned) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  return {
    add(host: string): void {
      const turned = turn(host);
      const at = placeOf(turned);
      if (sorted[at] !== turned) sorted.splice(at, 0, turned);
    },
    remove(host: string): void {
      const turned = turn(host);
      const at = placeOf(turned);
      if (sorted[at] === turned) sorted.splice(at, 1);
    },
    /** The names other than itself that overlap it, as far as they may be declared: wildcards over it are only possible ones. */
    *of(host: string): Iterable<string> {
      const domain = domainOf(host);
      yield* wildcardsOver(domain ?? host);
      if (domain === undefined) return;
      const above = `${turn(domain)}.`;
      const from = placeOf(above);
      let to = from;
      while (sorted[to]?.startsWith(above)) to += 1;
      // Who asks may have names come and go meanwhile.
      for (const turned of sorted.slice(from, to)) {
        const name = turn(turned);
        if (name !== host) yield name;
      }
    },
  };
}

/** There and back. */
function turn(name: string): string {
  return name.split(".").reverse().join(".");
}
