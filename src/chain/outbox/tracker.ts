/** Learns the result of each transaction: from followed blocks, or from nodes where blocks were lost or are late. */
import { sleep } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Step } from "../chain.ts";
import {
  causeOf,
  eachApart,
  fateOf,
  type Head,
  type Included,
  includedAt,
  type SenderAccount,
} from "../tx/broadcaster.ts";
import { logError } from "./obstacles.ts";
import { nextAction, type PendingTx } from "./pending-txs.ts";
import type { Sender, SenderDeps } from "./sender.ts";

/** Lag of the follower, in blocks, above which nodes are queried for transactions: a block or two is usual. */
export const outboxFollowBlocks = 3;
/** First pause when no node answers; it doubles up to outboxPollMs. */
export const outboxSilenceFirstMs = 250;

export function createTracker(deps: SenderDeps & { readonly sender: Sender }) {
  const { signer, chain, clock, log, pendingTxs, sender, settlement, stall, walletGuard } = deps;
  let loggedUnproven: unknown;
  let heldUp: string | undefined;

  async function followNow({ block, gap }: Pick<Step, "block" | "gap">): Promise<void> {
    if (gap) await pendingTxs.lose(gap.to);
    if (!block) return;
    const { height, timeNs, txs } = block;
    // Blocks that were not handed over are lost as well.
    if (pendingTxs.followed === undefined || height > pendingTxs.followed + 1n) await pendingTxs.lose(height - 1n);
    for (const tx of pendingTxs.size > 0 ? txs : []) {
      const pendingTx = pendingTxs.get(tx.hash);
      if (pendingTx) await land(pendingTx, includedAt(height, tx), timeNs);
    }
    pendingTxs.follow(height);
  }

  async function land(pendingTx: PendingTx, included: Included, blockNs: bigint): Promise<void> {
    if (fateOf(included).kind === "undecided") return;
    await settlement.included(pendingTx, included, blockNs);
    pendingTxs.remove(pendingTx);
    stall.landed();
    const { code, log: reason } = included;
    if (code !== 0 && pendingTx.costly && causeOf(reason).kind === "funds") walletGuard.runShort(reason);
  }

  async function bury(pendingTx: PendingTx): Promise<void> {
    await settlement.dead(pendingTx);
    pendingTxs.remove(pendingTx);
    stall.died(pendingTx);
  }

  async function lookAt(pendingTx: PendingTx, head: Head, account: SenderAccount | undefined): Promise<void> {
    const followed = pendingTxs.followedFor(pendingTx);
    const isLate = followed === undefined || head.height > followed + BigInt(outboxFollowBlocks);
    const found = isLate ? await find(pendingTx, head) : undefined;
    // A block may have settled it during the query.
    if (!pendingTxs.get(pendingTx.hash)) return;
    const action = nextAction(pendingTx, { head, found, account, followed: pendingTxs.followedFor(pendingTx) });
    if (action.kind === "broadcast") await sender.rebroadcast(pendingTx, head);
    // The block itself is lost to us: of its time we know that it is no later than the head's.
    if (action.kind === "settle") await land(pendingTx, action.included, head.timeNs);
    if (action.kind === "refile") await bury(pendingTx);
    pendingTx.lookedAt = head.height;
  }

  async function find(pendingTx: PendingTx, head: Head): Promise<Included | undefined> {
    try {
      const found = await chain.findTx(pendingTx.hash, head.height, pendingTx.firstHeight);
      pendingTx.unproven = undefined;
      return found;
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_TX_UNPROVEN")) throw thrown;
      // What the blocks are going to say needs no other proof.
      pendingTx.unproven = pendingTxs.followedFor(pendingTx) === undefined ? thrown : undefined;
      return undefined;
    }
  }

  function logUnproven(): void {
    const error = pendingTxs.unproven;
    const hash = error?.details["hash"];
    if (error && hash !== loggedUnproven) logError(log, "transaction result cannot be proven", error);
    loggedUnproven = hash;
  }

  return {
    /** A step along the chain. What it says is in the journal when this resolves. */
    async follow(step: Pick<Step, "block" | "gap">, signal?: AbortSignal): Promise<void> {
      for (;;) {
        try {
          await followNow(step);
          heldUp = undefined;
          return;
        } catch (thrown) {
          if (!ProviderError.is(thrown, "AKP_JOURNAL_BUSY")) throw thrown;
          if (heldUp === undefined) log.warn("block not processed, retrying", { error: thrown });
          heldUp = thrown.message;
          await sleep(clock, outboxSilenceFirstMs, signal);
        }
      }
    },
    /** Processes every pending transaction. Resolves with the error of a node that did not answer, if any. */
    async look(head: Head): Promise<Error | undefined> {
      const due = pendingTxs.due(head);
      const ordered = due.some(({ sequence }) => sequence !== undefined);
      const account = ordered ? await chain.account(signer.address, head.height) : undefined;
      const silence = await eachApart(due, (pendingTx) => lookAt(pendingTx, head, account));
      logUnproven();
      return silence;
    },
    /** Why a block is not processed yet. */
    get heldUp(): string | undefined {
      return heldUp;
    },
  };
}
