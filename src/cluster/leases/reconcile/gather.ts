/**
 * Asks each of the three itself: the chain for its own list, the API server for what it has now, the journal. Mirror and
 * caches are read too, as what we believe. Between the parts the event loop gets its turn.
 */

import type { Chain } from "../../../chain/chain.ts";
import { mirrorTrouble } from "../../../chain/mirror-trouble.ts";
import { type Lease, runs } from "../../../chain/records.ts";
import { listRunningLeases } from "../../../chain/running-leases.ts";
import { manifestDeadline } from "../../../journal/deadlines.ts";
import type { Journal } from "../../../journal/journal.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../../kube/kube.ts";
import { leaseOfLabels, looksLikeLease, managedSelector } from "../../../kube/objects/lease-labels.ts";
import { readManifestNote } from "../../../kube/objects/read-manifest-resource.ts";
import { bidOn, deploymentOf, formatLeaseId, type LeaseId, parseOrderId } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { type Clock, nsToMs, parseTime } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { rpcMirrorQueries } from "../../../runtime/limits.ts";
import type { CapacityKeeper } from "../../capacity/capacity-keeper.ts";
import { isReservationNeeded } from "../../capacity/reservations/upkeep.ts";
import { checkKnown } from "../../watch-trouble.ts";
import { heldBy, type LiveObjects } from "../live-objects.ts";
import { leasesToAsk } from "./compare.ts";
import type {
  Believed,
  Booked,
  Cached,
  ClusterTruth,
  JournalTruth,
  ListedNamespace,
  ListedResource,
  Truths,
} from "./truths.ts";

/** Until the server has listed all: a command waits for it, and what does not answer now is asked again in minutes. */
export const reconcileListMs = 30 * second;
/** Objects of a list that are read between two breaths of the event loop: a few milliseconds. */
const reconcileSlice = 200;
/** Leases that do not run and of which something is left, asked about in one look: each is a query to the chain. */
const reconcileAsks = 200;

export interface GatherDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider" | "status">;
  readonly journal: Pick<Journal, "read">;
  readonly kube: Pick<Kube, "list">;
  readonly live: Pick<LiveObjects, "namespaces" | "manifests">;
  readonly book: Pick<CapacityKeeper["book"], "all">;
  readonly manifestNamespace: string;
  /** Why nothing may be judged by the caches now. */
  readonly trouble: () => string | undefined;
  readonly clock: Clock;
}

export interface Gathered {
  readonly truths: Truths;
  /** Leases that the chain was not asked about: too many are left at once. */
  readonly unasked: number;
}

export async function gather(deps: GatherDeps, isRestored: boolean, signal: AbortSignal): Promise<Gathered> {
  const { chain, journal, clock } = deps;
  const { provider, mirror, queries } = chain;
  // Until then neither the book nor what it is needed for is known: every lease would seem to have no reservation.
  checkKnown(mirrorTrouble(mirror));
  // First of all: what was restored is put right soon.
  const cluster = await readCluster(deps, signal);
  const caches = deps.trouble() === undefined ? readCaches(deps.live) : undefined;
  const book = readBook(deps);
  await clock.yield();
  const mirrored = readMirror(mirror);
  const atHeight = { height: mirrored.height, atOrAbove: mirrored.height, signal };
  const listed = await listRunningLeases(queries, provider, atHeight);
  const running = new Map(listed.items.map((lease) => [formatLeaseId(lease.id), lease]));
  const isSameHeight = listed.steady && listed.height === mirrored.height;
  const believed: Believed = {
    running: isSameHeight ? mirrored.running : undefined,
    hashes: mirrored.hashes,
    ...{ caches, book, isRestored },
  };
  await clock.yield();
  const own = { provider, cluster, journal: readJournal(journal), believed };
  const doubtful = leasesToAsk({ ...own, chain: { running } });
  const asked = await askChain(deps, doubtful.slice(0, reconcileAsks), mirrored.height, signal);
  return {
    truths: {
      ...own,
      nowMs: clock.now(),
      blockTimeMs: chain.status.blockTimeMs,
      chain: { height: listed.height, running, asked },
    },
    unasked: Math.max(0, doubtful.length - reconcileAsks),
  };
}

/** All of it of one moment, before the chain is asked about that height. */
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

async function readCluster({ kube, manifestNamespace, clock }: GatherDeps, signal: AbortSignal): Promise<ClusterTruth> {
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

/** Each takes some microseconds, and there may be thousands. */
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
  return [{ name, uid, lease: named(leaseOfLabels(labels)), deletingSinceMs, heldBy: heldBy(object) }];
}

function readResource(object: KubeObject): ListedResource[] {
  const { name, uid = "" } = object.metadata;
  const note = readManifestNote(object);
  named(note?.lease);
  return [{ name, uid, note }];
}

/** Its name is a hash, and remembered with the id: reckoned here, in slices, it costs the comparison nothing. */
function named(lease: LeaseId | undefined): LeaseId | undefined {
  if (lease) leaseNamespace(lease);
  return lease;
}

function readCaches(live: GatherDeps["live"]): Cached {
  const namespaces = new Map<string, string>();
  for (const { name, uid, labels } of live.namespaces()) if (looksLikeLease(name, labels)) namespaces.set(name, uid);
  const resources = new Map<string, string>();
  for (const { metadata } of live.manifests()) resources.set(metadata.name, metadata.uid ?? "");
  return { namespaces, resources };
}

function readJournal({ read }: Pick<Journal, "read">): JournalTruth {
  return {
    manifests: new Map(read.manifests.heads().map((head) => [head.leaseId, head])),
    deadlines: new Set(read.deadlines.subjects(manifestDeadline)),
    reservations: new Set(read.reservations.orderIds()),
  };
}

function readBook({ book, chain, journal }: GatherDeps): ReadonlyMap<string, Booked> {
  const booked = new Map<string, Booked>();
  for (const { orderId, expiresAtMs } of book.all()) {
    const id = bidOn(parseOrderId(orderId), chain.provider);
    const isNeeded = isReservationNeeded(orderId, id, { mirror: chain.mirror, journal });
    booked.set(orderId, { expiredForMs: nsToMs(chain.mirror.timeNs) - expiresAtMs, isNeeded });
  }
  return booked;
}

async function askChain(
  { chain }: GatherDeps,
  ids: readonly LeaseId[],
  atOrAbove: bigint,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Lease | undefined>> {
  const answers = await inParallel(ids, rpcMirrorQueries, async (id) => {
    const { value } = await chain.queries.lease(id, { atOrAbove, signal });
    return [formatLeaseId(id), value] as const;
  });
  return new Map(answers);
}
