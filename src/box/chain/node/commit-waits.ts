/** Calls of broadcast_tx_commit that wait for the block of their transaction. */
import type { Clock } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import type { Block, TxPlace } from "./block-store.ts";
import { NodeError } from "./node-error.ts";

/** broadcast_tx_commit waits this long for the block. */
export const chainCommitWaitMs = 10 * second;

export interface CommitWaits {
  wait(txHash: string): Promise<TxPlace>;
  settle(block: Block): void;
  stop(): void;
  readonly size: number;
}

export function createCommitWaits(clock: Clock): CommitWaits {
  const waits = new Set<PromiseWithResolvers<TxPlace> & { readonly txHash: string }>();
  return {
    async wait(txHash) {
      const wait = { txHash, ...Promise.withResolvers<TxPlace>() };
      const late = () => wait.reject(new NodeError("timed out waiting for tx to be included in a block"));
      const timer = clock.timer(chainCommitWaitMs, late);
      waits.add(wait);
      try {
        return await wait.promise;
      } finally {
        timer.cancel();
        waits.delete(wait);
      }
    },
    settle(block) {
      for (const { txHash, resolve } of waits) {
        const index = block.txHashes.indexOf(txHash);
        if (index >= 0) resolve({ block, index });
      }
    },
    stop() {
      for (const { reject } of waits) reject(new NodeError("txSub was canceled (reason: CometBFT exited)"));
    },
    get size() {
      return waits.size;
    },
  };
}
