/**
 * Before the first transaction of a run: a bid that was to be closed when the last run ended may have been won since, and
 * to close it now would end its lease. Nobody looks at orders as early as the outbox sends.
 */
import type { Chain } from "../chain/chain.ts";
import type { Journal } from "../journal/journal.ts";
import { bidOn, isOrderKey, parseOrderId } from "../market/ids.ts";

type Deps = Pick<Chain, "mirror" | "provider" | "outbox">;

export async function spareWonBids({ mirror, provider, outbox }: Deps, { read }: Pick<Journal, "read">): Promise<void> {
  for (const intent of read.intents.unsettled(read.intents.owed())) {
    // What is about a lease is meant to end it.
    if (intent.what !== "closeBid" || !isOrderKey(intent.subject)) continue;
    const bid = mirror.bid(bidOn(parseOrderId(intent.subject), provider));
    if (bid?.state === "active") await outbox.cancel(intent.id, "the bid was won");
  }
}
