/** What the provider can tell about itself at any moment, from what it holds already: asking never waits. */
import type { ServiceStatus } from "../runtime/lifecycle.ts";
import type { QueueCounts } from "../runtime/queue.ts";

export interface ProviderStatus {
  readonly nowMs: number;
  readonly upMs: number;
  readonly services: readonly (ServiceStatus & { readonly detail: string })[];
  readonly queues: readonly { readonly name: string; readonly counts: QueueCounts }[];
  readonly topics: readonly TopicStatus[];
  readonly chain?: ChainView;
  readonly cluster?: ClusterView;
}

/** The nodes as the inventory has them. */
export interface ClusterView {
  readonly nodes: readonly NodeView[];
  /** Why there is nothing to show yet, or what may be wrong with it. */
  readonly trouble: string | undefined;
}

export interface NodeView {
  readonly name: string;
  /** "offered", or why not. */
  readonly state: string;
  readonly cpu: Share;
  readonly memory: Share;
  readonly gpu: Share;
  /** "8 × h100", where its cards are known. */
  readonly cards: string;
}

/** What is taken of what there is, each in words: "3.5" of "64", "12Gi" of "256Gi". */
export interface Share {
  readonly allocated: string;
  readonly allocatable: string;
}

export interface ChainView {
  readonly chainId: string;
  /** The last block worked through, and the newest one that a node told of. */
  readonly height: bigint;
  readonly head: bigint | undefined;
  readonly orders: number;
  readonly bids: number;
  readonly leases: number;
  /** Transactions of ours: intents not settled yet, landed, failed. */
  readonly owed: number;
  readonly landed: number;
  readonly failed: number;
  readonly trouble: string | undefined;
  /** What happened last on the market, oldest first. */
  readonly events: readonly string[];
}

export interface TopicStatus {
  readonly topic: string;
  readonly published: number;
  readonly delivered: number;
  readonly dropped: number;
  readonly retained: string;
}

/** A deployment of the demo on its way, with the stations it has passed and when. */
export interface StoryStatus {
  readonly deployment: string;
  readonly stations: readonly { readonly name: string; readonly atMs: number }[];
  readonly complete: boolean;
}
