/** A copy of the inventory on the bus, for whoever wants to listen. Each topic is told only what is news to it. */
import type { Bus } from "../../../bus/bus.ts";
import type { JsonObject } from "../../../bus/topics.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";
import type { Picture } from "./picture.ts";

type InventoryTopic = "inventory.cluster" | "inventory.nodes" | "inventory.storage";

export interface BusCopy {
  publish(picture: Picture): void;
  readonly counts: { readonly published: number; readonly refused: number };
}

export function createBusCopy(bus: Bus, log: Log): BusCopy {
  const counts = { published: 0, refused: 0 };
  /** Topics for which the cluster is too large; gRPC and REST still have all of it. */
  const refused = new Set<InventoryTopic>();
  let last: { cluster: Buffer; nodes: readonly string[]; storage: string } | undefined;

  function tell(topic: InventoryTopic, data: JsonObject): void {
    try {
      bus.publish(topic, data, { retain: true });
      counts.published += 1;
      refused.delete(topic);
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_BUS_MESSAGE_TOO_LARGE")) throw thrown;
      counts.refused += 1;
      // Said once, not at every change.
      if (!refused.has(topic)) log.error("inventory message too large for the bus", { error: thrown });
      refused.add(topic);
    }
  }

  return {
    publish(picture) {
      const next = {
        cluster: picture.clusterMessage(),
        nodes: picture.nodeTexts(),
        storage: picture.storageText(),
      };
      if (!last?.cluster.equals(next.cluster)) tell("inventory.cluster", picture.clusterJson());
      if (!sameTexts(last?.nodes, next.nodes)) tell("inventory.nodes", picture.nodesJson());
      if (last?.storage !== next.storage) tell("inventory.storage", picture.storageJson());
      last = next;
    },
    counts,
  };
}

function sameTexts(before: readonly string[] | undefined, now: readonly string[]): boolean {
  return before?.length === now.length && before.every((text, index) => text === now[index]);
}
