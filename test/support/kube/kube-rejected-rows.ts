/** An object that the API server rejects, and what it says. */
import type { Kind } from "../../../src/kube/kinds.ts";

export type Fields = Readonly<Record<string, unknown>>;

export interface RejectedObject {
  readonly what: string;
  readonly kind: Kind;
  /** Without its namespace. */
  readonly object: Fields;
  /** What is there already, under the same name or another one. */
  readonly after?: Fields;
  /** Where an apply is rejected in another way than a creation. */
  readonly by?: "apply";
  /** "422 Invalid", and the field and the reason of each cause: "spec.ports Required". */
  readonly reported: readonly string[];
}

/** What is reported: causes with a comma between them, or a status other than 422. */
export type Row = readonly [
  what: string,
  object: Fields,
  reported: string,
  more?: Pick<RejectedObject, "after" | "by">,
];

export interface Within {
  /** Makes the object of what a row says. */
  readonly make?: (given: Fields) => Fields;
  /** Where in the object that is. */
  readonly at?: string;
}

const same = (given: Fields) => given;

export function rejectedOf(kind: Kind, rows: readonly Row[], { make = same, at = "" }: Within = {}): RejectedObject[] {
  return rows.map(([what, given, reported, { after, by } = {}]) => ({
    what,
    kind,
    object: make(given),
    reported: /^\d/.test(reported)
      ? [reported]
      : ["422 Invalid", ...reported.split(", ").map((cause) => `${at}${cause}`)],
    ...(after && { after: make(after) }),
    ...(by && { by }),
  }));
}

export const labels = { app: "a" };

export const meta = (more: Fields = {}) => ({ name: "it", labels, ...more });

export const claimOf = (spec: Fields, size = "1Gi"): Fields => ({
  metadata: meta(),
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: size } }, ...spec },
});
