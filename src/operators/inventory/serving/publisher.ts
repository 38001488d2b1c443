/** Keeps the newest snapshot and notifies listeners at a bounded rate: a thousand nodes are a megabyte. */
import type { Bus } from "../../../bus/bus.ts";
import type { JsonObject } from "../../../bus/topics.ts";
import { endedBy } from "../../../runtime/ended-by.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { changedStatuses, throttle } from "../../../runtime/throttle.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import type { Inventory } from "../inventory.ts";
import { createSnapshots, type InventorySnapshot } from "./snapshot.ts";

/** Default message size limit of gRPC clients. */
export const grpcClientBytes = 4 * 1024 * 1024;
/** With inventoryGatherMs well below 200 ms, and a fifth of a core for 1,000 nodes. */
export const inventoryPublishMs = 100;

interface PublisherDeps extends Pick<OperatorDeps, "clock" | "log"> {
  readonly bus?: Bus;
  readonly waitingFor: () => string | undefined;
  /** Time since the cluster was last heard of: an unchanged snapshot is not old. */
  readonly ageMs: () => number;
  /** The same of persistent volumes; by default that of the cluster. */
  readonly volumesAgeMs?: () => number;
}

export type Publisher = ReturnType<typeof createPublisher>;

export function createPublisher({ clock, log, bus, waitingFor, ageMs, volumesAgeMs = ageMs }: PublisherDeps) {
  const snapshotOf = createSnapshots();
  let next = Promise.withResolvers<InventorySnapshot>();
  let newest: InventorySnapshot | undefined;
  let published: InventorySnapshot | undefined;
  let count = 0;
  let isLarge = false;
  const publishing = throttle(inventoryPublishMs, clock, () => {
    if (newest) publish(newest);
  });
  // Slower than streams, on which the provider depends.
  const copying = changedStatuses(clock, () => (bus && newest ? newest.topics() : {}), publishCopy, ["at"]);

  function publishCopy(topic: keyof ReturnType<InventorySnapshot["topics"]>, data: object): void {
    try {
      bus?.publish(topic, data as JsonObject);
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_BUS_MESSAGE_TOO_LARGE")) throw thrown;
      log.error("inventory message too large for the bus", { error: thrown });
    }
  }

  function publish(snapshot: InventorySnapshot): void {
    copying.ask();
    const message = snapshot.clusterMessage();
    if (published?.clusterMessage().equals(message)) return;
    published = snapshot;
    const bytes = message.length;
    const wasLarge = isLarge;
    isLarge = bytes > grpcClientBytes;
    if (isLarge && !wasLarge)
      log.error("inventory exceeds the default message size of gRPC clients", { bytes, most: grpcClientBytes });
    count += 1;
    next.resolve(snapshot);
    next = Promise.withResolvers();
  }

  return {
    show(inventory: Inventory): void {
      newest = snapshotOf(inventory);
      publishing.ask();
    },
    /** Throws AKP_INVENTORY_NOT_READY until there is one. */
    snapshot(): InventorySnapshot {
      if (newest) return newest;
      throw new ProviderError("AKP_INVENTORY_NOT_READY", { what: waitingFor() ?? "its first read of the cluster" });
    },
    get ready() {
      return newest !== undefined;
    },
    get ageMs() {
      return Math.round(ageMs());
    },
    get volumesAgeMs() {
      return Math.round(volumesAgeMs());
    },
    /** The one that streams have. */
    get published() {
      return published;
    },
    /** Resolves with the first published snapshot that is not this one. */
    async next(after: InventorySnapshot | undefined, signal: AbortSignal): Promise<InventorySnapshot> {
      signal.throwIfAborted();
      return published && published !== after ? published : endedBy(next.promise, signal);
    },
    get publishedCount() {
      return count;
    },
    close(): void {
      publishing.stop();
      copying.stop();
    },
  };
}
