/**
 * The counting seam for crash tests. Every journal write, broadcast and Kubernetes write says when it is about to
 * happen and when it has happened, so a test can end the program at each such point, k = 1…N, and look at what is left.
 */
type BoundaryKind = "journal" | "broadcast" | "kube" | "file";

export interface Boundary {
  /** Called with "commit:before", "commit:after" and the like; may never return. */
  cross(kind: BoundaryKind, point: string): void;
}

/** In production nothing stands at the boundaries. */
export const openBoundary: Boundary = { cross: () => undefined };

/** What a crash in process looks like: thrown at the chosen boundary and at every later one. */
export class SimulatedCrash extends Error {
  override readonly name = "SimulatedCrash";
}

export interface CountingBoundary extends Boundary {
  readonly crossings: readonly string[];
  readonly crashed: boolean;
}

/**
 * Counts crossings and calls `crash` at the k-th (counted from 1; 0 never). After that nothing passes any more: a dead
 * process writes nothing, and code that catches the first throw must not get further than a real crash would let it.
 */
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
