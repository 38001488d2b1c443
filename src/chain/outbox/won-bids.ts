/** A bid may be won between the filing of its close and the broadcast; MsgCloseBid would then end its lease. */
import type { Intent } from "../../journal/intents.ts";
import { bidOn, isOrderKey, parseOrderId } from "../../market/ids.ts";
import { inParallel } from "../../runtime/in-parallel.ts";
import type { Chain } from "../chain.ts";
import type { Pool } from "../comet/pool.ts";
import { outboxAtOnce } from "../tx/broadcaster.ts";

type Closing = Pick<Intent, "what" | "subject">;

export interface WonBids {
  /** By what was followed and reported so far; unknown while the mirror is behind the head that nodes agree on. */
  judge(intent: Closing): "open" | "won" | "unknown";
  /** Whether none of these would end a lease: queries the chain too, since the nodes' last reports may lack the newest block. */
  mayLeave(intents: readonly Closing[]): Promise<boolean>;
}

/** For an outbox without a mirror: every intent may leave. */
export const anyBids: WonBids = { judge: () => "open", mayLeave: async () => true };

export function createWonBids(
  { mirror, queries, provider }: Pick<Chain, "mirror" | "queries" | "provider">,
  pool: Pick<Pool, "agreed" | "probe">,
  signal?: AbortSignal,
): WonBids {
  // What is about a lease is meant to end it.
  const closesBid = ({ what, subject }: Closing) => what === "closeBid" && isOrderKey(subject);
  const bidOf = ({ subject }: Closing) => bidOn(parseOrderId(subject), provider);

  function judge(intent: Closing) {
    if (!closesBid(intent)) return "open";
    const head = pool.agreed?.height;
    if (!mirror.ready || head === undefined || head > mirror.height) return "unknown";
    return mirror.bid(bidOf(intent))?.state === "active" ? "won" : "open";
  }

  return {
    judge,
    async mayLeave(intents) {
      const closes = intents.filter(closesBid);
      if (closes.length === 0) return true;
      if (closes.some((intent) => judge(intent) !== "open")) return false;
      await pool.probe({ signal });
      const atOrAbove = pool.agreed?.height;
      if (atOrAbove === undefined) return false;
      const bids = await inParallel(closes, outboxAtOnce, (intent) =>
        queries.bid(bidOf(intent), { atOrAbove, signal }),
      );
      return bids.every(({ value }) => value?.state !== "active");
    },
  };
}
