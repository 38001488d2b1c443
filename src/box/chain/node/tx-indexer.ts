/**
 * Makes transactions findable a moment after their block: CometBFT writes its index when it has told of the block, so a
 * client that asks at once is answered "not found".
 */
import type { Clock, Timer } from "../../../runtime/clock.ts";
import type { Block, BlockStore } from "./block-store.ts";

export interface TxIndexer {
  add(block: Block): void;
  stop(): void;
}

export function createTxIndexer(clock: Clock, delayMs: number, store: Pick<BlockStore, "index">): TxIndexer {
  const timers = new Set<Timer>();
  return {
    add(block) {
      if (delayMs === 0) return store.index(block);
      const timer = clock.timer(delayMs, () => {
        timers.delete(timer);
        store.index(block);
      });
      timers.add(timer);
    },
    stop() {
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
  };
}
