/** In what chain, cluster and journal may disagree, and what is done about it. */

/** Who looks at it again. Nobody deletes or writes but these, each by rules of its own. */
export type Waker = "lease" | "reservation" | "mirror" | "caches" | "nobody";

interface KindOfDrift {
  readonly wakes: Waker;
  /** What is done about it, for a person. */
  readonly remedy: string;
}

const noProof = "nothing: there is no proof that it may go";

export const driftKinds = {
  // A lease that runs
  "namespace-missing": { wakes: "lease", remedy: "its loop is woken, which makes it again" },
  "resource-missing": { wakes: "lease", remedy: "its loop is woken, which writes it again" },
  "resource-outdated": { wakes: "lease", remedy: "its loop is woken, which brings the newest manifest" },
  "manifest-behind": { wakes: "lease", remedy: "the journal takes it up from the cluster" },
  "manifest-missing": { wakes: "lease", remedy: "nothing: only its tenant can send the manifest again" },
  "reservation-missing": {
    wakes: "reservation",
    remedy: "its reservation is looked at, and made again from the chain",
  },
  "reservation-unwritten": { wakes: "reservation", remedy: "its reservation is written down again" },
  // A lease that is over
  "namespace-left": { wakes: "lease", remedy: "its loop is woken, which tears it down on the chain's proof" },
  "resource-left": { wakes: "lease", remedy: "its loop is woken, which removes it on the chain's proof" },
  "manifest-left": { wakes: "lease", remedy: "its loop is woken, which removes it on the chain's proof" },
  "deadline-left": { wakes: "nobody", remedy: "nothing: it is forgotten when it is due" },
  "reservation-left": {
    wakes: "reservation",
    remedy: "its reservation is looked at, and given up on the chain's proof",
  },
  // A lease that the chain does not have
  "namespace-unknown": { wakes: "lease", remedy: noProof },
  "resource-unknown": { wakes: "lease", remedy: noProof },
  "manifest-unknown": { wakes: "lease", remedy: noProof },
  // Not ours, or nobody knows whose
  "namespace-foreign": { wakes: "nobody", remedy: "nothing: it is another provider's" },
  "resource-foreign": { wakes: "nobody", remedy: "nothing: it is another provider's" },
  "namespace-mislabelled": { wakes: "nobody", remedy: noProof },
  "resource-mislabelled": { wakes: "nobody", remedy: noProof },
  // Whoever is over or not
  "namespace-stuck": { wakes: "nobody", remedy: "nothing: whatever holds it must let go" },
  // The cluster as a whole
  "cluster-restored": { wakes: "nobody", remedy: "each lease is brought to what it should be, as its loop finds it" },
  // What we believe
  "mirror-differs": { wakes: "mirror", remedy: "the mirror is compared with the chain and built anew" },
  "cache-differs": { wakes: "caches", remedy: "the caches list again" },
} as const satisfies Readonly<Record<string, KindOfDrift>>;

export type DriftKind = keyof typeof driftKinds;

export interface Drift {
  readonly kind: DriftKind;
  /** The lease, order, namespace or cache that it is about. */
  readonly subject: string;
  /** What was seen, in words. */
  readonly evidence: string;
}

export interface ReportedDrift extends Drift {
  readonly remedy: string;
  /** Since when it is known. */
  readonly sinceMs: number;
}

export interface Report {
  readonly atMs: number;
  /** Of the chain's own list of our leases. */
  readonly height: bigint;
  readonly dryRun: boolean;
  /** How many there were of what was compared. */
  readonly compared: Compared;
  readonly drifts: readonly ReportedDrift[];
  /** Beyond those that are named. */
  readonly more: number;
  /** Leases that the chain was not asked about this time: too many are left at once. */
  readonly unasked: number;
}

export interface Compared {
  readonly leases: number;
  readonly namespaces: number;
  readonly resources: number;
  readonly manifests: number;
  readonly reservations: number;
}

export function sameDrift({ kind, subject }: Drift): string {
  return `${kind} ${subject}`;
}

export function drift(kind: DriftKind, subject: string, evidence: string): Drift {
  return { kind, subject, evidence };
}
