/**
 * The counting seam for crash tests. Every journal write, broadcast and Kubernetes write says when it is about to
 * happen and when it has happened, so a test can end the program at each such point, k = 1…N, and look at what is left.
 */
export type BoundaryKind = "journal" | "broadcast" | "kube";

export interface Boundary {
  /** Called with "commit:before", "commit:after" and the like; may never return. */
  cross(kind: BoundaryKind, point: string): void;
}

/** In production nothing stands at the boundaries. */
export const openBoundary: Boundary = { cross: () => undefined };
