import type { App, TxResult } from "../abci.ts";
import type { Block } from "./block-store.ts";
import { chainBlockBytes, txHash } from "./blocks.ts";
import { NodeError } from "./node-error.ts";

/** CometBFT's own bounds on waiting transactions, except that we keep three full blocks of them, not a gigabyte. */
const chainMempoolTxs = 5_000;
const chainMempoolBytes = 3 * 22_020_096;
const chainTxBytes = 1024 * 1024;
const chainSeenTxs = 10_000;

export interface MempoolBounds {
  readonly txs: number;
  readonly bytes: number;
  readonly txBytes: number;
  readonly seenTxs: number;
  readonly blockBytes: number;
}

export interface Mempool {
  /** Runs CheckTx and queues an accepted transaction. Rejects known and oversized ones, and all while the pool is full. */
  take(tx: Uint8Array): TxResult;
  /** What fits into the next block, oldest first. */
  nextBlock(): Uint8Array[];
  /** Lets go of what the block holds, and of what it has made invalid. */
  settle(block: Block): void;
  waiting(most: number): Uint8Array[];
  readonly size: number;
  readonly bytes: number;
}

/** What a block holds beside its transactions: header, commit and the lengths around them, generously. */
const blockOverheadBytes = 2_048;

/** In front of each transaction of a block: a tag and a length. */
const txOverheadBytes = 5;

export const mempoolBounds: MempoolBounds = {
  txs: chainMempoolTxs,
  bytes: chainMempoolBytes,
  txBytes: chainTxBytes,
  seenTxs: chainSeenTxs,
  blockBytes: chainBlockBytes,
};

export function createMempool(app: Pick<App, "checkTx">, bounds: MempoolBounds = mempoolBounds): Mempool {
  const waiting = new Map<string, Uint8Array>();
  const seen = new Set<string>();
  let bytes = 0;

  function rejectBeforeCheck(tx: Uint8Array, hash: string): void {
    if (waiting.size >= bounds.txs || bytes + tx.length > bounds.bytes) {
      throw new NodeError(
        `mempool is full: number of txs ${waiting.size} (max: ${bounds.txs}), ` +
          `total txs bytes ${bytes} (max: ${bounds.bytes})`,
      );
    }
    if (tx.length > bounds.txBytes) {
      throw new NodeError(`Tx too large. Max size is ${bounds.txBytes}, but got ${tx.length}`);
    }
    if (seen.has(hash)) {
      remember(hash);
      throw new NodeError("tx already exists in cache");
    }
  }

  /** The least recently seen hash is the first to be forgotten. */
  function remember(hash: string): void {
    seen.delete(hash);
    seen.add(hash);
    if (seen.size > bounds.seenTxs) seen.delete(seen.values().next().value as string);
  }

  function drop(hash: string): void {
    bytes -= waiting.get(hash)?.length ?? 0;
    waiting.delete(hash);
  }

  return {
    take(sent) {
      const hash = txHash(sent);
      rejectBeforeCheck(sent, hash);
      // It came as a piece of a large buffer, and blocks and state keep pieces of it: each would keep all of the buffer.
      const tx = new Uint8Array(sent);
      const result = app.checkTx(tx);
      // What is rejected today may be good tomorrow, so only what was taken counts as seen.
      if (result.code !== 0) return result;
      remember(hash);
      if (!waiting.has(hash)) bytes += tx.length;
      waiting.set(hash, tx);
      return result;
    },
    nextBlock() {
      const txs: Uint8Array[] = [];
      let roomBytes = bounds.blockBytes - blockOverheadBytes;
      for (const tx of waiting.values()) {
        roomBytes -= tx.length + txOverheadBytes;
        if (roomBytes < 0) break;
        txs.push(tx);
      }
      return txs;
    },
    settle(block) {
      for (const [index, hash] of block.txHashes.entries()) {
        drop(hash);
        // A transaction that failed may be sent again; one that succeeded never.
        if (block.output.txResults[index]?.code === 0) remember(hash);
        else seen.delete(hash);
      }
      for (const [hash, tx] of waiting) {
        if (app.checkTx(tx).code === 0) continue;
        drop(hash);
        seen.delete(hash);
      }
    },
    waiting: (most) => [...waiting.values()].slice(0, most),
    get size() {
      return waiting.size;
    },
    get bytes() {
      return bytes;
    },
  };
}
