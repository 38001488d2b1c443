/**
 * A room with a bound on the work that one decision may spend on it. Work is counted in steps rather than in milliseconds, so that
 * the same group on the same room always gets the same answer, on any machine and under any load.
 */
import type { NodeState, Room } from "./room.ts";

export interface Search extends Room {
  /** Throws SearchLimit when no steps are left. */
  spend(steps: number): void;
}

/**
 * 50 ms: a step is about one look at one node. Measured 11 to 28 ns per step on a 2-core virtual machine, for GPU models that multiply,
 * nodes with 30 kinds of GPUs, and 300 units on 5,000 nodes. Twenty services on 10,000 nearly full nodes spend a quarter.
 */
export const searchSteps = 2_500_000;

export class SearchLimit extends Error {
  override readonly name = "SearchLimit";
}

export function openSearch(room: Room, most: number): Search {
  let spent = 0;
  return {
    ...room,
    spend(steps) {
      spent += steps;
      if (spent > most) throw new SearchLimit("search limit reached");
    },
  };
}

/** In steps: GPUs of a node are counted once for each set of kinds that was taken. */
export function cardSteps({ cards: { kinds, takings } }: NodeState): number {
  return 1 + kinds.length * (1 + takings.size);
}
