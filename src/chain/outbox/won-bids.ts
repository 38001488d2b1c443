/**
 * A bid may be won between the filing of its close and the next broadcast: during an outage, or while the process is down.
 * MsgCloseBid would then end its lease.
 */
import type { Intent } from "../../journal/intents.ts";
import { bidOn, isOrderKey, parseOrderId } from "../../market/ids.ts";
import type { Chain } from "../chain.ts";
import type { Pool } from "../comet/pool.ts";

/** "unknown" while the mirror is behind what the node in use reports. */
export type BidToClose = "open" | "won" | "unknown";

export function createWonBids({ mirror, provider }: Pick<Chain, "mirror" | "provider">, pool: Pool) {
  return ({ what, subject }: Pick<Intent, "what" | "subject">): BidToClose => {
    if (what !== "closeBid") return "open";
    const reported = pool.nodes.find(({ name }) => name === pool.preferred.name)?.height ?? 0n;
    if (!mirror.ready || reported > mirror.height) return "unknown";
    // What is about a lease is meant to end it.
    if (!isOrderKey(subject)) return "open";
    return mirror.bid(bidOn(parseOrderId(subject), provider))?.state === "active" ? "won" : "open";
  };
}
