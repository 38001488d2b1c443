/** The picture that counts, and how old it is: the part of a feed that does not depend on where pictures come from. */
import type { Clock } from "../../../runtime/clock.ts";
import { minute } from "../../../runtime/durations.ts";
import type { Log } from "../../../runtime/log.ts";
import type { ClusterPicture, FeedCounts, InventoryFeed } from "./feed.ts";

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

interface NewestPicture extends Omit<InventoryFeed, "run" | "ask"> {
  readonly counts: FeedCounts;
  show(picture: ClusterPicture): void;
  failed(reason: string): void;
}

export function createNewestPicture(clock: Clock, log: Log, sourceAge: () => SourceAge): NewestPicture {
  const listeners: ((picture: ClusterPicture) => void)[] = [];
  const counts: FeedCounts = { pictures: 0, proofs: 0, reconnects: 0, errors: 0 };
  const startedMs = clock.monotonicMs();
  let picture: ClusterPicture | undefined;
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
    get picture() {
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
    get trouble() {
      return trouble();
    },
    counts,
    get lastError() {
      return lastError;
    },
    onPicture: (listener) => void listeners.push(listener),
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
