/**
 * Before the first transaction of a run: a bid that was to be closed when the last run ended may have been won since, and
 * to close it now would end its lease. Nobody looks at orders as early as the outbox sends.
 */
import type { Chain } from "../chain/chain.ts";
import { packedMessageOf } from "../chain/outbox/intent.ts";
import { unpackMessage } from "../chain/tx/messages.ts";
import type { Journal } from "../journal/journal.ts";
import { bidOn, parseOrderId } from "../market/ids.ts";
import { unspecified } from "./bid-message.ts";

type Deps = Pick<Chain, "mirror" | "provider" | "outbox">;

export async function spareWonBids({ mirror, provider, outbox }: Deps, { read }: Pick<Journal, "read">): Promise<void> {
  for (const intent of read.intents.unsettled(read.intents.owed())) {
    if (intent.what !== "closeBid") continue;
    // With a reason it is meant to end a lease.
    if (unpackMessage("closeBid", packedMessageOf(intent)).reason !== unspecified) continue;
    const bid = mirror.bid(bidOn(parseOrderId(intent.subject), provider));
    if (bid?.state === "active") await outbox.cancel(intent.id, "the bid was won");
  }
}
