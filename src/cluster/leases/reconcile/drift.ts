/**
 * In what chain, cluster and journal may disagree, what is done about each kind of drift, and how it is found. Pure: the caller
 * looks twice, since one look may meet a write that is under way.
 */
import { type Lease, runs } from "../../../chain/records.ts";
import { formatLeaseId, formatOrderId, type LeaseId, orderOf } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { isNewerInCluster } from "../../../market/manifest.ts";
import { minute } from "../../../runtime/durations.ts";
import { knownLeases, type ReconcileSnapshot } from "./snapshot.ts";

/** The loop that is woken. Only these write or delete, each by its own rules. */
export type Waker = "lease" | "reservation" | "mirror" | "caches" | "none";

const heals = (wakes: Waker, remedy: string) => ({ wakes, remedy, heals: true });
/** Not expected to go by itself, so an operator should know at once. */
const stays = (wakes: Waker, why: string) => ({ wakes, remedy: `nothing: ${why}`, heals: false });

const noProof = "there is no proof that it may go";
const tornDown = "its loop is woken, which removes it on the chain's proof";

export const driftKinds = {
  // A lease that runs
  "namespace-missing": heals("lease", "its loop is woken, which makes it again"),
  "resource-missing": heals("lease", "its loop is woken, which writes it again"),
  "resource-outdated": heals("lease", "its loop is woken, which applies the newest manifest"),
  "manifest-behind": heals("lease", "the journal takes it up from the cluster"),
  "manifest-missing": stays("lease", "only its tenant can send the manifest again"),
  "reservation-missing": heals("reservation", "its reservation is looked at, and made again from the chain"),
  "reservation-unwritten": heals("reservation", "its reservation is written down again"),
  // A lease that is over
  "namespace-left": heals("lease", "its loop is woken, which tears it down on the chain's proof"),
  "resource-left": heals("lease", tornDown),
  "manifest-left": heals("lease", tornDown),
  "deadline-left": stays("none", "it is forgotten when it is due"),
  "reservation-left": heals("reservation", "its reservation is looked at, and given up on the chain's proof"),
  // A lease that the chain does not have
  "namespace-unknown": stays("lease", noProof),
  "resource-unknown": stays("lease", noProof),
  "manifest-unknown": stays("lease", noProof),
  // Of another provider, or of no lease that is named
  "namespace-foreign": stays("none", "it is another provider's"),
  "resource-foreign": stays("none", "it is another provider's"),
  "namespace-mislabelled": stays("none", noProof),
  "resource-mislabelled": stays("none", noProof),
  // Of any lease, whether it runs or not
  "namespace-stuck": stays("none", "whatever holds it must let go"),
  // The cluster as a whole
  "cluster-restored": heals("none", "the loop of each lease repairs what it finds"),
  // What we believe
  "mirror-differs": heals("mirror", "the mirror is compared with the chain and built anew"),
  "cache-differs": heals("caches", "the caches list again"),
} as const;

type DriftKind = keyof typeof driftKinds;

export interface Drift {
  readonly kind: DriftKind;
  /** The lease, order, namespace or cache that it is about. */
  readonly subject: string;
  /** What was seen, in words. */
  readonly evidence: string;
}

/** Identifies a drift from one check to the next. */
export function driftKey({ kind, subject }: Drift): string {
  return `${kind} ${subject}`;
}

function drift(kind: DriftKind, subject: string, evidence: string): Drift {
  return { kind, subject, evidence };
}

/** Younger leases, manifests and ends may still be in the works: images are pulled, pods stop. */
export const reconcileUnderWayMs = 2 * minute;
/** A namespace that is being deleted for longer is held by something: pods of a minute's grace are gone by then. */
export const reconcileStuckMs = 5 * minute;
/** Of the server's words about what holds a namespace. */
const reconcileEvidenceChars = 300;

export function compare(snapshot: ReconcileSnapshot): Drift[] {
  const leases = leaseFacts(snapshot);
  return [
    ...clusterDrifts(snapshot),
    ...leases.flatMap((lease) => [...leaseDrifts(lease, snapshot)]),
    ...snapshot.namespaces.flatMap(({ name, lease }) => strays("namespace", name, lease, snapshot)),
    ...snapshot.resources.flatMap(({ name, note }) => strays("resource", name, note?.lease, snapshot)),
    ...reservationsLeft(snapshot, leases),
  ];
}

function clusterDrifts({ namespaces, resources, caches, isRestored }: ReconcileSnapshot): Drift[] {
  const restored =
    "the API server has gone back to an earlier state: its etcd was restored, or another cluster answers";
  return [
    ...(isRestored ? [drift("cluster-restored", "cluster", restored)] : []),
    ...(caches ? cacheDrifts("namespaces", namespaces, caches.namespaces) : []),
    ...(caches ? cacheDrifts("manifests.akash.network", resources, caches.resources) : []),
  ];
}

/** One for each object that differs: the second check keeps those that still differ. */
function cacheDrifts(
  resource: string,
  listed: readonly { readonly name: string; readonly uid: string }[],
  cached: ReadonlyMap<string, string>,
): Drift[] {
  const uids = new Map(listed.map(({ name, uid }) => [name, uid]));
  return [...new Set([...uids.keys(), ...cached.keys()])]
    .filter((name) => uids.get(name) !== cached.get(name))
    .map((name) => {
      const [has, shows] = [uids.get(name) ?? "none", cached.get(name) ?? "none"];
      return drift("cache-differs", `${resource} ${name}`, `the server has ${has}, the cache shows ${shows}`);
    });
}

type LeaseFacts = ReturnType<typeof leaseFacts>[number];

/** All that is known of each lease of ours. */
function leaseFacts(snapshot: ReconcileSnapshot) {
  const { running, queried } = snapshot;
  const namespaces = new Map(snapshot.namespaces.map((each) => [each.name, each]));
  const resources = new Map(snapshot.resources.map((each) => [each.name, each]));
  return Array.from(knownLeases(snapshot), ([key, id]) => {
    const name = leaseNamespace(id);
    const order = formatOrderId(orderOf(id));
    const [namespace, resource] = [namespaces.get(name), resources.get(name)];
    return {
      ...{ key, name, order },
      /** "none" if the chain has no such lease, undefined if it was not queried. */
      chain: running.get(key) ?? (queried.has(key) ? (queried.get(key) ?? ("none" as const)) : undefined),
      namespace: isOf(key, namespace?.lease) ? namespace : undefined,
      resource: isOf(key, resource?.note?.lease) ? resource : undefined,
      manifest: snapshot.manifests.get(key),
      isBooked: snapshot.book.has(order),
    };
  });
}

function isOf(key: string, lease: LeaseId | undefined): boolean {
  return lease !== undefined && formatLeaseId(lease) === key;
}

function* leaseDrifts(lease: LeaseFacts, snapshot: ReconcileSnapshot): Iterable<Drift> {
  const { key, name, chain, namespace } = lease;
  const { height, running, mirrored, nowMs } = snapshot;
  if (mirrored && mirrored.has(key) !== running.has(key)) {
    const [theirs, ours] = running.has(key) ? ["runs", "does not"] : ["does not run", "does"];
    yield drift("mirror-differs", key, `at height ${height} it ${theirs} by the chain, and ${ours} by the mirror`);
  }
  if (chain === "none") yield* remains("unknown", `the chain has no such lease at height ${height}`, lease, snapshot);
  else if (chain && isOldEnough(chain, snapshot)) {
    const ended = `the lease is ${chain.state} since height ${chain.closedOn}`;
    yield* runs(chain) ? runningDrifts(lease, snapshot) : remains("left", ended, lease, snapshot);
  }
  const { deletingSinceMs, heldBy = [] } = namespace ?? {};
  if (deletingSinceMs === undefined || nowMs - deletingSinceMs < reconcileStuckMs) return;
  const minutes = Math.floor((nowMs - deletingSinceMs) / minute);
  const by = heldBy.length > 0 ? `: ${heldBy.join(" ").slice(0, reconcileEvidenceChars)}` : "";
  yield drift("namespace-stuck", key, `namespace ${name} is being deleted for ${minutes} minutes${by}`);
}

function* runningDrifts(lease: LeaseFacts, snapshot: ReconcileSnapshot): Iterable<Drift> {
  const { key, name, order, namespace, resource, manifest, isBooked } = lease;
  const { nowMs, reservations, hashes } = snapshot;
  const note = resource?.note;
  const isThere = namespace !== undefined && namespace.deletingSinceMs === undefined;
  const isNewer = isNewerInCluster(note, manifest, hashes.get(key));
  if (note && isNewer) {
    const has = manifest ? `an older one, ${manifest.version}` : "none";
    yield drift("manifest-behind", key, `the cluster has manifest ${note.version}, the journal ${has}`);
  }
  if (isThere && !resource && !manifest)
    yield drift(
      "manifest-missing",
      key,
      `namespace ${name} is there, and neither cluster nor journal has its manifest`,
    );
  if (!isBooked) yield drift("reservation-missing", order, "its lease runs, and nothing is set aside for it");
  else if (!reservations.has(order))
    yield drift("reservation-unwritten", order, "its lease runs, and its reservation is not in the journal");

  if (!manifest) return;
  const { version, isRefused, deployedVersion, receivedAtMs, withdrawnAtMs } = manifest;
  if (nowMs - Math.max(receivedAtMs, withdrawnAtMs ?? 0) < reconcileUnderWayMs) return;
  if (!namespace)
    yield drift("namespace-missing", key, `it runs and has a manifest, and the server has no namespace ${name}`);
  const isWithdrawn = withdrawnAtMs !== undefined;
  const wanted = isRefused && !isWithdrawn ? deployedVersion : version;
  if (!isThere || wanted === undefined) return;
  if (!resource) yield drift("resource-missing", key, `its namespace is there, and Manifest resource ${name} is not`);
  // One without a version was written by the provider before us.
  if (!note || note.version === "" || isNewer) return;
  if (note.version === wanted && isWithdrawn === (note.withdrawnAtMs !== undefined)) return;
  const other = note.version === wanted ? (isWithdrawn ? "not withdrawn" : "withdrawn") : `of manifest ${note.version}`;
  yield drift("resource-outdated", key, `the cluster says ${other}, the journal has ${wanted}`);
}

/** What is there of a lease that does not run. One drift: the rest goes with the first. */
function* remains(
  what: "left" | "unknown",
  because: string,
  { key, name, namespace, resource, manifest }: LeaseFacts,
  { deadlines }: ReconcileSnapshot,
): Iterable<Drift> {
  if (namespace) {
    const evidence = `${because}, and namespace ${name} is there`;
    if (namespace.deletingSinceMs === undefined) yield drift(`namespace-${what}`, key, evidence);
  } else if (resource) yield drift(`resource-${what}`, key, `${because}, and Manifest resource ${name} is there`);
  else if (manifest) yield drift(`manifest-${what}`, key, `${because}, and its manifest is in the journal`);
  if (deadlines.has(key)) yield drift("deadline-left", key, "the lease is over, and its manifest is still waited for");
}

/** What it needs should be there by now, or what it left should be gone. */
function isOldEnough(lease: Lease, { height, blockTimeMs }: ReconcileSnapshot): boolean {
  const since = runs(lease) ? lease.createdAt : lease.closedOn;
  return Number(height - since) * blockTimeMs >= reconcileUnderWayMs;
}

/** An object with the network's labels that belongs to no lease of ours. */
function strays(
  what: "namespace" | "resource",
  name: string,
  lease: LeaseId | undefined,
  { provider }: ReconcileSnapshot,
): Drift[] {
  const text = what === "namespace" ? `namespace ${name}` : `Manifest resource ${name}`;
  if (!lease) return [drift(`${what}-mislabelled`, name, `${text} has the network's labels and names no lease`)];
  if (lease.provider !== provider) return [drift(`${what}-foreign`, name, `${text} is of provider ${lease.provider}`)];
  const own = leaseNamespace(lease);
  if (own === name) return [];
  const evidence = `${text} says that it is of lease ${formatLeaseId(lease)}, whose is called ${own}`;
  return [drift(`${what}-mislabelled`, name, evidence)];
}

/** No lease, bid or pending transaction needs it, and its time is over. */
function reservationsLeft(snapshot: ReconcileSnapshot, leases: readonly LeaseFacts[]): Drift[] {
  const { running, book, reservations } = snapshot;
  const inUse = new Set([
    ...Array.from(running.values(), ({ id }) => formatOrderId(orderOf(id))),
    ...leases.filter(({ chain }) => chain === undefined).map(({ order }) => order),
  ]);
  const isLeft = ({ isNeeded, expiredForMs }: { readonly isNeeded: boolean; readonly expiredForMs: number }) =>
    !isNeeded && expiredForMs >= reconcileUnderWayMs;
  const left = [...book].filter(([order, booked]) => isLeft(booked) && !inUse.has(order));
  const unbooked = [...reservations].filter((order) => !book.has(order) && !inUse.has(order));
  const inBook = "something is set aside for it, and it has neither bid nor lease";
  const inJournal = "the journal has a reservation that is not in the book, and no lease for it";
  return [
    ...left.map(([order]) => drift("reservation-left", order, inBook)),
    ...unbooked.map((order) => drift("reservation-left", order, inJournal)),
  ];
}
