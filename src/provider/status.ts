/** What the provider can tell about itself at any moment, from what it holds already: asking never waits. */
import type { ServiceStatus } from "../runtime/lifecycle.ts";
import type { QueueCounts } from "../runtime/queue.ts";

export interface ProviderStatus {
  readonly nowMs: number;
  readonly upMs: number;
  readonly services: readonly (ServiceStatus & { readonly detail: string })[];
  readonly queues: readonly { readonly name: string; readonly counts: QueueCounts }[];
  readonly topics: readonly TopicStatus[];
  readonly stories: readonly StoryStatus[];
  readonly storiesComplete: number;
}

export interface TopicStatus {
  readonly topic: string;
  readonly published: number;
  readonly delivered: number;
  readonly dropped: number;
  readonly retained: string;
}

/** One made-up order on its way, with the stations it has passed and when. */
export interface StoryStatus {
  readonly order: string;
  readonly stations: readonly { readonly name: string; readonly atMs: number }[];
  readonly complete: boolean;
}
