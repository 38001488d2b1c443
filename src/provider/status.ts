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
