/** When each escrow is read next, and when it runs out. */
import type { Bus } from "../bus/bus.ts";
import { hour } from "../runtime/durations.ts";
import { rpcMirrorSingles } from "../runtime/limits.ts";
import type { EscrowsWatched } from "./balance-status.ts";

interface Due {
  readonly atMs: number;
  /** The height at which it runs out, while that is to come. */
  readonly spentAt?: bigint | undefined;
}

export function createEscrowDues(intervalMs: number) {
  const dues = new Map<string, Due>();
  const earliest = (deployment: string, atMs: number) => Math.min(atMs, dues.get(deployment)?.atMs ?? atMs);
  return {
    has: (deployment: string) => dues.has(deployment),
    keys: () => [...dues.keys()],
    /** It is being read; what comes meanwhile hastens the next time. */
    begin: (deployment: string, nowMs: number) => void dues.set(deployment, { atMs: nowMs + intervalMs }),
    plan: (deployment: string, { atMs, spentAt }: Due) =>
      void dues.set(deployment, { atMs: earliest(deployment, atMs), spentAt }),
    hasten: (deployment: string, atMs: number) =>
      void dues.set(deployment, { ...dues.get(deployment), atMs: earliest(deployment, atMs) }),
    forget: (deployment: string) => void dues.delete(deployment),
    /** In order, with those due soon. Beyond `rpcMirrorSingles` all: the chain's lists have them anyway. */
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
    isReachedBy: (height: bigint) => dues.values().some(({ spentAt }) => spentAt !== undefined && spentAt <= height),
  };
}

const escrowAnnouncedMs = 24 * hour;

interface EscrowRunOut {
  readonly deployment: string;
  /** Ours. */
  readonly leases: readonly string[];
  readonly spentAt: bigint | undefined;
  readonly runsOutMs: number;
  readonly isSpent: boolean;
}

/** Published when it is near, and when it has come. */
export function createRunOuts(bus: Pick<Bus, "publish">) {
  const escrows = new Map<string, EscrowRunOut>();
  const announced = new Map<string, "soon" | "spent" | undefined>();
  return {
    /** As of a block of this time. */
    set(escrow: EscrowRunOut, timeMs: number): void {
      const { deployment, leases, spentAt, runsOutMs, isSpent } = escrow;
      escrows.set(deployment, escrow);
      const soon = runsOutMs - timeMs <= escrowAnnouncedMs ? "soon" : undefined;
      const state = isSpent ? "spent" : soon;
      const before = announced.get(deployment);
      announced.set(deployment, state);
      if (state === before || state === undefined || spentAt === undefined) return;
      bus.publish("akash.provider.balance.escrow", { deployment, leases: [...leases], state, height: `${spentAt}` });
    },
    forget(deployment: string): void {
      escrows.delete(deployment);
      announced.delete(deployment);
    },
    get state(): Pick<EscrowsWatched, "spent" | "next"> {
      const all = [...escrows.values()];
      const spent = all.filter(({ isSpent }) => isSpent).reduce((sum, { leases }) => sum + leases.length, 0);
      const lasting = all.filter(({ isSpent, spentAt }) => !isSpent && spentAt !== undefined);
      const [next] = lasting.sort((left, right) => left.runsOutMs - right.runsOutMs);
      const { leases: [lease] = [], spentAt: height, runsOutMs: atMs = 0 } = next ?? {};
      return { spent, next: lease === undefined || height === undefined ? undefined : { lease, height, atMs } };
    },
  };
}
