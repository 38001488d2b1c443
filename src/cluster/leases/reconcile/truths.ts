/** What chain, cluster and journal say, each by itself and at one moment, and what we believe of the first two. */
import type { Lease } from "../../../chain/records.ts";
import type { ManifestHead } from "../../../journal/manifests.ts";
import type { RecordedNote } from "../../../kube/objects/read-manifest-resource.ts";
import type { Address } from "../../../market/address.ts";
import type { LeaseId } from "../../../market/ids.ts";

export interface Truths {
  readonly provider: Address;
  readonly nowMs: number;
  readonly blockTimeMs: number;
  readonly chain: ChainTruth;
  readonly cluster: ClusterTruth;
  readonly journal: JournalTruth;
  readonly believed: Believed;
}

interface ChainTruth {
  readonly height: bigint;
  /** Those of ours that run, by the chain's own list. */
  readonly running: ReadonlyMap<string, Lease>;
  /** What the chain said of others that cluster or journal know of; undefined where it has none. Absent: it was not asked. */
  readonly asked: ReadonlyMap<string, Lease | undefined>;
}

export interface ClusterTruth {
  readonly namespaces: readonly ListedNamespace[];
  readonly resources: readonly ListedResource[];
}

export interface ListedNamespace {
  readonly name: string;
  readonly uid: string;
  /** Whose it says that it is. */
  readonly lease: LeaseId | undefined;
  readonly deletingSinceMs: number | undefined;
  /** What keeps one that is being deleted, in the server's words. */
  readonly heldBy: readonly string[];
}

export interface ListedResource {
  readonly name: string;
  readonly uid: string;
  readonly note: RecordedNote | undefined;
}

export interface JournalTruth {
  readonly manifests: ReadonlyMap<string, ManifestHead>;
  /** Leases whose manifest is waited for. */
  readonly deadlines: ReadonlySet<string>;
  /** Orders for which something is set aside. */
  readonly reservations: ReadonlySet<string>;
}

export interface Believed {
  /** Leases that run by the mirror; undefined where it was of another height than the chain's list. */
  readonly running: ReadonlySet<string> | undefined;
  /** The hash that the chain has for the manifest of a lease. */
  readonly hashes: ReadonlyMap<string, Uint8Array>;
  /** What caches show; undefined while they say themselves that they may be out of date. */
  readonly caches: Cached | undefined;
  /** The caches found the server at an earlier state than they had seen. */
  readonly isRestored: boolean;
  /** The book, by order. */
  readonly book: ReadonlyMap<string, Booked>;
}

/** Uids by name. */
export interface Cached {
  readonly namespaces: ReadonlyMap<string, string>;
  readonly resources: ReadonlyMap<string, string>;
}

export interface Booked {
  /** By the chain's time; negative before. */
  readonly expiredForMs: number;
  /** A bid of ours or something that we send still stands behind it. */
  readonly isNeeded: boolean;
}
