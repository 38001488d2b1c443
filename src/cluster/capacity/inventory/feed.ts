/** What the provider is told of the cluster by the inventory operator, whichever operator that is and wherever it runs. */

import type { Clock } from "../../../runtime/clock.ts";
import type { Condition } from "../../../runtime/condition.ts";
import { minute } from "../../../runtime/durations.ts";
import type { Log } from "../../../runtime/log.ts";
import type { Metrics } from "../../../runtime/metrics.ts";
import { type ClusterRoom, endless, type GpuCount, type NodeRoom, unknownCards } from "../placement/room.ts";

export interface InventoryFeed {
  /** The newest one, whatever happens to its source; undefined until one has come. */
  readonly snapshot: ClusterSnapshot | undefined;
  /** How long ago the cluster was last known to look like this. A picture in which nothing changed is not old. */
  readonly ageMs: number | undefined;
  /** The same of its persistent volumes. */
  readonly volumesAgeMs: number | undefined;
  /** Why nothing may be promised by it: there is none yet, it is too old. In words for people. */
  readonly error: string | undefined;
  readonly counts: Readonly<FeedCounts>;
  /** Of the source, since it was last well. */
  readonly lastError: string | undefined;
  /** Told of each new picture, when it is already the newest. */
  onSnapshot(listener: (picture: ClusterSnapshot) => void): void;
  /** Somebody waits for what only a newer picture tells, which may look the same: the source is asked for its newest. */
  ask(): void;
  /** The source may have changed: it is asked unless it was heard just now, and reconnected to without a pause. */
  wake(): void;
  /** Follows the source until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

interface FeedCounts {
  pictures: number;
  /** Times that a silent source was asked and answered. */
  proofs: number;
  /** Connections after the first. */
  reconnects: number;
  errors: number;
}

/** What is for sale, as one moment had it, in whole numbers. */
export interface ClusterSnapshot {
  /** By name. */
  readonly nodes: readonly SnapshotNode[];
  /** By class. */
  readonly storage: readonly SnapshotStorageClass[];
  /**
   * Every pod's change up to this version of the API server is in it: a pod bound by then is counted. Undefined where the
   * operator does not tell, as the network's does not.
   */
  readonly podsVersion: string | undefined;
  /** The same of persistent volumes: a volume whose claim was bound by then is counted. */
  readonly volumesVersion?: string | undefined;
  /** The storage class that volumes of the class "default" get; undefined where the operator does not tell. */
  readonly defaultClass?: string | undefined;
  /** The same in the words of who told it: akash.inventory.v1.Cluster. They say more, as which processors there are. */
  network?(): Uint8Array;
  /** When it came, by the clock that only grows. */
  readonly cameAtMs: number;
  /** What was left out of it, because it made no sense. */
  readonly conditions: readonly Condition[];
}

export interface SnapshotNode {
  readonly name: string;
  readonly cpuMilli: Amount;
  readonly memoryBytes: Amount;
  readonly ephemeralBytes: Amount;
  readonly gpus: Amount;
  /** Those that have a name in the market, taken or not. */
  readonly cards: readonly GpuCount[];
  /** Volumes attached to it; of which it takes any number where none is told. */
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

/** What was last known to be so longer ago promises nothing: two proofs have failed. */
export const feedOldMs = 2 * minute;

/** How the source of pictures is doing. */
interface SourceAge {
  /** How long ago it was heard of. */
  readonly silentMs: number;
  /** How long ago it had heard of the cluster itself, by then. */
  readonly ownAgeMs: number;
  /** The same of persistent volumes; by default that of the cluster. */
  readonly volumesAgeMs?: number;
}

interface NewestPicture extends Omit<InventoryFeed, "run" | "ask" | "wake"> {
  readonly counts: FeedCounts;
  show(picture: ClusterSnapshot): void;
  failed(reason: string): void;
}

/** The newest picture and how old it is: the part of a feed that does not depend on where pictures come from. */
export function createNewestSnapshot(clock: Clock, log: Log, sourceAge: () => SourceAge): NewestPicture {
  const listeners: ((picture: ClusterSnapshot) => void)[] = [];
  const counts: FeedCounts = { pictures: 0, proofs: 0, reconnects: 0, errors: 0 };
  const startedMs = clock.monotonicMs();
  let picture: ClusterSnapshot | undefined;
  let lastError: string | undefined;

  function well(): void {
    if (lastError !== undefined) log.info("inventory feed resumed");
    lastError = undefined;
  }

  /** Undefined while something may be promised. */
  function trouble(): string | undefined {
    const because = lastError === undefined ? "" : `: ${lastError}`;
    if (!picture) {
      const waitedMs = clock.monotonicMs() - startedMs;
      return `no picture of the cluster has come for ${seconds(waitedMs)}${because}`;
    }
    const { silentMs, ownAgeMs } = sourceAge();
    if (silentMs + ownAgeMs <= feedOldMs) return undefined;
    return silentMs >= ownAgeMs
      ? `the inventory has been silent for ${seconds(silentMs)}${because}`
      : `the inventory operator has not heard of the cluster for ${seconds(silentMs + ownAgeMs)}${because}`;
  }

  return {
    get snapshot() {
      return picture;
    },
    get ageMs() {
      const { silentMs, ownAgeMs } = sourceAge();
      return picture && silentMs + ownAgeMs;
    },
    get volumesAgeMs() {
      const { silentMs, ownAgeMs, volumesAgeMs = ownAgeMs } = sourceAge();
      return picture && silentMs + volumesAgeMs;
    },
    get error() {
      return trouble();
    },
    counts,
    get lastError() {
      return lastError;
    },
    onSnapshot: (listener) => void listeners.push(listener),
    show(shown) {
      counts.pictures += 1;
      picture = shown;
      well();
      for (const listener of listeners) listener(shown);
    },
    failed(reason) {
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

export function measureFeed(
  metrics: Metrics,
  feed: Pick<InventoryFeed, "ageMs" | "error" | "counts" | "snapshot">,
): void {
  metrics.readEach("gauge", name, [
    ["age_seconds", "Age of the inventory", () => (feed.ageMs === undefined ? [] : feed.ageMs / 1_000)],
    ["usable", "1 while bids may rely on the inventory", () => (feed.error === undefined ? 1 : 0)],
    ["conditions", "Nodes and storage classes left out as nonsense", () => feed.snapshot?.conditions.length ?? 0],
  ]);
  metrics.readEach("counter", name, [
    ["pictures", "Inventories received", () => feed.counts.pictures],
    ["proofs", "Answers of a silent inventory operator that was asked", () => feed.counts.proofs],
    ["reconnects", "Connections to the inventory operator after the first", () => feed.counts.reconnects],
    ["errors", "Failures of the inventory operator or its connection", () => feed.counts.errors],
  ]);
}

/** Nodes stay the same objects from picture to picture while nothing happens to them. */
const rooms = new WeakMap<SnapshotNode, NodeRoom>();

/** What a picture has free, for placement. */
export function roomOf({ nodes, storage, defaultClass }: ClusterSnapshot): ClusterRoom {
  return {
    nodes: nodes.map((node) => {
      const room = rooms.get(node) ?? nodeRoom(node);
      rooms.set(node, room);
      return room;
    }),
    classes: new Map(storage.map(({ class: name, bytes }) => [name, limited(bytes)])),
    defaultClass,
  };
}

function nodeRoom(node: SnapshotNode): NodeRoom {
  const { name, cards, gpus, storageClasses } = node;
  const listed = cards.reduce((sum, { count }) => sum + count, 0n);
  const allocatable = gpus.allocatable === "unlimited" ? listed : gpus.allocatable;
  return {
    name,
    cpuMilli: free(node.cpuMilli),
    memoryBytes: free(node.memoryBytes),
    ephemeralBytes: free(node.ephemeralBytes),
    gpus: free(gpus),
    gpuCounts: cards,
    unknownGpus: unknownCards(listed, allocatable, allocatable - gpus.allocated),
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
