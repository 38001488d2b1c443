/** When each escrow is to be looked at next: at a time, or as soon as the chain has reached a height. */
import { rpcMirrorSingles } from "../runtime/limits.ts";

interface Due {
  readonly atMs: number;
  /** The height at which it runs out, while that is still to come. */
  readonly spentAt: bigint | undefined;
}

/** At the latest after this interval. */
export function createEscrowDues(intervalMs: number) {
  const dues = new Map<string, Due>();
  return {
    has: (deployment: string) => dues.has(deployment),
    keys: () => dues.keys(),
    set: (deployment: string, due: Due) => void dues.set(deployment, due),
    /** Never later than it was due before. */
    hasten(deployment: string, atMs: number): void {
      const due = dues.get(deployment);
      if (!due || due.atMs > atMs) dues.set(deployment, { spentAt: due?.spentAt, atMs });
    },
    forget: (deployment: string) => void dues.delete(deployment),
    /**
     * Those that are due now, in the order in which they fell due. With them come those that soon will be, or each would
     * in time be read by itself; where none is due, none is given. Where so many are that the chain's lists are read, all
     * come: the lists show them anyway, and are not read again for the others.
     */
    dueBy(nowMs: number, height: bigint): string[] {
      const isDue = ({ atMs, spentAt }: Due) =>
        // Later than the interval allows: the clock was set back.
        atMs <= nowMs || atMs > nowMs + intervalMs || (spentAt !== undefined && spentAt <= height);
      const all = [...dues].sort(([, left], [, right]) => left.atMs - right.atMs);
      if (!all.some(([, each]) => isDue(each))) return [];
      const soonMs = nowMs + intervalMs / 10;
      const due = all.filter(([, each]) => isDue(each) || each.atMs <= soonMs);
      return (due.length > rpcMirrorSingles ? all : due).map(([deployment]) => deployment);
    },
    /** Infinity where nothing is. */
    nextMs: () => [...dues.values()].reduce((least, { atMs }) => Math.min(least, atMs), Number.POSITIVE_INFINITY),
    isReachedBy: (height: bigint) =>
      [...dues.values()].some(({ spentAt }) => spentAt !== undefined && spentAt <= height),
  };
}
