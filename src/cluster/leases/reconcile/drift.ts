/**
 * In what chain, cluster and journal may disagree, what is done about each kind of drift, and how it is found. Pure: the caller
 * looks twice, since one look may meet a write that is under way.
 */
import { type Lease, runs } from "../../../chain/records.ts";
import type { ManifestHead } from "../../../journal/manifests.ts";
import { formatLeaseId, formatOrderId, type LeaseId, orderOf } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { isNewerInCluster } from "../../../market/manifest.ts";
import { minute } from "../../../runtime/durations.ts";
import {
  type Booked,
  knownLeases,
  type ListedNamespace,
  type ListedResource,
  type ReconcileSnapshot,
} from "./snapshot.ts";

/** What looks at it again. Only these write or delete, each by its own rules. */
export type Waker = "lease" | "reservation" | "mirror" | "caches" | "nobody";

interface KindOfDrift {
  readonly wakes: Waker;
  readonly remedy: string;
  /** Whether it is expected to go; of what is not, an operator should know at once. */
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

type DriftKind = keyof typeof driftKinds;

export interface Drift {
  readonly kind: DriftKind;
  /** The lease, order, namespace or cache that it is about. */
  readonly subject: string;
  /** What was seen, in words. */
  readonly evidence: string;
}

export interface ReportedDrift extends Drift {
  readonly remedy: string;
  readonly sinceMs: number;
}

export interface Report {
  readonly atMs: number;
  /** Of the chain's own list of our leases. */
  readonly height: bigint;
  readonly dryRun: boolean;
  /** How many there were of what was compared. */
  readonly compared: Readonly<Record<"leases" | "namespaces" | "resources" | "manifests" | "reservations", number>>;
  readonly drifts: readonly ReportedDrift[];
  /** Beyond those that are named. */
  readonly more: number;
  /** Leases that the chain was not asked about: too many are left at once. */
  readonly unasked: number;
}

/** Identifies a drift from one look to the next. */
export function driftKey({ kind, subject }: Drift): string {
  return `${kind} ${subject}`;
}

export function drift(kind: DriftKind, subject: string, evidence: string): Drift {
  return { kind, subject, evidence };
}

/** Younger leases, manifests and ends may still be in the works: images are pulled, pods stop. */
export const reconcileUnderWayMs = 2 * minute;
/** A namespace that is being deleted for longer is held by something: pods of a minute's grace are gone by then. */
export const reconcileStuckMs = 5 * minute;
/** Of the server's words about what holds a namespace. */
const reconcileEvidenceChars = 300;

export function compare(snapshot: ReconcileSnapshot): Drift[] {
  const facts = leaseFacts(snapshot);
  return [
    ...clusterDrifts(snapshot),
    ...facts.flatMap((each) => leaseChecks.flatMap((check) => check(each, snapshot) ?? [])),
    ...strays(snapshot),
    ...reservationsLeft(snapshot, facts),
  ];
}

function clusterDrifts({ cluster, believed: { isRestored, caches } }: ReconcileSnapshot): Drift[] {
  const restored =
    "the API server has gone back to an earlier state: its etcd was restored, or another cluster answers";
  return [
    ...(isRestored ? [drift("cluster-restored", "cluster", restored)] : []),
    ...(caches ? cacheDrifts("namespaces", cluster.namespaces, caches.namespaces) : []),
    ...(caches ? cacheDrifts("manifests.akash.network", cluster.resources, caches.resources) : []),
  ];
}

/** One for each object that differs: the second look keeps those that differ still. */
function cacheDrifts(
  resource: string,
  listed: readonly { readonly name: string; readonly uid: string }[],
  cached: ReadonlyMap<string, string>,
): Drift[] {
  const there = new Map(listed.map(({ name, uid }) => [name, uid]));
  return [...new Set([...there.keys(), ...cached.keys()])]
    .filter((name) => there.get(name) !== cached.get(name))
    .map((name) => {
      const [has, shows] = [there.get(name) ?? "none", cached.get(name) ?? "none"];
      return drift("cache-differs", `${resource} ${name}`, `the server has ${has}, the cache shows ${shows}`);
    });
}

/** All that is known of one lease of ours. */
interface LeaseFacts {
  readonly key: string;
  readonly name: string;
  /** As the chain has it: "none" if it has none, undefined if it was not asked. */
  readonly chain: Lease | "none" | undefined;
  readonly namespace: ListedNamespace | undefined;
  readonly resource: ListedResource | undefined;
  readonly manifest: ManifestHead | undefined;
  readonly order: string;
  readonly booked: Booked | undefined;
}

function leaseFacts(snapshot: ReconcileSnapshot): LeaseFacts[] {
  const { chain, cluster, journal, believed } = snapshot;
  const namespaces = new Map(cluster.namespaces.map((each) => [each.name, each]));
  const resources = new Map(cluster.resources.map((each) => [each.name, each]));
  return Array.from(knownLeases(snapshot), ([key, id]) => {
    const name = leaseNamespace(id);
    const order = formatOrderId(orderOf(id));
    const [namespace, resource] = [namespaces.get(name), resources.get(name)];
    return {
      ...{ key, name, order },
      chain: chain.running.get(key) ?? (chain.asked.has(key) ? (chain.asked.get(key) ?? "none") : undefined),
      namespace: isOf(key, namespace?.lease) ? namespace : undefined,
      resource: isOf(key, resource?.note?.lease) ? resource : undefined,
      manifest: journal.manifests.get(key),
      booked: believed.book.get(order),
    };
  });
}

function isOf(key: string, lease: LeaseId | undefined): boolean {
  return lease !== undefined && formatLeaseId(lease) === key;
}

/** Objects with the network's labels that belong to no lease of ours. */
function strays({ provider, cluster }: ReconcileSnapshot): Drift[] {
  const stray = (what: "namespace" | "resource", name: string, lease: LeaseId | undefined): Drift[] => {
    const text = what === "namespace" ? `namespace ${name}` : `Manifest resource ${name}`;
    if (!lease) return [drift(`${what}-mislabelled`, name, `${text} has the network's labels and names no lease`)];
    if (lease.provider !== provider)
      return [drift(`${what}-foreign`, name, `${text} is of provider ${lease.provider}`)];
    const own = leaseNamespace(lease);
    if (own === name) return [];
    const evidence = `${text} says that it is of lease ${formatLeaseId(lease)}, whose is called ${own}`;
    return [drift(`${what}-mislabelled`, name, evidence)];
  };
  return [
    ...cluster.namespaces.flatMap(({ name, lease }) => stray("namespace", name, lease)),
    ...cluster.resources.flatMap(({ name, note }) => stray("resource", name, note?.lease)),
  ];
}

/** No lease, bid or pending transaction needs it, and its time is over. */
function reservationsLeft({ chain, journal, believed }: ReconcileSnapshot, facts: readonly LeaseFacts[]): Drift[] {
  const leased = new Set(Array.from(chain.running.values(), ({ id }) => formatOrderId(orderOf(id))));
  const unasked = new Set(facts.filter((each) => each.chain === undefined).map(({ order }) => order));
  const isIdle = (order: string) => !leased.has(order) && !unasked.has(order);
  const left = [...believed.book].filter(
    ([order, { isNeeded, expiredForMs }]) => !isNeeded && expiredForMs >= reconcileUnderWayMs && isIdle(order),
  );
  const unbooked = [...journal.reservations].filter((order) => !believed.book.has(order) && isIdle(order));
  const inBook = "something is set aside for it, and it has neither bid nor lease";
  const inJournal = "the journal has a reservation that is not in the book, and no lease for it";
  return [
    ...left.map(([order]) => drift("reservation-left", order, inBook)),
    ...unbooked.map((order) => drift("reservation-left", order, inJournal)),
  ];
}

type LeaseCheck = (facts: LeaseFacts, snapshot: ReconcileSnapshot) => Drift | undefined;

const namespaceMissing: LeaseCheck = ({ key, name, chain, namespace, manifest }, snapshot) => {
  if (!isOldEnough(chain, snapshot) || namespace || !isSettled(manifest, snapshot)) return undefined;
  return drift("namespace-missing", key, `it runs and has a manifest, and the server has no namespace ${name}`);
};

const resourceMissing: LeaseCheck = ({ key, name, chain, namespace, resource, manifest }, snapshot) => {
  if (!isOldEnough(chain, snapshot) || !isSettled(manifest, snapshot) || resource || !isThere(namespace))
    return undefined;
  if (versionRun(manifest) === undefined) return undefined;
  return drift("resource-missing", key, `its namespace is there, and Manifest resource ${name} is not`);
};

const resourceOutdated: LeaseCheck = ({ key, chain, namespace, resource, manifest }, snapshot) => {
  if (!isOldEnough(chain, snapshot) || !isSettled(manifest, snapshot) || !isThere(namespace)) return undefined;
  const { note } = resource ?? {};
  const wanted = versionRun(manifest);
  // One without a version was written by the provider before us.
  if (!note || note.version === "" || wanted === undefined || isNewer(key, note, manifest, snapshot)) return undefined;
  const isWithdrawn = manifest.withdrawnAtMs !== undefined;
  if (note.version === wanted && isWithdrawn === (note.withdrawnAtMs !== undefined)) return undefined;
  const other = note.version === wanted ? (isWithdrawn ? "not withdrawn" : "withdrawn") : `of manifest ${note.version}`;
  return drift("resource-outdated", key, `the cluster says ${other}, the journal has ${wanted}`);
};

const manifestBehind: LeaseCheck = ({ key, chain, resource, manifest }, snapshot) => {
  if (!isOldEnough(chain, snapshot) || !resource?.note || !isNewer(key, resource.note, manifest, snapshot))
    return undefined;
  const has = manifest ? `an older one, ${manifest.version}` : "none";
  return drift("manifest-behind", key, `the cluster has manifest ${resource.note.version}, the journal ${has}`);
};

const manifestMissing: LeaseCheck = ({ key, name, chain, namespace, resource, manifest }, snapshot) => {
  if (!isOldEnough(chain, snapshot) || manifest || resource || !isThere(namespace)) return undefined;
  return drift("manifest-missing", key, `namespace ${name} is there, and neither cluster nor journal has its manifest`);
};

const reservationMissing: LeaseCheck = ({ chain, order, booked }, snapshot) => {
  if (!isOldEnough(chain, snapshot) || booked) return undefined;
  return drift("reservation-missing", order, "its lease runs, and nothing is set aside for it");
};

const reservationUnwritten: LeaseCheck = ({ chain, order, booked }, snapshot) => {
  if (!isOldEnough(chain, snapshot) || !booked || snapshot.journal.reservations.has(order)) return undefined;
  return drift("reservation-unwritten", order, "its lease runs, and its reservation is not in the journal");
};

const leftBehind: LeaseCheck = (facts, snapshot) => {
  const { chain } = facts;
  if (!isOver(chain) || blocksMs(snapshot, chain.closedOn) < reconcileUnderWayMs) return undefined;
  return remains("left", `the lease is ${chain.state} since height ${chain.closedOn}`, facts);
};

const unknownLease: LeaseCheck = (facts, { chain: { height } }) =>
  facts.chain === "none" ? remains("unknown", `the chain has no such lease at height ${height}`, facts) : undefined;

/** One drift per lease: the rest goes with the first. */
function remains(
  what: "left" | "unknown",
  because: string,
  { key, name, namespace, resource, manifest }: LeaseFacts,
): Drift | undefined {
  if (namespace) {
    const evidence = `${because}, and namespace ${name} is there`;
    return isThere(namespace) ? drift(`namespace-${what}`, key, evidence) : undefined;
  }
  if (resource) return drift(`resource-${what}`, key, `${because}, and Manifest resource ${name} is there`);
  return manifest && drift(`manifest-${what}`, key, `${because}, and its manifest is in the journal`);
}

const deadlineLeft: LeaseCheck = ({ key, chain }, snapshot) => {
  const isGone = chain === "none" || (isOver(chain) && blocksMs(snapshot, chain.closedOn) >= reconcileUnderWayMs);
  if (!isGone || !snapshot.journal.deadlines.has(key)) return undefined;
  return drift("deadline-left", key, "the lease is over, and its manifest is still waited for");
};

const namespaceStuck: LeaseCheck = ({ key, name, namespace }, { nowMs }) => {
  const { deletingSinceMs, heldBy = [] } = namespace ?? {};
  if (deletingSinceMs === undefined || nowMs - deletingSinceMs < reconcileStuckMs) return undefined;
  const minutes = Math.floor((nowMs - deletingSinceMs) / 60_000);
  const by = heldBy.length > 0 ? `: ${heldBy.join(" ").slice(0, reconcileEvidenceChars)}` : "";
  return drift("namespace-stuck", key, `namespace ${name} is being deleted for ${minutes} minutes${by}`);
};

const mirrorDiffers: LeaseCheck = ({ key }, { believed: { running: mirrored }, chain: { height, running } }) => {
  if (!mirrored || mirrored.has(key) === running.has(key)) return undefined;
  const [theirs, ours] = running.has(key) ? ["runs", "does not"] : ["does not run", "does"];
  return drift("mirror-differs", key, `at height ${height} it ${theirs} by the chain, and ${ours} by the mirror`);
};

/** In the order in which a person would ask. */
const leaseChecks: readonly LeaseCheck[] = [
  mirrorDiffers,
  namespaceMissing,
  resourceMissing,
  resourceOutdated,
  manifestBehind,
  manifestMissing,
  reservationMissing,
  reservationUnwritten,
  leftBehind,
  unknownLease,
  deadlineLeft,
  namespaceStuck,
];

function isRunning(chain: LeaseFacts["chain"]): chain is Lease {
  return chain !== undefined && chain !== "none" && runs(chain);
}

function isOver(chain: LeaseFacts["chain"]): chain is Lease {
  return chain !== undefined && chain !== "none" && !runs(chain);
}

/** It runs, and long enough that what it needs should be there. */
function isOldEnough(chain: LeaseFacts["chain"], snapshot: ReconcileSnapshot): boolean {
  return isRunning(chain) && blocksMs(snapshot, chain.createdAt) >= reconcileUnderWayMs;
}

function blocksMs({ chain: { height }, blockTimeMs }: ReconcileSnapshot, since: bigint): number {
  return Number(height - since) * blockTimeMs;
}

/** Received long enough ago that it should be in the cluster. */
function isSettled(manifest: ManifestHead | undefined, { nowMs }: ReconcileSnapshot): manifest is ManifestHead {
  if (!manifest) return false;
  return nowMs - Math.max(manifest.receivedAtMs, manifest.withdrawnAtMs ?? 0) >= reconcileUnderWayMs;
}

function isThere(namespace: ListedNamespace | undefined): boolean {
  return namespace !== undefined && namespace.deletingSinceMs === undefined;
}

/** The version that should be in the cluster; undefined where none of them could run. */
function versionRun({ version, isRefused, deployedVersion, withdrawnAtMs }: ManifestHead): string | undefined {
  return isRefused && withdrawnAtMs === undefined ? deployedVersion : version;
}

function isNewer(
  key: string,
  note: NonNullable<ListedResource["note"]>,
  manifest: ManifestHead | undefined,
  { believed }: ReconcileSnapshot,
): boolean {
  return isNewerInCluster(note, manifest, believed.hashes.get(key));
}
