/**
 * What chain, API server and journal say at one moment, each asked directly, and what mirror, caches and book believe.
 * Long lists are read in slices that yield to the event loop.
 */
import { type Chain, mirrorTrouble } from "../../../chain/chain.ts";
import { type Lease, runs } from "../../../chain/records.ts";
import { listRunningLeases } from "../../../chain/running-leases.ts";
import { manifestDeadline } from "../../../journal/deadlines.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { ManifestHead } from "../../../journal/manifests.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../../kube/kube.ts";
import { leaseOfLabels, looksLikeLease, managedSelector } from "../../../kube/objects/lease-labels.ts";
import { type RecordedNote, readManifestNote } from "../../../kube/objects/read-manifest-resource.ts";
import type { Address } from "../../../market/address.ts";
import { bidOn, deploymentOf, formatLeaseId, type LeaseId, parseLeaseId, parseOrderId } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { type Clock, nsToMs, parseTime } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { rpcMirrorQueries } from "../../../runtime/limits.ts";
import type { CapacityKeeper } from "../../capacity/capacity-keeper.ts";
import { isReservationNeeded } from "../../capacity/reservations/upkeep.ts";
import { checkKnown } from "../../watch-trouble.ts";
import { heldBy, type LiveObjects } from "../live-objects.ts";

/** Deadline of one list: a command waits for it, and the periodic reconcile asks again in minutes. */
export const reconcileListMs = 30 * second;
/** Objects read between two yields: a few milliseconds. */
const reconcileSlice = 200;
/** Leases asked about in one look, each by a query to the chain. */
const reconcileAsks = 200;

export interface ReconcileSnapshot {
  readonly provider: Address;
  readonly nowMs: number;
  readonly blockTimeMs: number;
  readonly chain: {
    readonly height: bigint;
    /** Ours, by the chain's own list. */
    readonly running: ReadonlyMap<string, Lease>;
    /** Answers about leases that do not run: undefined if the chain has none, absent if it was not asked. */
    readonly asked: ReadonlyMap<string, Lease | undefined>;
  };
  readonly cluster: {
    readonly namespaces: readonly ListedNamespace[];
    readonly resources: readonly ListedResource[];
  };
  readonly journal: {
    readonly manifests: ReadonlyMap<string, ManifestHead>;
    /** Leases whose manifest is waited for. */
    readonly deadlines: ReadonlySet<string>;
    /** By order. */
    readonly reservations: ReadonlySet<string>;
  };
  readonly believed: {
    /** Leases that run by the mirror; undefined if it was of another height than the chain's list. */
    readonly running: ReadonlySet<string> | undefined;
    /** Manifest hashes by lease, as on chain. */
    readonly hashes: ReadonlyMap<string, Uint8Array>;
    /** Uids by name; undefined while the caches may be out of date. */
    readonly caches: Record<"namespaces" | "resources", ReadonlyMap<string, string>> | undefined;
    /** The caches found the server at an earlier state than they had seen. */
    readonly isRestored: boolean;
    /** By order. */
    readonly book: ReadonlyMap<string, Booked>;
  };
}

export interface ListedNamespace {
  readonly name: string;
  readonly uid: string;
  /** By its labels. */
  readonly lease: LeaseId | undefined;
  readonly deletingSinceMs: number | undefined;
  /** What keeps it from being deleted, in the server's words. */
  readonly heldBy: readonly string[];
}

export interface ListedResource {
  readonly name: string;
  readonly uid: string;
  readonly note: RecordedNote | undefined;
}

export interface Booked {
  /** By the chain's time; negative before. */
  readonly expiredForMs: number;
  /** A bid or a pending transaction of ours still needs it. */
  readonly isNeeded: boolean;
}

export interface SnapshotDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider" | "status">;
  readonly journal: Pick<Journal, "read">;
  readonly kube: Pick<Kube, "list">;
  readonly leases: {
    readonly live: Pick<LiveObjects, "namespaces" | "manifests">;
    readonly trouble: string | undefined;
  };
  readonly capacity: { readonly book: Pick<CapacityKeeper["book"], "all"> };
  readonly manifestNamespace: string;
  readonly clock: Clock;
}

/** `unasked`: how many leases the chain was not asked about, because too many are left at once. */
export async function readSnapshot(
  deps: SnapshotDeps,
  isRestored: boolean,
  signal: AbortSignal,
): Promise<{ readonly snapshot: ReconcileSnapshot; readonly unasked: number }> {
  const { chain, journal, leases, clock } = deps;
  const { provider, mirror, queries } = chain;
  // Before the mirror is built every lease would seem to have no reservation.
  checkKnown(mirrorTrouble(mirror));
  // The cluster first: what was restored is put right soon.
  const cluster = await readCluster(deps, signal);
  const caches = leases.trouble === undefined ? readCaches(leases.live) : undefined;
  const book = readBook(deps);
  await clock.yield();
  const mirrored = readMirror(mirror);
  const at = { height: mirrored.height, atOrAbove: mirrored.height, signal };
  const listed = await listRunningLeases(queries, provider, at);
  const running = new Map(listed.items.map((lease) => [formatLeaseId(lease.id), lease]));
  const isSameHeight = listed.steady && listed.height === mirrored.height;
  await clock.yield();
  const known = {
    ...{ provider, cluster, journal: readJournal(journal) },
    believed: {
      running: isSameHeight ? mirrored.running : undefined,
      hashes: mirrored.hashes,
      ...{ caches, book, isRestored },
    },
  };
  const doubtful = leasesToAsk({ ...known, chain: { running } });
  const answers = await inParallel(doubtful.slice(0, reconcileAsks), rpcMirrorQueries, async (id) => {
    const { value } = await queries.lease(id, { atOrAbove: mirrored.height, signal });
    return [formatLeaseId(id), value] as const;
  });
  const { blockTimeMs } = chain.status;
  return {
    snapshot: {
      ...{ ...known, nowMs: clock.now(), blockTimeMs },
      chain: { height: listed.height, running, asked: new Map(answers) },
    },
    unasked: Math.max(0, doubtful.length - reconcileAsks),
  };
}

type Known = Pick<ReconcileSnapshot, "provider" | "cluster" | "journal" | "believed"> & {
  readonly chain: Pick<ReconcileSnapshot["chain"], "running">;
};

/** Every lease of ours that chain, cluster, journal or mirror knows of, by key. */
export function knownLeases({ provider, chain, cluster, journal, believed }: Known): Map<string, LeaseId> {
  const ids = new Map(Array.from(chain.running, ([key, { id }]) => [key, id]));
  const labelled = [
    ...cluster.namespaces.map(({ lease }) => lease),
    ...cluster.resources.map(({ note }) => note?.lease),
  ];
  for (const lease of labelled) if (lease?.provider === provider) ids.set(formatLeaseId(lease), lease);
  for (const key of [...journal.manifests.keys(), ...journal.deadlines, ...(believed.running ?? [])]) {
    if (!ids.has(key)) ids.set(key, parseLeaseId(key));
  }
  return ids;
}

/** Leases that something knows of although the chain's list of those that run does not have them. */
export function leasesToAsk(known: Known): LeaseId[] {
  const ids = [...knownLeases(known)].filter(([key]) => !known.chain.running.has(key)).map(([, id]) => id);
  return ids.filter(({ provider }) => provider === known.provider);
}

/** Read at one moment, before the chain is asked about that height. */
function readMirror(mirror: Chain["mirror"]) {
  const running = new Set<string>();
  const hashes = new Map<string, Uint8Array>();
  for (const lease of mirror.leases()) {
    if (!runs(lease)) continue;
    const key = formatLeaseId(lease.id);
    running.add(key);
    const { hash } = mirror.deployment(deploymentOf(lease.id)) ?? {};
    if (hash) hashes.set(key, hash);
  }
  return { height: mirror.height, running, hashes };
}

async function readCluster(
  { kube, manifestNamespace, clock }: SnapshotDeps,
  signal: AbortSignal,
): Promise<ReconcileSnapshot["cluster"]> {
  const selection = { labelSelector: managedSelector, signal, deadlineMs: reconcileListMs };
  const [namespaces, resources] = await Promise.all([
    kube.list(kinds.namespace, selection),
    kube.list(kinds.manifest, { ...selection, namespace: manifestNamespace }),
  ]);
  return {
    namespaces: await inSlices(namespaces, readNamespace, clock),
    resources: await inSlices(resources, readResource, clock),
  };
}

async function inSlices<T, R>(items: readonly T[], read: (item: T) => readonly R[], clock: Clock): Promise<R[]> {
  const made: R[] = [];
  for (let at = 0; at < items.length; at += reconcileSlice) {
    for (const item of items.slice(at, at + reconcileSlice)) made.push(...read(item));
    await clock.yield();
  }
  return made;
}

/** The network's label is on namespaces of operators too. */
function readNamespace(object: KubeObject): ListedNamespace[] {
  const { name, uid = "", labels, deletionTimestamp } = object.metadata;
  if (!looksLikeLease(name, labels)) return [];
  const deletingSinceMs = deletionTimestamp === undefined ? undefined : parseTime(deletionTimestamp);
  return [{ name, uid, lease: hashed(leaseOfLabels(labels)), deletingSinceMs, heldBy: heldBy(object) }];
}

function readResource(object: KubeObject): ListedResource[] {
  const { name, uid = "" } = object.metadata;
  const note = readManifestNote(object);
  hashed(note?.lease);
  return [{ name, uid, note }];
}

/** The namespace's name is a hash that is cached with the id: computed here, in slices, it costs the comparison nothing. */
function hashed(lease: LeaseId | undefined): LeaseId | undefined {
  if (lease) leaseNamespace(lease);
  return lease;
}

function readCaches(live: SnapshotDeps["leases"]["live"]) {
  const namespaces = [...live.namespaces()].filter(({ name, labels }) => looksLikeLease(name, labels));
  return {
    namespaces: new Map(namespaces.map(({ name, uid }) => [name, uid])),
    resources: new Map(Array.from(live.manifests(), ({ metadata: { name, uid = "" } }) => [name, uid])),
  };
}

function readJournal({ read }: Pick<Journal, "read">): ReconcileSnapshot["journal"] {
  return {
    manifests: new Map(read.manifests.heads().map((head) => [head.leaseId, head])),
    deadlines: new Set(read.deadlines.subjects(manifestDeadline)),
    reservations: new Set(read.reservations.orderIds()),
  };
}

function readBook({ capacity, chain: { mirror, provider }, journal }: SnapshotDeps): ReadonlyMap<string, Booked> {
  const booked = new Map<string, Booked>();
  for (const { orderId, expiresAtMs } of capacity.book.all()) {
    const isNeeded = isReservationNeeded(orderId, bidOn(parseOrderId(orderId), provider), { mirror, journal });
    booked.set(orderId, { expiredForMs: nsToMs(mirror.timeNs) - expiresAtMs, isNeeded });
  }
  return booked;
}
