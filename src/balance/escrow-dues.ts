/** When each escrow is to be looked at next, and when it runs out. */
import type { Bus } from "../bus/bus.ts";
import { hour } from "../runtime/durations.ts";
import { rpcMirrorSingles } from "../runtime/limits.ts";
import type { EscrowsWatched } from "./balance-status.ts";

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
     * Due ones in order, with those due soon, to save reads. Beyond what is read singly, all: the chain's lists show them anyway.
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

/** An escrow that runs out within this time is announced. */
const escrowAnnouncedMs = 24 * hour;

interface EscrowRunOut {
  readonly deployment: string;
  /** Ours that it pays. */
  readonly leases: readonly string[];
  readonly spentAt: bigint | undefined;
  readonly runsOutMs: number;
  readonly isSpent: boolean;
}

/** Announced on the bus when that is near, and when it has come. */
export function createRunOuts(bus: Pick<Bus, "publish">) {
  const escrows = new Map<string, EscrowRunOut>();
  const announced = new Map<string, "soon" | "spent">();

  function announce({ deployment, leases, spentAt, runsOutMs, isSpent }: EscrowRunOut, timeMs: number): void {
    const soon = runsOutMs - timeMs <= escrowAnnouncedMs ? "soon" : undefined;
    const state = isSpent ? "spent" : soon;
    const before = announced.get(deployment);
    if (state === before) return;
    if (state === undefined) announced.delete(deployment);
    else announced.set(deployment, state);
    if (state === undefined || spentAt === undefined) return;
    bus.publish("akash.provider.balance.escrow", { deployment, leases: [...leases], state, height: `${spentAt}` });
  }

  return {
    /** As it is by a block of this time. */
    set(escrow: EscrowRunOut, timeMs: number): void {
      escrows.set(escrow.deployment, escrow);
      announce(escrow, timeMs);
    },
    forget(deployment: string): void {
      escrows.delete(deployment);
      announced.delete(deployment);
    },
    get state(): Pick<EscrowsWatched, "spent" | "next"> {
      let spent = 0;
      let next: EscrowRunOut | undefined;
      for (const escrow of escrows.values()) {
        if (escrow.isSpent) spent += escrow.leases.length;
        else if (escrow.spentAt !== undefined && escrow.runsOutMs < (next?.runsOutMs ?? Number.POSITIVE_INFINITY))
          next = escrow;
      }
      const [lease] = next?.leases ?? [];
      if (!next || next.spentAt === undefined || lease === undefined) return { spent, next: undefined };
      return { spent, next: { lease, height: next.spentAt, atMs: next.runsOutMs } };
    },
  };
}
