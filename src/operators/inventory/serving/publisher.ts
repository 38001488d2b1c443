/** Keeps the newest snapshot and notifies listeners at a bounded rate: a thousand nodes are a megabyte. */
import type { Bus } from "../../../bus/bus.ts";
import type { JsonObject } from "../../../bus/topics.ts";
import { endedBy } from "../../../runtime/ended-by.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";
import { statusEveryMs, throttle } from "../../../runtime/throttle.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import type { Inventory } from "../inventory.ts";
import { createSnapshots, type InventorySnapshot } from "./snapshot.ts";

/** What a client takes unless it is told otherwise; a larger message is an error to it, whatever is in it. */
export const grpcClientBytes = 4 * 1024 * 1024;
/** Listeners are told no more often: with inventoryGatherMs well below 200 ms, and a fifth of a core for 1,000 nodes. */
export const inventoryPublishMs = 100;

interface PublisherDeps extends Pick<OperatorDeps, "clock" | "log"> {
  /** Without one there is no copy for others. */
  readonly bus?: Bus;
  readonly waitingFor: () => string | undefined;
  /** How long ago the cluster was last heard of. A snapshot in which nothing changed is not old. */
  readonly ageMs: () => number;
  /** The same of persistent volumes; by default that of the cluster. */
  readonly volumesAgeMs?: () => number;
}

export type Publisher = ReturnType<typeof createPublisher>;

export function createPublisher({ clock, log, bus, waitingFor, ageMs, volumesAgeMs = ageMs }: PublisherDeps) {
  const snapshotOf = createSnapshots();
  let next = Promise.withResolvers<InventorySnapshot>();
  let newest: InventorySnapshot | undefined;
  let told: InventorySnapshot | undefined;
  let shown = 0;
  let published = 0;
  let large = false;
  const copy = bus && createBusCopy(bus, log);
  const paced = throttle(inventoryPublishMs, clock, () => {
    if (newest) publish(newest);
  });
  // A turn of its own: streams come first, the provider lives by them.
  const pacedCopy = throttle(statusEveryMs, clock, () => {
    if (newest) copy?.publish(newest);
  });

  /** Said once, not at every change. */
  function warnIfLarge(bytes: number): void {
    const isLarge = bytes > grpcClientBytes;
    if (isLarge && !large) {
      log.error("inventory exceeds the default message size of gRPC clients", { bytes, most: grpcClientBytes });
    }
    large = isLarge;
  }

  function publish(snapshot: InventorySnapshot): void {
    pacedCopy.ask();
    const message = snapshot.clusterMessage();
    if (told?.clusterMessage().equals(message)) return;
    told = snapshot;
    warnIfLarge(message.length);
    published += 1;
    next.resolve(snapshot);
    next = Promise.withResolvers();
  }

  return {
    show(inventory: Inventory): void {
      shown += 1;
      newest = snapshotOf(inventory);
      paced.ask();
    },
    /** The newest one; refuses with AKP_INVENTORY_NOT_READY until there is one. */
    picture(): InventorySnapshot {
      if (newest) return newest;
      throw new ProviderError("AKP_INVENTORY_NOT_READY", { what: waitingFor() ?? "its first look at the cluster" });
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
    get told() {
      return told;
    },
    /** The same, as soon as it is another than this one. */
    async next(after: InventorySnapshot | undefined, signal: AbortSignal): Promise<InventorySnapshot> {
      signal.throwIfAborted();
      return told && told !== after ? told : endedBy(next.promise, signal);
    },
    /** Published are changes that listeners were told; fewer than shown, since some come together or change nothing. */
    get counts() {
      return { shown, published, busRefused: copy?.counts.refused ?? 0 };
    },
    close(): void {
      paced.stop();
      pacedCopy.stop();
    },
  };
}

type InventoryTopic = "inventory.cluster" | "inventory.nodes" | "inventory.storage";

/** A copy of the inventory on the bus, for whoever wants to listen. Each topic is told only what is news to it. */
function createBusCopy(bus: Bus, log: Log) {
  const counts = { refused: 0 };
  /** Topics for which the cluster is too large; gRPC and REST still have all of it. */
  const refused = new Set<InventoryTopic>();
  let last: { cluster: Buffer; nodes: readonly string[]; storage: string } | undefined;

  function tell(topic: InventoryTopic, data: JsonObject): void {
    try {
      bus.publish(topic, data);
      refused.delete(topic);
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_BUS_MESSAGE_TOO_LARGE")) throw thrown;
      counts.refused += 1;
      if (!refused.has(topic)) log.error("inventory message too large for the bus", { error: thrown });
      refused.add(topic);
    }
  }

  return {
    publish(snapshot: InventorySnapshot): void {
      const next = {
        cluster: snapshot.clusterMessage(),
        nodes: snapshot.nodeTexts(),
        storage: snapshot.storageText(),
      };
      if (!last?.cluster.equals(next.cluster)) tell("inventory.cluster", snapshot.clusterJson());
      if (!sameTexts(last?.nodes, next.nodes)) tell("inventory.nodes", snapshot.nodesJson());
      if (last?.storage !== next.storage) tell("inventory.storage", snapshot.storageJson());
      last = next;
    },
    counts,
  };
}

function sameTexts(before: readonly string[] | undefined, now: readonly string[]): boolean {
  return before?.length === now.length && before.every((text, index) => text === now[index]);
}
