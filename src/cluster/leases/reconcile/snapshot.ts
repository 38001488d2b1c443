/** State at one moment: chain, API server and journal read directly, and mirror, caches and reservations as they are. */
import { type Chain, mirrorUnavailable } from "../../../chain/chain.ts";
import { runs } from "../../../chain/records.ts";
import { listRunningLeases } from "../../../chain/running-leases.ts";
import { manifestDeadline } from "../../../journal/deadlines.ts";
import type { Journal } from "../../../journal/journal.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../../kube/kube.ts";
import { leaseOfLabels, looksLikeLease, managedSelector } from "../../../kube/objects/lease-labels.ts";
import { readManifestNote } from "../../../kube/objects/read-manifest-resource.ts";
import { bidOn, deploymentOf, formatLeaseId, type LeaseId, parseLeaseId, parseOrderId } from "../../../market/ids.ts";
import { type Clock, nsToMs, parseTime } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { rpcMirrorQueries } from "../../../runtime/limits.ts";
import type { Log } from "../../../runtime/log.ts";
import { checkKnown } from "../../cache-error.ts";
import type { CapacityKeeper } from "../../capacity/capacity-keeper.ts";
import { isReservationNeeded } from "../../capacity/reservations/upkeep.ts";
import type { LeaseKeeper } from "../lease-loop.ts";
import { heldBy } from "../live-objects.ts";

/** Deadline of one list: a command waits for it, and the periodic reconcile repeats it in minutes. */
export const reconcileListMs = 30 * second;
/** Leases queried from the chain in one check, one query each. */
const reconcileQueries = 200;

export interface ReconcilerDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider" | "status" | "compareMirror">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
  readonly kube: Pick<Kube, "list">;
  readonly leases: Pick<LeaseKeeper, "live" | "wake" | "error">;
  readonly capacity: Pick<CapacityKeeper, "book" | "wake">;
  readonly manifestNamespace: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when what is known of drift has changed. */
  readonly onChange: () => void;
}

export type ReconcileSnapshot = Omit<Awaited<ReturnType<typeof readSnapshot>>, "unasked">;

/** `isRestored`: the caches found the server at an earlier state than they had seen. */
export async function readSnapshot(deps: ReconcilerDeps, isRestored: boolean, signal: AbortSignal) {
  const { chain, journal, leases, clock } = deps;
  const { provider, mirror, queries } = chain;
  // Before the mirror is built every lease would seem to have no reservation.
  checkKnown(mirrorUnavailable(mirror));
  // The cluster first: what was restored is put right soon.
  const cluster = await readCluster(deps, signal);
  const caches = leases.error === undefined ? readCaches(leases.live) : undefined;
  const book = readBook(deps);
  const { height: atOrAbove, ...mirrored } = readMirror(mirror);
  const listed = await listRunningLeases(queries, provider, { height: atOrAbove, atOrAbove, signal });
  const running = new Map(listed.items.map((lease) => [formatLeaseId(lease.id), lease]));
  const isSameHeight = listed.steady && listed.height === atOrAbove;
  await clock.yield();
  const known = {
    ...{ provider, running, ...cluster, ...readJournal(journal) },
    /** Leases that run by the mirror; undefined if it was of another height than the chain's list. */
    mirrored: isSameHeight ? mirrored.running : undefined,
  };
  const doubtful = leasesToAsk(known);
  const answers = await inParallel(doubtful.slice(0, reconcileQueries), rpcMirrorQueries, async (id) => {
    const { value } = await queries.lease(id, { atOrAbove, signal });
    return [formatLeaseId(id), value] as const;
  });
  return {
    ...{ ...known, nowMs: clock.now(), blockTimeMs: chain.status.blockTimeMs, height: listed.height },
    /** Answers about leases that do not run: undefined if the chain has none, absent if it was not queried. */
    queried: new Map(answers),
    /** Manifest hashes by lease, as on chain. */
    hashes: mirrored.hashes,
    ...{ caches, book, isRestored },
    /** How many leases were not queried from the chain, because there are too many at once. */
    unasked: Math.max(0, doubtful.length - reconcileQueries),
  };
}

type Known = Pick<
  ReconcileSnapshot,
  "provider" | "running" | "namespaces" | "resources" | "manifests" | "deadlines" | "mirrored"
>;

/** Every lease of ours that chain, cluster, journal or mirror knows of, by key. */
export function knownLeases(known: Known): Map<string, LeaseId> {
  const ids = new Map(Array.from(known.running, ([key, { id }]) => [key, id]));
  const labelled = [...known.namespaces.map(({ lease }) => lease), ...known.resources.map(({ note }) => note?.lease)];
  for (const lease of labelled) if (lease?.provider === known.provider) ids.set(formatLeaseId(lease), lease);
  for (const key of [...known.manifests.keys(), ...known.deadlines, ...(known.mirrored ?? [])]) {
    if (!ids.has(key)) ids.set(key, parseLeaseId(key));
  }
  return ids;
}

/** Leases that something knows of although the chain's list of those that run does not have them. */
export function leasesToAsk(known: Known): LeaseId[] {
  const ids = [...knownLeases(known)].filter(([key]) => !known.running.has(key)).map(([, id]) => id);
  return ids.filter(({ provider }) => provider === known.provider);
}

/** Read at one moment, before the chain is queried at that height. */
function readMirror(mirror: Chain["mirror"]) {
  const leases = [...mirror.leases()].filter(runs).map(({ id }) => ({ id, key: formatLeaseId(id) }));
  const hashes = leases.flatMap(({ id, key }) => {
    const { hash } = mirror.deployment(deploymentOf(id)) ?? {};
    return hash ? [[key, hash] as const] : [];
  });
  return { height: mirror.height, running: new Set(leases.map(({ key }) => key)), hashes: new Map(hashes) };
}

async function readCluster({ kube, manifestNamespace, clock }: ReconcilerDeps, signal: AbortSignal) {
  const selection = { labelSelector: managedSelector, signal, deadlineMs: reconcileListMs };
  const [namespaces, resources] = await Promise.all([
    kube.list(kinds.namespace, selection),
    kube.list(kinds.manifest, { ...selection, namespace: manifestNamespace }),
  ]);
  await clock.yield();
  return {
    // The network's label is on namespaces of operators too.
    namespaces: namespaces.filter(({ metadata: { name, labels } }) => looksLikeLease(name, labels)).map(readNamespace),
    resources: resources.map((object) => {
      const { name, uid = "" } = object.metadata;
      return { name, uid, note: readManifestNote(object) };
    }),
  };
}

function readNamespace(object: KubeObject) {
  const { name, uid = "", labels, deletionTimestamp } = object.metadata;
  const deletingSinceMs = deletionTimestamp === undefined ? undefined : parseTime(deletionTimestamp);
  return { name, uid, lease: leaseOfLabels(labels), deletingSinceMs, heldBy: heldBy(object) };
}

/** Uids by name. */
function readCaches(live: LeaseKeeper["live"]) {
  const namespaces = [...live.namespaces()].filter(({ name, labels }) => looksLikeLease(name, labels));
  return {
    namespaces: new Map(namespaces.map(({ name, uid }) => [name, uid])),
    resources: new Map(Array.from(live.manifests(), ({ metadata: { name, uid = "" } }) => [name, uid])),
  };
}

function readJournal({ read }: Pick<Journal, "read">) {
  return {
    manifests: new Map(read.manifests.heads().map((head) => [head.leaseId, head])),
    /** Leases whose manifest is waited for. */
    deadlines: new Set(read.deadlines.subjects(manifestDeadline)),
    /** By order. */
    reservations: new Set(read.reservations.orderIds()),
  };
}

/** By order: how long ago it expired by the chain's time, and whether a bid or a pending transaction still needs it. */
function readBook({ capacity, chain: { mirror, provider }, journal }: ReconcilerDeps) {
  return new Map(
    Array.from(capacity.book.all(), ({ orderId, expiresAtMs }) => {
      const isNeeded = isReservationNeeded(orderId, bidOn(parseOrderId(orderId), provider), { mirror, journal });
      return [orderId, { expiredForMs: nsToMs(mirror.timeNs) - expiresAtMs, isNeeded }];
    }),
  );
}
