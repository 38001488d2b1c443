/** Inventory snapshots of the cluster, whichever inventory operator they come from. */

import type { Clock } from "../../../runtime/clock.ts";
import type { Condition } from "../../../runtime/condition.ts";
import { minute } from "../../../runtime/durations.ts";
import type { Log } from "../../../runtime/log.ts";
import type { Metrics } from "../../../runtime/metrics.ts";
import { type ClusterRoom, endless, type GpuCount, type NodeRoom, unknownGpus } from "../placement/room.ts";

export interface InventoryFeed extends Omit<ReturnType<typeof createNewestSnapshot>, "show" | "failed"> {
  /** Requests the newest snapshot, which may look the same but be newer. */
  ask(): void;
  /** The source may have changed: polls it unless it was heard just now, and reconnects without a pause. */
  wake(): void;
  /** Follows the source until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

/** What is for sale at one moment, in whole numbers. */
export interface ClusterSnapshot {
  /** By name. */
  readonly nodes: readonly SnapshotNode[];
  /** By class. */
  readonly storage: readonly SnapshotStorageClass[];
  /**
   * Every pod change up to this version of the API server is in it: a pod bound by then is counted. Undefined where the
   * operator does not report it, as the network's.
   */
  readonly podsVersion: string | undefined;
  /** The same of persistent volumes: a volume whose claim was bound by then is counted. */
  readonly volumesVersion?: string | undefined;
  /** The storage class that volumes of the class "default" get; undefined where the operator does not report it. */
  readonly defaultClass?: string | undefined;
  /** The same as akash.inventory.v1.Cluster, with details such as CPU models. */
  network?(): Uint8Array;
  /** When it arrived, by the monotonic clock. */
  readonly cameAtMs: number;
  /** Invalid entries that were left out. */
  readonly conditions: readonly Condition[];
}

export interface SnapshotNode {
  readonly name: string;
  readonly cpuMilli: Amount;
  readonly memoryBytes: Amount;
  readonly ephemeralBytes: Amount;
  readonly gpus: Amount;
  /** GPUs with a name in the market, allocated or not. */
  readonly gpuCounts: readonly GpuCount[];
  /** Volumes attached to it. */
  readonly volumes: Amount;
  readonly storageClasses: readonly string[];
}

export interface SnapshotStorageClass {
  readonly class: string;
  readonly bytes: Amount;
}

export interface Amount {
  readonly allocatable: bigint | "unlimited";
  /** May exceed what is allocatable where the cluster really is overbooked. */
  readonly allocated: bigint;
}

/** A stream is silent while nothing changes, so the source is polled this often. */
export const feedProofMs = minute;
/** An older snapshot promises nothing: two polls have failed. */
export const feedOldMs = 2 * minute;

/** The source of snapshots. */
interface SourceAge {
  /** Since it was last heard of. */
  readonly silentMs: number;
  /** Since it had heard of the cluster itself, by then. */
  readonly ownAgeMs: number;
  /** The same of persistent volumes; by default that of the cluster. */
  readonly volumesAgeMs?: number;
}

/** The newest snapshot and its age: the part of a feed that does not depend on the source. */
export function createNewestSnapshot(clock: Clock, log: Log, sourceAge: () => SourceAge) {
  const listeners: ((snapshot: ClusterSnapshot) => void)[] = [];
  /** Proofs: polls of a silent source that were answered. Reconnects: connections after the first. */
  const counts = { snapshots: 0, proofs: 0, reconnects: 0, errors: 0 };
  const startedMs = clock.monotonicMs();
  let newest: ClusterSnapshot | undefined;
  let lastError: string | undefined;

  return {
    /** Whatever happens to its source; undefined until the first one. */
    get snapshot() {
      return newest;
    },
    /** Since the cluster was last known to look like this. A snapshot in which nothing changed is not old. */
    get ageMs(): number | undefined {
      const { silentMs, ownAgeMs } = sourceAge();
      return newest && silentMs + ownAgeMs;
    },
    /** The same of its persistent volumes. */
    get volumesAgeMs(): number | undefined {
      const { silentMs, ownAgeMs, volumesAgeMs = ownAgeMs } = sourceAge();
      return newest && silentMs + volumesAgeMs;
    },
    /** Why nothing may be promised by it: there is none yet, or it is too old. */
    get error(): string | undefined {
      const because = lastError === undefined ? "" : `: ${lastError}`;
      if (!newest) return `no inventory snapshot has come for ${seconds(clock.monotonicMs() - startedMs)}${because}`;
      const { silentMs, ownAgeMs } = sourceAge();
      if (silentMs + ownAgeMs <= feedOldMs) return undefined;
      return silentMs >= ownAgeMs
        ? `the inventory has been silent for ${seconds(silentMs)}${because}`
        : `the inventory operator has not heard of the cluster for ${seconds(silentMs + ownAgeMs)}${because}`;
    },
    counts,
    /** Of the source, since it last worked. */
    get lastError() {
      return lastError;
    },
    /** Notified when the snapshot is already the newest. */
    onSnapshot: (listener: (snapshot: ClusterSnapshot) => void) => void listeners.push(listener),
    show(snapshot: ClusterSnapshot): void {
      counts.snapshots += 1;
      newest = snapshot;
      if (lastError !== undefined) log.info("inventory feed resumed");
      lastError = undefined;
      for (const listener of listeners) listener(snapshot);
    },
    failed(reason: string): void {
      counts.errors += 1;
      if (lastError !== reason) log.info("inventory feed interrupted", { reason });
      lastError = reason;
    },
  };
}

function seconds(ms: number): string {
  return `${Math.floor(ms / 1_000)} s`;
}

const name = "akash_provider_inventory_feed";

export function measureFeed(metrics: Metrics, feed: Pick<InventoryFeed, "ageMs" | "error" | "counts" | "snapshot">) {
  metrics.readEach("gauge", name, [
    ["age_seconds", "Age of the inventory", () => (feed.ageMs === undefined ? [] : feed.ageMs / 1_000)],
    ["usable", "1 while bids may rely on the inventory", () => (feed.error === undefined ? 1 : 0)],
    ["conditions", "Invalid nodes and storage classes that were left out", () => feed.snapshot?.conditions.length ?? 0],
  ]);
  metrics.readEach("counter", name, [
    ["pictures", "Inventories received", () => feed.counts.snapshots],
    ["proofs", "Polls of a silent inventory operator that were answered", () => feed.counts.proofs],
    ["reconnects", "Connections to the inventory operator after the first", () => feed.counts.reconnects],
    ["errors", "Failures of the inventory operator or its connection", () => feed.counts.errors],
  ]);
}

/** What a snapshot has free, for placement. */
export function roomOf({ nodes, storage, defaultClass }: ClusterSnapshot): ClusterRoom {
  const classes = new Map(storage.map(({ class: name, bytes }) => [name, limited(bytes)]));
  return { nodes: nodes.map(nodeRoom), classes, defaultClass };
}

function nodeRoom(node: SnapshotNode): NodeRoom {
  const { name, gpuCounts, gpus, storageClasses } = node;
  const listed = gpuCounts.reduce((sum, { count }) => sum + count, 0n);
  const allocatable = gpus.allocatable === "unlimited" ? listed : gpus.allocatable;
  return {
    name,
    cpuMilli: free(node.cpuMilli),
    memoryBytes: free(node.memoryBytes),
    ephemeralBytes: free(node.ephemeralBytes),
    gpus: free(gpus),
    gpuCounts,
    unknownGpus: unknownGpus(listed, allocatable, allocatable - gpus.allocated),
    volumes: limited(node.volumes),
    storageClasses,
  };
}

function free(amount: Amount): bigint {
  return limited(amount) ?? endless;
}

function limited({ allocatable, allocated }: Amount): bigint | undefined {
  return allocatable === "unlimited" ? undefined : allocatable - allocated;
}
