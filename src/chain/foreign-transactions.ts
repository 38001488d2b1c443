/**
 * Transactions of our account that this provider did not send: another one uses the key. Those that people send with other
 * tools, such as coins, are left out.
 */
import type { Address } from "../market/address.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { BlockTx } from "./block.ts";
import type { Step } from "./chain.ts";
import type { AbciEvent } from "./comet/events.ts";
import { attribute } from "./outbox/settlement.ts";

/** How long the last one is reported: two providers rarely send less than once an hour. */
const reportedMs = 3_600_000;

const working = /^\/akash\.market\.\w+\.(MsgCreateBid|MsgCloseBid|MsgWithdrawLease|MsgLeaseStartReclaim)$/;

export type ForeignTransactions = ReturnType<typeof createForeignTransactions>;

/** `startedNs` is the time of the newest block at our start. */
export function createForeignTransactions(
  provider: Address,
  isOurs: (hash: string) => boolean,
  startedNs: bigint,
  clock: Pick<Clock, "monotonicMs">,
  log: Log,
) {
  let last: { readonly message: string; readonly atMs: number } | undefined;

  /** What a transaction of our account was, if a provider may have sent it. */
  function sentAs({ code, events }: BlockTx, blockNs: bigint): string | undefined {
    // One of our own that failed is forgotten in a crash, after which its block may come once more.
    if (code !== 0) return blockNs > startedNs && isPaidBy(events, provider) ? "one that failed" : undefined;
    for (const event of events) {
      const [, message] = working.exec(attribute(event, "action") ?? "") ?? [];
      if (event.type === "message" && message && attribute(event, "sender") === provider) return message;
    }
    return undefined;
  }

  return {
    onStep({ block }: Pick<Step, "block">): void {
      for (const tx of block?.txs ?? []) {
        const what = sentAs(tx, block?.timeNs ?? 0n);
        if (what === undefined || isOurs(tx.hash)) continue;
        log.error("transaction of our key was not sent by this provider", { hash: tx.hash, what });
        const message = `transaction ${tx.hash} of our key (${what}) was not sent by this provider; unless a person sent it, another provider uses the key`;
        last = { message, atMs: clock.monotonicMs() };
      }
    },
    get message(): string | undefined {
      return last && clock.monotonicMs() - last.atMs < reportedMs ? last.message : undefined;
    },
  };
}

function isPaidBy(events: readonly AbciEvent[], account: Address): boolean {
  return events.some((event) => event.type === "tx" && attribute(event, "fee_payer") === account);
}
