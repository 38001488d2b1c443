/** What is asked about one lease, one question after the other. What is merely under way, by its age, is no drift. */
import { type Lease, runs } from "../../../chain/records.ts";
import type { ManifestHead } from "../../../journal/manifests.ts";
import { isNewerInCluster } from "../../../market/newer-manifest.ts";
import { minute } from "../../../runtime/durations.ts";
import { type Drift, drift } from "./drift.ts";
import type { Booked, ListedNamespace, ListedResource, Truths } from "./truths.ts";

/** A lease, its manifest or its end may be so young that its loop is still at work on it: images are pulled, pods stop. */
export const reconcileUnderWayMs = 2 * minute;
/** A namespace that is being deleted for longer is held by something: pods of a minute's grace are gone by then. */
export const reconcileStuckMs = 5 * minute;
/** What holds a namespace, in the words of the server: the beginning says it. */
const reconcileEvidenceChars = 300;

/** All that is known of one lease of ours. */
export interface LeaseFacts {
  readonly key: string;
  readonly name: string;
  /** As the chain itself has it: "none" where it has none, undefined where it was not asked. */
  readonly chain: Lease | "none" | undefined;
  readonly namespace: ListedNamespace | undefined;
  readonly resource: ListedResource | undefined;
  readonly manifest: ManifestHead | undefined;
  readonly order: string;
  readonly booked: Booked | undefined;
}

type LeaseCheck = (facts: LeaseFacts, truths: Truths) => Drift | undefined;

const namespaceMissing: LeaseCheck = ({ key, name, chain, namespace, manifest }, truths) => {
  if (!isOldEnough(chain, truths) || namespace || !isSettled(manifest, truths)) return undefined;
  return drift("namespace-missing", key, `it runs and has a manifest, and the server has no namespace ${name}`);
};

const resourceMissing: LeaseCheck = ({ key, name, chain, namespace, resource, manifest }, truths) => {
  if (!isOldEnough(chain, truths) || !isSettled(manifest, truths) || resource || !isThere(namespace)) return undefined;
  if (versionRun(manifest) === undefined) return undefined;
  return drift("resource-missing", key, `its namespace is there, and Manifest resource ${name} is not`);
};

const resourceOutdated: LeaseCheck = ({ key, chain, namespace, resource, manifest }, truths) => {
  if (!isOldEnough(chain, truths) || !isSettled(manifest, truths) || !isThere(namespace)) return undefined;
  const { note } = resource ?? {};
  const wanted = versionRun(manifest);
  // One without a version was written by the provider before us.
  if (!note || note.version === "" || wanted === undefined || isNewer(key, note, manifest, truths)) return undefined;
  const isWithdrawn = manifest.withdrawnAtMs !== undefined;
  if (note.version === wanted && isWithdrawn === (note.withdrawnAtMs !== undefined)) return undefined;
  const other = note.version === wanted ? (isWithdrawn ? "not withdrawn" : "withdrawn") : `of manifest ${note.version}`;
  return drift("resource-outdated", key, `the cluster says ${other}, the journal has ${wanted}`);
};

const manifestBehind: LeaseCheck = ({ key, chain, resource, manifest }, truths) => {
  if (!isOldEnough(chain, truths) || !resource?.note || !isNewer(key, resource.note, manifest, truths))
    return undefined;
  const has = manifest ? `an older one, ${manifest.version}` : "none";
  return drift("manifest-behind", key, `the cluster has manifest ${resource.note.version}, the journal ${has}`);
};

const manifestMissing: LeaseCheck = ({ key, name, chain, namespace, resource, manifest }, truths) => {
  if (!isOldEnough(chain, truths) || manifest || resource || !isThere(namespace)) return undefined;
  return drift("manifest-missing", key, `namespace ${name} is there, and neither cluster nor journal has its manifest`);
};

const reservationMissing: LeaseCheck = ({ chain, order, booked }, truths) => {
  if (!isOldEnough(chain, truths) || booked) return undefined;
  return drift("reservation-missing", order, "its lease runs, and nothing is set aside for it");
};

const reservationUnwritten: LeaseCheck = ({ chain, order, booked }, truths) => {
  if (!isOldEnough(chain, truths) || !booked || truths.journal.reservations.has(order)) return undefined;
  return drift("reservation-unwritten", order, "its lease runs, and its reservation is not in the journal");
};

/** One for each lease: the rest goes with the first of them. */
const leftBehind: LeaseCheck = ({ key, name, chain, namespace, resource, manifest }, truths) => {
  if (!isOver(chain) || blocksMs(truths, chain.closedOn) < reconcileUnderWayMs) return undefined;
  const because = `the lease is ${chain.state} since height ${chain.closedOn}`;
  if (namespace) {
    return isThere(namespace) ? drift("namespace-left", key, `${because}, and namespace ${name} is there`) : undefined;
  }
  if (resource) return drift("resource-left", key, `${because}, and Manifest resource ${name} is there`);
  return manifest && drift("manifest-left", key, `${because}, and its manifest is in the journal`);
};

const unknownLease: LeaseCheck = ({ key, name, chain, namespace, resource, manifest }, { chain: { height } }) => {
  if (chain !== "none") return undefined;
  const because = `the chain has no such lease at height ${height}`;
  if (namespace) {
    return isThere(namespace)
      ? drift("namespace-unknown", key, `${because}, and namespace ${name} says so`)
      : undefined;
  }
  if (resource) return drift("resource-unknown", key, `${because}, and Manifest resource ${name} says so`);
  return manifest && drift("manifest-unknown", key, `${because}, and the journal has a manifest of it`);
};

const deadlineLeft: LeaseCheck = ({ key, chain }, truths) => {
  const isGone = chain === "none" || (isOver(chain) && blocksMs(truths, chain.closedOn) >= reconcileUnderWayMs);
  if (!isGone || !truths.journal.deadlines.has(key)) return undefined;
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
export const leaseChecks: readonly LeaseCheck[] = [
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
function isOldEnough(chain: LeaseFacts["chain"], truths: Truths): boolean {
  return isRunning(chain) && blocksMs(truths, chain.createdAt) >= reconcileUnderWayMs;
}

function blocksMs({ chain: { height }, blockTimeMs }: Truths, since: bigint): number {
  return Number(height - since) * blockTimeMs;
}

/** Received long enough ago that it should be in the cluster. */
function isSettled(manifest: ManifestHead | undefined, { nowMs }: Truths): manifest is ManifestHead {
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
  { believed }: Truths,
): boolean {
  return isNewerInCluster(note, manifest, believed.hashes.get(key));
}
