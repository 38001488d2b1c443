/** What boundaries are of: a suite that has ended the provider at one `journal bid commit:after` need not do so at each. */
import type { Boundary } from "../../src/runtime/boundary.ts";

/** One kind, or those of all units of work that a commit holds. */
export function kindsOf(crossing: string): readonly string[] {
  const [, labels, point] = /^journal (.+) (commit:\w+)$/.exec(crossing) ?? [];
  return labels?.split(", ").map((label) => `journal ${label} ${point}`) ?? [crossing];
}

/** How a journal is made and migrated is the same wherever it is opened: only its own suites end there. */
export function opensJournal(crossing: string): boolean {
  return /^journal (folder|create|migration)\b/.test(crossing);
}

export interface KillPoint {
  readonly kind: string;
  /** Which of its crossings, counted from 1. */
  readonly nth: number;
}

/** Ends this process there by SIGKILL, as a power cut would; what is crossed while `counts` says no does not count. */
export function createKillingBoundary(
  at?: KillPoint,
  counts = () => true,
): Boundary & { readonly crossings: readonly string[] } {
  const crossings: string[] = [];
  let times = 0;
  return {
    crossings,
    cross(kind, point) {
      const crossing = `${kind} ${point}`;
      crossings.push(crossing);
      if (!at || !kindsOf(crossing).includes(at.kind) || !counts()) return;
      times += 1;
      if (times < at.nth) return;
      process.kill(process.pid, "SIGKILL");
      // The signal arrives at once, but not before the next instruction.
      for (;;);
    },
  };
}
