/** Those who broadcast a transaction and wait for the block that holds it. */
import type { Clock } from "../../../runtime/clock.ts";
import { limits } from "../../../runtime/limits.ts";
import type { Block, TxPlace } from "./block-store.ts";
import { NodeRefusal } from "./node-refusal.ts";

export interface CommitWaits {
  wait(txHash: string): Promise<TxPlace>;
  settle(block: Block): void;
  stop(): void;
  readonly size: number;
}

interface Wait {
  readonly txHash: string;
  resolve(place: TxPlace): void;
  reject(reason: NodeRefusal): void;
}

export function createCommitWaits(clock: Clock): CommitWaits {
  const waits = new Set<Wait>();

  return {
    wait(txHash) {
      return new Promise((resolve, reject) => {
        const timer = clock.timer(limits.chainCommitWaitMs, () => {
          wait.reject(new NodeRefusal("timed out waiting for tx to be included in a block"));
        });
        const end = () => {
          timer.cancel();
          waits.delete(wait);
        };
        const wait: Wait = {
          txHash,
          resolve(place) {
            end();
            resolve(place);
          },
          reject(reason) {
            end();
            reject(reason);
          },
        };
        waits.add(wait);
      });
    },
    settle(block) {
      if (waits.size === 0) return;
      const places = new Map(block.txHashes.map((hash, index) => [hash, { block, index }]));
      for (const wait of [...waits]) {
        const place = places.get(wait.txHash);
        if (place) wait.resolve(place);
      }
    },
    stop() {
      for (const wait of [...waits]) wait.reject(new NodeRefusal("txSub was canceled (reason: CometBFT exited)"));
    },
    get size() {
      return waits.size;
    },
  };
}
