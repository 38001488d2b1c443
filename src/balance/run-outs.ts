/** When each escrow runs out, for whoever asks; told on the bus when that is near, and when it has come. */
import type { Bus } from "../bus/bus.ts";
import { hour } from "../runtime/durations.ts";
import type { EscrowsWatched } from "./balance-status.ts";

/** An escrow that runs out within this time is announced. */
const escrowAnnouncedMs = 24 * hour;

interface EscrowRunOut {
  readonly deployment: string;
  /** Ours that it pays. */
  readonly leases: readonly string[];
  readonly spentAt: bigint | undefined;
  /** About when that is. */
  readonly runsOutMs: number;
  readonly isSpent: boolean;
}

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
    bus.publish("akash.provider.balance.escrow", { deployment, leases, state, height: `${spentAt}` });
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
