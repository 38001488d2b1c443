/** What the provider is told of the cluster by the inventory operator, whichever operator that is and wherever it runs. */
import type { Condition } from "../../../runtime/condition.ts";
import type { CardCount } from "../placement/cards.ts";

export interface InventoryFeed {
  /** The newest one, whatever happens to its source; undefined until one has come. */
  readonly picture: ClusterPicture | undefined;
  /** How long ago the cluster was last known to look like this. A picture in which nothing changed is not old. */
  readonly ageMs: number | undefined;
  /** The same of its persistent volumes. */
  readonly volumesAgeMs: number | undefined;
  /** Why nothing may be promised by it: there is none yet, it is too old. In words for people. */
  readonly trouble: string | undefined;
  readonly counts: Readonly<FeedCounts>;
  /** Of the source, since it was last well. */
  readonly lastError: string | undefined;
  /** Told of each new picture, when it is already the newest. */
  onPicture(listener: (picture: ClusterPicture) => void): void;
  /** Somebody waits for what only a newer picture tells, which may look the same: the source is asked for its newest. */
  ask(): void;
  /** Follows the source until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export interface FeedCounts {
  pictures: number;
  /** Times that a silent source was asked and answered. */
  proofs: number;
  /** Connections after the first. */
  reconnects: number;
  errors: number;
}

/** What is for sale, as one moment had it, in whole numbers. */
export interface ClusterPicture {
  /** By name. */
  readonly nodes: readonly PictureNode[];
  /** By class. */
  readonly storage: readonly PictureClass[];
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

export interface PictureNode {
  readonly name: string;
  readonly cpuMilli: Amount;
  readonly memoryBytes: Amount;
  readonly ephemeralBytes: Amount;
  readonly gpus: Amount;
  /** Those that have a name in the market, taken or not. */
  readonly cards: readonly CardCount[];
  /** Volumes attached to it; of which it takes any number where none is told. */
  readonly volumes: Amount;
  readonly storageClasses: readonly string[];
}

export interface PictureClass {
  readonly class: string;
  readonly bytes: Amount;
}

export interface Amount {
  readonly allocatable: bigint | "unlimited";
  /** May exceed what is allocatable where the cluster really is overbooked. */
  readonly allocated: bigint;
}
