/** Seam for crash tests: journal, broadcast and Kubernetes writes report their before and after, so a test can end the program there. */
type BoundaryKind = "journal" | "broadcast" | "kube" | "file";

export interface Boundary {
  /** Called with "commit:before", "commit:after" and the like; may never return. */
  cross(kind: BoundaryKind, point: string): void;
}

/** In production nothing stands at the boundaries. */
export const openBoundary: Boundary = { cross: () => undefined };
