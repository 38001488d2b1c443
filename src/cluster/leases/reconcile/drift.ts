/** In what chain, cluster and journal may disagree, and what is done about it. */

/** Who looks at it again. Nobody deletes or writes but these, each by rules of its own. */
export type Waker = "lease" | "reservation" | "mirror" | "caches" | "nobody";

interface KindOfDrift {
  readonly wakes: Waker;
  /** What is done about it, for a person. */
  readonly remedy: string;
  /** Whether it is expected to go; of what is not, a person should know at once. */
  readonly heals: boolean;
}

const heals = (wakes: Waker, remedy: string): KindOfDrift => ({ wakes, remedy, heals: true });
const stays = (wakes: Waker, why: string): KindOfDrift => ({ wakes, remedy: `nothing: ${why}`, heals: false });

const noProof = "there is no proof that it may go";
const tornDown = "its loop is woken, which removes it on the chain's proof";

export const driftKinds = {
  // A lease that runs
  "namespace-missing": heals("lease", "its loop is woken, which makes it again"),
  "resource-missing": heals("lease", "its loop is woken, which writes it again"),
  "resource-outdated": heals("lease", "its loop is woken, which brings the newest manifest"),
  "manifest-behind": heals("lease", "the journal takes it up from the cluster"),
  "manifest-missing": stays("lease", "only its tenant can send the manifest again"),
  "reservation-missing": heals("reservation", "its reservation is looked at, and made again from the chain"),
  "reservation-unwritten": heals("reservation", "its reservation is written down again"),
  // A lease that is over
  "namespace-left": heals("lease", "its loop is woken, which tears it down on the chain's proof"),
  "resource-left": heals("lease", tornDown),
  "manifest-left": heals("lease", tornDown),
  "deadline-left": stays("nobody", "it is forgotten when it is due"),
  "reservation-left": heals("reservation", "its reservation is looked at, and given up on the chain's proof"),
  // A lease that the chain does not have
  "namespace-unknown": stays("lease", noProof),
  "resource-unknown": stays("lease", noProof),
  "manifest-unknown": stays("lease", noProof),
  // Not ours, or nobody knows whose
  "namespace-foreign": stays("nobody", "it is another provider's"),
  "resource-foreign": stays("nobody", "it is another provider's"),
  "namespace-mislabelled": stays("nobody", noProof),
  "resource-mislabelled": stays("nobody", noProof),
  // Of any lease, whether it runs or not
  "namespace-stuck": stays("nobody", "whatever holds it must let go"),
  // The cluster as a whole
  "cluster-restored": heals("nobody", "each lease is brought to what it should be, as its loop finds it"),
  // What we believe
  "mirror-differs": heals("mirror", "the mirror is compared with the chain and built anew"),
  "cache-differs": heals("caches", "the caches list again"),
} satisfies Readonly<Record<string, KindOfDrift>>;

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
