/** Ends a program at one of its crash boundaries. */
import type { Boundary } from "../../src/runtime/boundary.ts";

/** What a crash in process looks like: thrown at the chosen boundary and at every later one. */
export class SimulatedCrash extends Error {
  override readonly name = "SimulatedCrash";
}

export interface CountingBoundary extends Boundary {
  readonly crossings: readonly string[];
  readonly crashed: boolean;
}

/** Counts crossings and calls `crash` at the k-th (from 1; 0 never). After that nothing passes: a dead process writes nothing. */
export function createCountingBoundary(
  crashAt = 0,
  crash = (at: string): never => {
    throw new SimulatedCrash(`crash at ${at}`);
  },
): CountingBoundary {
  const crossings: string[] = [];
  let crashed = false;
  return {
    cross(kind, point) {
      const at = `${kind} ${point}`;
      if (!crashed) crossings.push(at);
      if (crashed || crossings.length === crashAt) {
        crashed = true;
        crash(at);
      }
    },
    crossings,
    get crashed() {
      return crashed;
    },
  };
}
