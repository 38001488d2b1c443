/** Bids of our account that this provider did not send: another one runs with the same key. Only a bid is never sent by hand. */

import type { Intents } from "../journal/intents.ts";
import type { Address } from "../market/address.ts";
import { formatBidId } from "../market/ids.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { Step } from "./chain.ts";

/** How long the last one is reported: two providers rarely bid less than once an hour. */
const reportedMs = 3_600_000;

export type ForeignBids = ReturnType<typeof createForeignBids>;

export function createForeignBids(provider: Address, intents: Pick<Intents, "byTxHash">, clock: Clock, log: Log) {
  let last: { readonly message: string; readonly atMs: number } | undefined;

  return {
    onStep({ block }: Pick<Step, "block">): void {
      for (const { event, source } of block?.events ?? []) {
        if (event.kind !== "BidCreated" || event.id.provider !== provider || typeof source !== "number") continue;
        const hash = block?.txs[source]?.hash;
        if (hash === undefined || intents.byTxHash(hash).length > 0) continue;
        const bid = formatBidId(event.id);
        log.error("bid of our key was not sent by this provider", { bid, hash });
        const message = `another provider uses our key: its transaction ${hash} made the bid ${bid}`;
        last = { message, atMs: clock.monotonicMs() };
      }
    },
    get message(): string | undefined {
      return last && clock.monotonicMs() - last.atMs < reportedMs ? last.message : undefined;
    },
  };
}
