/** The blocks that the node still has, with their results, and where each transaction went, once that is indexed. */
import { invariant } from "../../../runtime/invariant.ts";
import type { AbciEvent, BlockOutput } from "../abci.ts";
import type { BlockId, Commit, Header } from "./block-bytes.ts";
import { NodeError } from "./node-error.ts";

/** The same in bytes, for busy blocks: about 10,000 transactions with their events. */
const chainBlocksBytes = 64 * 1024 * 1024;

export interface Block {
  readonly id: BlockId;
  readonly header: Header;
  readonly txs: readonly Uint8Array[];
  /** SHA-256 of each transaction, in upper-case hex. */
  readonly txHashes: readonly string[];
  /** The votes for the block before this one. */
  readonly lastCommit: Commit;
  readonly output: BlockOutput;
  readonly sizeBytes: number;
}

export interface TxPlace {
  readonly block: Block;
  readonly index: number;
}

export interface BlockStore {
  /** Height of the latest block; 0 before the first. */
  readonly height: bigint;
  /** Height of the oldest block that is still here; 0 before the first. */
  readonly lowest: bigint;
  readonly latest: Block | undefined;
  add(block: Block): void;
  /** From now on the block's transactions are found, unless the block is gone already. */
  index(block: Block): void;
  /** The block at this height, the latest when none is named; rejects as CometBFT does when it is not here. */
  need(height?: bigint): Block;
  /** Checks a height that may also be that of the block to come, and names it when it was left out. */
  needHeight(height: bigint | undefined, most: bigint): bigint;
  at(height: bigint): Block | undefined;
  byHash(hash: string): Block | undefined;
  tx(hash: string): TxPlace | undefined;
  /** Oldest first. */
  all(): IterableIterator<Block>;
}

/** Forgets the oldest blocks beyond `keep`, or fewer when they are large; the latest is always here. */
export function createBlockStore(keep: number, keepBytes: number = chainBlocksBytes): BlockStore {
  // Maps keep the order of insertion, so the first entry is the oldest block.
  const blocks = new Map<bigint, Block>();
  const heights = new Map<string, bigint>();
  const places = new Map<string, TxPlace>();
  let latest: Block | undefined;
  let lowest = 0n;
  let bytes = 0;

  function forget(block: Block): void {
    blocks.delete(block.header.height);
    bytes -= weightOf(block);
    heights.delete(block.id.hash);
    for (const hash of block.txHashes) {
      if (places.get(hash)?.block === block) places.delete(hash);
    }
    lowest = block.header.height + 1n;
  }

  /** A transaction that failed may be sent again; what it came to in the end is what counts. */
  function index(block: Block): void {
    if (blocks.get(block.header.height) !== block) return;
    for (const [at, hash] of block.txHashes.entries()) {
      const before = places.get(hash);
      const succeededBefore = before?.block.output.txResults[before.index]?.code === 0;
      const failedNow = block.output.txResults[at]?.code !== 0;
      if (!(succeededBefore && failedNow)) places.set(hash, { block, index: at });
    }
  }

  function needHeight(height: bigint | undefined, most: bigint): bigint {
    if (height === undefined) return most;
    if (height <= 0n) throw new NodeError(`height must be greater than 0, but got ${height}`);
    if (height > most) {
      throw new NodeError(`height ${height} must be less than or equal to the current blockchain height ${most}`);
    }
    if (height < lowest) throw new NodeError(`height ${height} is not available, lowest height is ${lowest}`);
    return height;
  }

  return {
    get height() {
      return latest?.header.height ?? 0n;
    },
    get lowest() {
      return lowest;
    },
    get latest() {
      return latest;
    },
    add(block) {
      const { height } = block.header;
      invariant(!latest || height === latest.header.height + 1n, "blocks follow each other", { height });
      if (!latest) lowest = height;
      latest = block;
      blocks.set(height, block);
      heights.set(block.id.hash, height);
      bytes += weightOf(block);
      while (blocks.size > keep || (bytes > keepBytes && blocks.size > 1)) {
        forget(blocks.values().next().value as Block);
      }
    },
    index,
    need(height) {
      const block = blocks.get(needHeight(height, latest?.header.height ?? 0n));
      if (!block) throw new NodeError("there is no block yet");
      return block;
    },
    needHeight,
    at: (height) => blocks.get(height),
    byHash: (hash) => blocks.get(heights.get(hash) ?? 0n),
    tx: (hash) => places.get(hash),
    all: () => blocks.values(),
  };
}

/** Roughly what a block takes in memory: mostly the words of its events. */
function weightOf({ sizeBytes, output }: Block): number {
  const results = output.txResults.map(({ events }) => wordsIn(events)).reduce((sum, words) => sum + words, 0);
  return sizeBytes + wordsIn(output.events) + results;
}

function wordsIn(events: readonly AbciEvent[]): number {
  let words = 0;
  for (const { type, attributes } of events) {
    words += type.length;
    for (const { key, value } of attributes) words += key.length + value.length;
  }
  return words;
}
