/**
 * Which declared names match the same requests: a wildcard and the names below it. Names are sorted by their labels from last to
 * first, so those below a domain are adjacent. A set per domain would hold each name once per label, and a name may have a hundred.
 */
import { domainOf, wildcardsOver } from "../../market/host-names.ts";

export function createOverlaps() {
  /** "com.example.www", in order. */
  const sorted: string[] = [];

  /** The index of the first that is not before it. */
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
    /** The other names that overlap it; wildcards over it may not be declared. */
    *of(host: string): Iterable<string> {
      const domain = domainOf(host);
      yield* wildcardsOver(domain ?? host);
      if (domain === undefined) return;
      const above = `${turn(domain)}.`;
      const from = placeOf(above);
      let to = from;
      while (sorted[to]?.startsWith(above)) to += 1;
      // The caller may add and remove names meanwhile.
      for (const turned of sorted.slice(from, to)) {
        const name = turn(turned);
        if (name !== host) yield name;
      }
    },
  };
}

/** Its own inverse. */
function turn(name: string): string {
  return name.split(".").reverse().join(".");
}
